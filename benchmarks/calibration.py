"""Fit the score of a hit on the developing halves; print its constants, and its reliability on the halves held out.

    python benchmarks/calibration.py [--cache DIR] [--most 70]

A hit is right if it is, or lies in, what answers the question. Every set is also asked some questions of the other
sets, which nothing in it answers. Printed are the constants of `sag_retrieval/search/calibration.py`, how often hits
of each range of scores are right, and how many questions with and without an answer get “nothing fits”.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402
from judging import cached, gold_chunks, ingested  # noqa: E402
from kinds import business  # noqa: E402
from sets import SETS, Question, is_held_out  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.search import calibration  # noqa: E402
from sag_retrieval.search.method import Query, Ranking  # noqa: E402
from sag_retrieval.search.registry import method_named  # noqa: E402

MAKERS: Final = {"business": business, **{name: (lambda _, make=make: make()) for name, make in SETS.items()}}
USED: Final = ("business", "musique", "2wiki", "dragonball-zh", "dragonball-en", "locomo")
"""Short passages, long documents and talks, in both languages, and files of many kinds."""
Floats = npt.NDArray[np.float64]
DEPTH = 10
FOREIGN = 6
"""Questions of each other set that a set is asked."""
ROUNDS = 50
RANGES = np.linspace(0, 1, 11)
NAMES: Final = ("CONSTANT", "COVERED", "LATER", "COVERED_LATER")
CLOSE: Final = 0.25
"""How far the stored constants may be from the fitted ones."""


@dataclass(frozen=True)
class Asked:
    """A question with what it should find: ids of documents, or of chunks; nothing if it has no answer."""

    text: str
    gold: frozenset[str]
    is_by_chunk: bool


@dataclass(frozen=True)
class Judged:
    """The hits of one question: covered share, logarithm of the rank, score, and whether each is right."""

    covered: Floats
    later: Floats
    score: Floats
    is_right: Floats
    has_answer: bool


def questions_of(questions: Sequence[Question], release: Release, most: int, *, held_out: bool) -> list[Asked]:
    """At most this number of questions of one half, drawn by a hash so that no kind comes first."""

    def drawn(question: Question) -> str:
        return blake2b(f"order {question.question_id}".encode()).hexdigest()

    half = (question for question in questions if is_held_out(question.question_id) == held_out)
    return [
        Asked(each.text, frozenset(gold_chunks(release, each) if each.spans else each.documents), bool(each.spans))
        for each in sorted(half, key=drawn)[:most]
    ]


def judged(release: Release, asked: Asked, method: str) -> Judged:
    """A question's hits."""
    query = Query(asked.text, top_k=DEPTH)
    ranking = method_named(method, home=release.path)(release.index, query)
    covered, later = calibration.features(release.index, query, ranking.chunks)
    score = calibration.likelihoods(release.index, query, ranking.chunks)
    is_right = np.array([name in asked.gold for name in names_of(release, asked, ranking)], np.float64)
    return Judged(covered, later, score, is_right, bool(asked.gold))


def names_of(release: Release, asked: Asked, ranking: Ranking) -> list[str]:
    """The ids of hits, of the kind that a question's gold is."""
    rows = release.index.rows
    if asked.is_by_chunk:
        return list(rows["chunks"]["chunk_id"].take(ranking.chunks).to_pylist())
    documents = release.index.arrays.chunk_document[ranking.chunks]
    return list(rows["documents"]["document_id"].take(documents).to_pylist())


def all_judged(releases: Mapping[str, Release], own: Mapping[str, Sequence[Asked]], method: str) -> list[Judged]:
    """Every set with its own questions and with some of the others, which it does not answer."""
    return [
        judged(release, asked, method)
        for name, release in releases.items()
        for asked in (
            *own[name],
            *(replace(each, gold=frozenset()) for other in own if other != name for each in own[other][:FOREIGN]),
        )
    ]


def fitted(found: Sequence[Judged]) -> Floats:
    """The weights of highest likelihood, by Newton's method with a small ridge."""
    covered, later, right = (
        np.concatenate([getattr(each, name) for each in found]) for name in ("covered", "later", "is_right")
    )
    columns = np.stack([np.ones(len(covered)), covered, later, covered * later], axis=1)
    ridge = np.diag([0.0, 1.0, 1.0, 1.0])
    weights = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-columns @ weights))
        curvature = (columns * (likely * (1 - likely))[:, None]).T @ columns + ridge
        weights = weights + np.linalg.solve(curvature, columns.T @ (right - likely) - ridge @ weights)
    return np.asarray(weights, np.float64)


def reliability(found: Sequence[Judged]) -> Iterator[str]:
    """A line a range of scores, then the mean distance between score and share, weighted by hits."""
    score, right = (np.concatenate([getattr(each, name) for each in found]) for name in ("score", "is_right"))
    distance = 0.0
    yield f"  {'score':11} {'hits':>6} {'mean':>6} {'right':>6}"
    for low, high in pairwise(RANGES):
        inside = (score >= low) & (score < high)
        if inside.any():
            distance += abs(score[inside].mean() - right[inside].mean()) * inside.mean()
            yield f"  {low:.1f} to {high:.1f}  {inside.sum():6} {score[inside].mean():6.2f} {right[inside].mean():6.2f}"
    yield f"  expected calibration error {distance:.3f}"


def unfit(found: Sequence[Judged]) -> str:
    """How many questions get “nothing fits”."""
    told = {
        has_answer: np.mean(
            [each.score.max(initial=0) < calibration.LEAST_FIT for each in found if each.has_answer == has_answer]
        )
        for has_answer in (True, False)
    }
    return f"  told that nothing fits: {told[True]:.1%} of questions with an answer, {told[False]:.1%} without"


def main() -> int:
    """Fit, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--most", type=int, default=70, help="questions of a set and half")
    chosen = parser.parse_args()
    with cached(chosen.cache) as cache:
        sets = {name: MAKERS[name](cache) for name in USED}
        releases = {name: ingested(name, each, cache) for name, each in sets.items()}
        dev, held_out = (
            {
                name: questions_of(each.questions, releases[name], chosen.most, held_out=half)
                for name, each in sets.items()
            }
            for half in (False, True)
        )
        weights = fitted(all_judged(releases, dev, "sag"))
        print("\n".join(f"{name} = {weight:.2f}" for name, weight in zip(NAMES, weights, strict=True)))
        for method in ("sag", "bm25"):
            found = all_judged(releases, held_out, method)
            print("\n".join([f"{method}, held out ({len(found)} questions)", *reliability(found), unfit(found)]))
    stored = [getattr(calibration, name) for name in NAMES]
    if np.abs(weights - stored).max() > CLOSE:
        print(f"the stored constants are {stored}: fitted to another state of the search")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
