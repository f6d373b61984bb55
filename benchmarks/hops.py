"""Recall of the walks over keys by number of hops: `sag`, `sag-literal` and `sag-events`, beside BM25.

    python benchmarks/hops.py [--cache DIR] [--set musique] [--half dev]

R@k: share of gold among the first k distinct documents. Halves as in `halves.py`; without `--half`, both.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).parent))
import numpy as np  # noqa: E402
from halves import HALVES, half_of  # noqa: E402
from judging import CUTS, DEPTH, cached, ingested  # noqa: E402
from sets import SETS, Question  # noqa: E402

from sag_retrieval import Release  # noqa: E402

WALKS = ("sag", "sag-literal", "sag-events")
HOPS = (1, 2, 3, 4)


def recall(release: Release, asked: Sequence[Question], method: str, hops: int | None) -> list[float]:
    """Mean recall in percent, by cut."""
    found: list[list[float]] = []
    for question in asked:
        options = None if hops is None else {"hops": hops}
        hits = release.search(question.text, top_k=DEPTH, method=method, options=options).hits
        documents = list(dict.fromkeys(hit.document_id for hit in hits))
        found.append([len(set(question.documents) & set(documents[:cut])) / len(question.documents) for cut in CUTS])
    return [100 * float(value) for value in np.mean(found, axis=0)]


def table(release: Release, half: str, asked: Sequence[Question]) -> Iterator[str]:
    """A line for each method and number of hops."""
    for method, hops in [(method, hops) for method in WALKS for hops in HOPS] + [("bm25", None)]:
        values = "".join(f"{value:8.1f}" for value in recall(release, asked, method, hops))
        yield f"{half:10}{len(asked):5}  {method:12}{hops or '':>5}{values}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--set", choices=list(SETS), default="musique")
    parser.add_argument("--half", choices=HALVES)
    given = parser.parse_args()
    questions = SETS[given.set]()
    print(f"{'half':10}{'asked':>5}  {'method':12}{'hops':>5}" + "".join(f"{f'R@{cut}':>8}" for cut in CUTS))
    with cached(given.cache) as cache, ingested(given.set, questions, cache) as release:
        for half in [given.half] if given.half else HALVES:
            asked = [each for each in questions.questions if each.documents and half_of(each.question_id) == half]
            print("\n".join(table(release, half, asked)), flush=True)


if __name__ == "__main__":
    main()
