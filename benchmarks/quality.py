"""Recall of every method on every set, through `sag ingest` and `open_release`; fails below a stored floor.

    python benchmarks/quality.py [--small] [--sets musique,2wiki] [--methods sag,bm25] [--cache DIR] [--out FILE]

R@k: share of gold among the first k distinct documents, or of evidence chunks among the first k chunks. `3000`: share
of evidence sentences within the first 3,000 returned characters. Differences are paired, with 95 % bootstrap
intervals. Also fails where `sag` is significantly below BM25, or BM25 + dense, at any cut.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))
from judging import BOTH, CUTS, Outcome, cached, gain, ingested, measure, spoken  # noqa: E402
from sets import SETS, SMALL, Question  # noqa: E402

from sag_retrieval.evaluation.runner import Interval  # noqa: E402

FLOORS = Path(__file__).parent / "floors.json"
METHODS = ("bm25", "dense", BOTH, "hybrid", "bridge", "sag-literal", "sag")
OURS = "sag"
NEVER_BELOW = ("bm25", BOTH)
COMPARED = (*NEVER_BELOW, "dense", "bridge")
Outcomes = Mapping[str, Outcome]


def show(outcomes: Outcomes) -> Iterator[str]:
    """A line a method, then the differences of `sag` to the others at each cut."""
    for method, outcome in outcomes.items():
        yield f"  {method:14}" + "  ".join(f"{measure} {value:5.1f}" for measure, value in outcome.means().items())
    for method in COMPARED if OURS in outcomes else ():
        if method in outcomes:
            found = (f"@{cut} {spoken(gained)}" for cut, gained in gains(outcomes, method).items())
            yield f"  {OURS} − {method:10} {'   '.join(found)}"


def show_kinds(outcomes: Outcomes, questions: Sequence[Question]) -> Iterator[str]:
    """A line a kind of question: `sag` beside BM25."""
    kinds = list(dict.fromkeys(question.kind for question in questions))
    for kind in kinds if len(kinds) > 1 and {OURS, NEVER_BELOW[0]} <= outcomes.keys() else ():
        asked = [question for question in questions if question.kind == kind]
        part = {method: outcomes[method].of(asked) for method in (NEVER_BELOW[0], OURS)}
        base, ours = (" / ".join(f"{value:.1f}" for value in each.means().values()) for each in part.values())
        gained = gains(part, NEVER_BELOW[0])[5]
        yield f"    {kind[:34]:34} ({len(asked)})  {NEVER_BELOW[0]} {base}   {OURS} {ours}   @5 {spoken(gained)}"


def gains(outcomes: Outcomes, other: str) -> dict[int, Interval]:
    """What `sag` gains over another method, by cut."""
    return {cut: gain(outcomes[OURS], outcomes[other], cut) for cut in CUTS}


def broken(name: str, outcomes: Outcomes) -> Iterator[str]:
    """Floors that were not reached, and baselines that are better, in words."""
    for method, listed in json.loads(FLOORS.read_text()).get(name, {}).items():
        means = outcomes[method].means() if method in outcomes else {}
        for measured in means.keys() & listed.keys():
            if means[measured] < listed[measured]:
                yield f"{name}, {method}: {measured} {means[measured]:.1f} is below its floor {listed[measured]}"
    for method in NEVER_BELOW if OURS in outcomes else ():
        for cut, gained in gains(outcomes, method).items() if method in outcomes else ():
            if gained.high < 0:
                yield f"{name}: {OURS} is significantly below {method} at R@{cut}, {spoken(gained)}"


def main() -> int:
    """Measure, print, and compare with the floors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="two small sets, for every run")
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    chosen = parser.parse_args()
    names = chosen.sets.split(",") if chosen.sets else list(SMALL if chosen.small else SETS)
    unknown = set(names) - set(SETS | SMALL)
    if unknown:
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(SETS | SMALL)}")
    faults, figures = [], {}
    with cached(chosen.cache) as cache:
        for name in names:
            asked = (SETS | SMALL)[name]()
            outcomes = measure(ingested(name, asked, cache), asked.questions, chosen.methods.split(","))
            print(f"{name} ({len(asked.questions)} questions)")
            print("\n".join([*show(outcomes), *show_kinds(outcomes, asked.questions)]), flush=True)
            faults += broken(name, outcomes)
            figures[name] = {method: outcome.means() for method, outcome in outcomes.items()}
    if chosen.out:
        chosen.out.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(faults) or "every floor holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
