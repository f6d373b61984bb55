"""Fit how likely a quoted sentence answers a question, on the questions for development only.

    python -m benchmarks.refusals [--cache FOLDER] [--most 90]

Every question with an answer is asked twice: as it is, and with the passages of its documents taken out of each search,
so that it has none. Those marked as unanswerable count half as much again. Printed are the weights for
`sag_retrieval/ask/confidence.py`, and for bounds of the likelihood how many questions of each sort stay below.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.answer_sets import Asked, candidates, hash_of, released
from benchmarks.answers import judge
from sag_retrieval import Release
from sag_retrieval.ask import ask, confidence, release_weights
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.core.types import Floats

MARKED: Final = 1.5
"""Weight of questions marked as unanswerable, against those whose passages were taken out."""
ROUNDS: Final = 50
BOUNDS: Final = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
NAMES: Final = ("CONSTANT", "score", "in_passage", "is_named", "is_compared")


@dataclass(frozen=True)
class Row:
    """The features of a question's only part, and what is known of it."""

    set_name: str
    features: tuple[float, ...]
    has_answer: bool
    is_marked: bool
    """Whether it stands in the corpus as it was asked, without passages taken out."""
    is_right: bool


@dataclass(frozen=True)
class _Found:
    hits: Sequence[FoundPassage]
    keys: Sequence[Any]
    trace: dict[str, Any]


def rows_of(name: str, questions: Sequence[Asked], cache: Path) -> Iterator[Row]:
    """A row for each question of one part, and one without its documents."""
    with released(name, cache) as release:
        for asked in questions:
            for is_marked in (True, False) if asked.is_answerable else (True,):
                yield from _row(asked, release, is_marked=is_marked)


def _row(asked: Asked, release: Release, *, is_marked: bool) -> Iterator[Row]:
    search = release.searcher()
    hidden: Collection[str] = () if is_marked else asked.documents

    def seen(text: str, /, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10) -> _Found:
        found = search(text, keys, sql, top_k)
        return _Found([hit for hit in found.hits if hit.document_id not in hidden], found.keys, {})

    answer = ask(seen, asked.text, weigh=release_weights(release.index))
    parts = {part["question"]: part for part in reversed(answer.trace["parts"])}
    features = [part["features"] for part in parts.values()]
    if len(features) == 1 and features[0]:
        has_answer = asked.is_answerable and is_marked
        is_right = has_answer and judge(asked, answer).is_right
        yield Row(asked.set_name, tuple(features[0].values()), has_answer, is_marked, is_right)


def fitted(rows: Sequence[Row]) -> Floats:
    """The weights of highest likelihood, by Newton's method with a small ridge; sets and sorts count by their root."""
    columns = np.array([(1.0, *row.features) for row in rows])
    wanted = np.array([row.has_answer for row in rows], np.float64)
    sizes = Counter((row.set_name, row.has_answer, row.is_marked) for row in rows)
    each = np.array([sizes[row.set_name, row.has_answer, row.is_marked] ** -0.5 for row in rows])
    each *= np.where([row.is_marked for row in rows], MARKED, 1.0)
    each *= len(rows) / each.sum()
    ridge = np.diag([0.0, *np.ones(columns.shape[1] - 1)])
    weights = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-columns @ weights))
        curvature = (columns * (each * likely * (1 - likely))[:, None]).T @ columns + ridge
        weights = weights + np.linalg.solve(curvature, columns.T @ (each * (wanted - likely)) - ridge @ weights)
    return np.asarray(weights, np.float64)


def below(rows: Sequence[Row], weights: Floats) -> Iterator[str]:
    """For each bound the share of questions below it, by sort."""
    likely = 1 / (1 + np.exp(-np.array([(1.0, *row.features) for row in rows]) @ weights))
    sorts = {
        "marked": [row.is_marked and not row.has_answer for row in rows],
        "taken out": [not row.is_marked for row in rows],
        "answerable": [row.has_answer for row in rows],
        "quoted": [row.is_right for row in rows],
    }
    yield f"{'below':10}" + "".join(f"{name:>12}" for name in sorts)
    for bound in BOUNDS:
        yield f"{bound:<10}" + "".join(f"{np.mean(likely[np.array(of)] < bound):12.0%}" for of in sorts.values())
    positive, negative = likely[np.array(sorts["answerable"])], likely[np.array(sorts["marked"])]
    yield f"AUC of answerable against marked: {np.mean(positive[:, None] > negative[None, :]):.2f}"


def main() -> int:
    """Fit, print, and compare with the weights in use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--most", type=int, default=90, help="questions with an answer of a set")
    given = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("business", "demo", "dragonball", "musique"):
            drawn = sorted(
                (q for q in candidates() if q.set_name == name and q.is_for_development),
                key=lambda q: hash_of(f"fit {q.id}"),
            )
            answerable = [q for q in drawn if q.is_answerable][: given.most]
            others = [q for q in drawn if not q.is_answerable]
            rows.extend(rows_of(name, [*answerable, *others], (given.cache or Path(scratch)).resolve()))
    weights = fitted(rows)
    print("\n".join(f"{name:12}{weight:6.2f}" for name, weight in zip(NAMES, weights, strict=True)))
    print("\n".join(below(rows, weights)))
    stored = np.array([confidence.CONSTANT, *confidence.WEIGHTS])
    if np.abs(weights - stored).max() > _CLOSE:
        print(f"the weights in use are {stored.tolist()}: fitted to another state of the rules")
        return 1
    return 0


_CLOSE: Final = 0.5


if __name__ == "__main__":
    sys.exit(main())
