"""Recall on the half of the questions that ranking was developed on, and on the half that it was not.

    python benchmarks/unseen.py [--cache DIR] [--sets business,locomo] [--halves dev] [--most 100] [--cut 10]
                                [--methods sag,think-on-graph,tiers,bm25,bm25+dense] [--out FILE] [--against FILE]

Recall: share of gold documents among the first `--cut` distinct documents, or of evidence chunks among the first
chunks. Differences are paired, with 95 % bootstrap intervals. `--out` keeps what each question reached, `--against`
compares with such a file of another state of the code. Fails where a method is significantly below BM25 or BM25 + dense
on a half that was held out.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from halves import BUSINESS, HALVES, USED, Asked, questions_of, release_of  # noqa: E402
from judging import BOTH, DEPTH, cached, spoken  # noqa: E402
from judging import both_texts as both  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.evaluation.runner import Interval, paired_difference  # noqa: E402
from sag_retrieval.search.method import Method, Query  # noqa: E402
from sag_retrieval.search.registry import method_named  # noqa: E402

METHODS = ("sag", "bm25", BOTH)
BASELINES = ("bm25", BOTH)
Reached = dict[str, dict[str, float]]
"""Recall by method and question."""


def reached(release: Release, asked: list[Asked], methods: list[str], cut: int) -> Reached:
    """Recall of every method for every question that has an answer."""
    found: Reached = {}
    for name in methods:
        method: Method = both if name == BOTH else method_named(name, home=release.path)
        found[name] = {each.question_id: recall(release, each, method, cut) for each in asked if each.gold}
    return found


def recall(release: Release, asked: Asked, method: Method, cut: int) -> float:
    """Share of the gold among the first."""
    index = release.index
    chunks = method(index, Query(asked.text, top_k=DEPTH)).chunks
    if asked.is_by_chunk:
        first = index.rows["chunks"]["chunk_id"].take(chunks[:cut])
    else:
        documents = list(dict.fromkeys(index.arrays.chunk_document[chunks].tolist()))
        first = index.rows["documents"]["document_id"].take(pa.array(documents[:cut], pa.int64()))
    return len(asked.gold.intersection(first.to_pylist())) / len(asked.gold)


def lines(found: Reached, earlier: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The means, then what each method gains over the baselines and over its earlier state."""
    yield "  " + "   ".join(f"{name} {100 * np.mean(list(each.values())):.1f}" for name, each in found.items())
    for name, ours in found.items():
        if name not in BASELINES:
            for other, gained in gains(ours, {each: found[each] for each in BASELINES if each in found}):
                yield f"  {name} − {other:12} {spoken(gained)}"
            for _, gained in gains(ours, {name: earlier[name]} if name in earlier else {}):
                yield f"  {name} − {'before':12} {spoken(gained)}"


def gains(ours: Mapping[str, float], others: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, Interval]]:
    """The paired difference to each of some others, over the questions that both were asked."""
    for name, theirs in others.items():
        common = sorted(ours.keys() & theirs.keys())
        if common:
            pair = ({question: each[question] for question in common} for each in (ours, theirs))
            yield name, paired_difference(*pair)


def below(place: str, found: Reached) -> Iterator[str]:
    """Methods that are significantly below a baseline, in words."""
    baselines = {each: found[each] for each in BASELINES if each in found}
    for name, ours in found.items():
        for other, gained in gains(ours, baselines) if name not in BASELINES else ():
            if gained.high < 0:
                yield f"{place}: {name} is significantly below {other}, {spoken(gained)}"


def kinds(found: Reached, asked: list[Asked]) -> Iterator[str]:
    """A line a kind of question."""
    for kind in dict.fromkeys(each.kind for each in asked if each.gold):
        ids = [each.question_id for each in asked if each.kind == kind and each.gold]
        means = (f"{name} {100 * np.mean([each[one] for one in ids]):.1f}" for name, each in found.items())
        yield f"    {kind[:24]:24} ({len(ids)})  {'   '.join(means)}"


def main() -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--sets", default=",".join(USED))
    parser.add_argument("--halves", default=",".join(HALVES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--most", type=int, default=100, help="questions of a set and half")
    parser.add_argument("--cut", type=int, default=5, help="how many of the first count")
    parser.add_argument("--out", type=Path, help="write what each question reached, as JSON")
    parser.add_argument("--against", type=Path, help="compare with what another state of the code wrote")
    chosen = parser.parse_args()
    earlier = json.loads(chosen.against.read_text()) if chosen.against else {}
    everything: dict[str, Reached] = {}
    faults: list[str] = []
    with cached(chosen.cache) as cache:
        for name in chosen.sets.split(","):
            release = release_of(name, cache)
            for half in (half for half in HALVES if half in chosen.halves.split(",")):
                asked = questions_of(name, half, release, chosen.most)
                place = f"{name}, {half}"
                everything[place] = found = reached(release, asked, chosen.methods.split(","), chosen.cut)
                print(f"{place} ({len(next(iter(found.values())))} questions)")
                print("\n".join(lines(found, earlier.get(place, {}))))
                faults += below(place, found) if half == HALVES[1] else ()
                print("\n".join(kinds(found, asked)) if name in {BUSINESS, "locomo"} else "", flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(everything) + "\n")
    print("\n".join(faults) or "no method is significantly below a baseline on what was held out")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
