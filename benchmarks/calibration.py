"""Fit the score of a hit on the developing halves; print its constants, and its reliability on the halves held out.

    python benchmarks/calibration.py [--cache DIR] [--most 70]

A hit is right if it is, or lies in, what answers the question. Every set is also asked some questions of the other
sets, which nothing in it answers. Printed are the constants of `sag_retrieval/search/calibration.py`, how often hits
of each range of scores are right, and how many questions with and without an answer get “nothing fits”.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

from judging import gold_chunks, ingested
from sets import DATA, SETS, Question, is_held_out

from sag_retrieval import Release, open_release

Half = Literal["dev", "held-out"]
HALVES: Final[tuple[Half, ...]] = ("dev", "held-out")
BUSINESS: Final = "business"
USED: Final = (BUSINESS, "musique", "2wiki", "dragonball-zh", "dragonball-en", "locomo")
"""Short passages, long documents and talks, in both languages, and files of many kinds."""


@dataclass(frozen=True)
class Asked:
    """A question with what it should find: ids of documents, or of chunks; nothing if it has no answer."""

    question_id: str
    text: str
    kind: str
    gold: frozenset[str]
    is_by_chunk: bool


def half_of(question_id: str) -> Half:
    """Which half a question belongs to, whatever else is asked."""
    return HALVES[is_held_out(question_id)]


def release_of(name: str, cache: Path) -> Release:
    """The release of a set, made once per cache."""
    if name != BUSINESS:
        return ingested(name, SETS[name](), cache)
    home = cache / name
    if not (home / "releases").is_dir():
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(DATA / BUSINESS / "documents")]
        environment = {"SAG_HOME": str(home), "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
        subprocess.run(command, env=os.environ | environment, cwd=cache, check=True, stdout=subprocess.DEVNULL)
    return open_release(home)


def questions_of(name: str, half: Half, release: Release, most: int) -> list[Asked]:
    """At most this number of questions of one half, drawn by a hash so that no kind comes first."""
    found: list[Any] = list(_business() if name == BUSINESS else SETS[name]().questions)
    chosen = sorted((each for each in found if half_of(each.question_id) == half), key=_shuffled)[:most]
    return [each if isinstance(each, Asked) else _asked(each, release) for each in chosen]


def _shuffled(question: Asked | Question) -> str:
    return blake2b(f"order {question.question_id}".encode()).hexdigest()


def _business() -> Iterator[Asked]:
    for line in (DATA / BUSINESS / "questions.jsonl").read_text().splitlines():
        found = json.loads(line)
        gold = frozenset(found["gold_documents"])
        yield Asked(found["id"], found["question"], found["type"], gold, is_by_chunk=False)


def _asked(question: Question, release: Release) -> Asked:
    gold = gold_chunks(release, question) if question.spans else set(question.documents)
    return Asked(question.question_id, question.text, question.kind, frozenset(gold), bool(question.spans))


for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from judging import cached  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.search import calibration  # noqa: E402
from sag_retrieval.search.method import Query, Ranking  # noqa: E402
from sag_retrieval.search.registry import method_named  # noqa: E402

Floats = npt.NDArray[np.float64]
DEPTH = 10
FOREIGN = 6
"""Questions of each other set that a set is asked."""
ROUNDS = 50
RANGES = np.linspace(0, 1, 11)


@dataclass(frozen=True)
class Judged:
    """The hits of one question: covered share, logarithm of the rank, score, and whether each is right."""

    covered: Floats
    later: Floats
    score: Floats
    is_right: Floats
    has_answer: bool


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


def all_judged(releases: Mapping[str, Release], half: Half, most: int, method: str) -> list[Judged]:
    """Every set with its own questions and with some of the others."""
    own = {name: questions_of(name, half, release, most) for name, release in releases.items()}
    return [
        judged(release, asked, method)
        for name, release in releases.items()
        for asked in [*own[name], *foreign(name, own)]
    ]


def foreign(name: str, own: Mapping[str, Sequence[Asked]]) -> Iterator[Asked]:
    """Questions of the other sets, without gold."""
    for other, questions in own.items():
        if other != name:
            yield from (replace(asked, gold=frozenset()) for asked in questions[:FOREIGN])


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
        releases = {name: release_of(name, cache) for name in USED}
        weights = fitted(all_judged(releases, "dev", chosen.most, "sag"))
        names = ("CONSTANT", "COVERED", "LATER", "COVERED_LATER")
        print("\n".join(f"{name} = {weight:.2f}" for name, weight in zip(names, weights, strict=True)))
        for method in ("sag", "bm25"):
            found = all_judged(releases, "held-out", chosen.most, method)
            print("\n".join([f"{method}, held out ({len(found)} questions)", *reliability(found), unfit(found)]))
    stored = [getattr(calibration, name) for name in names]
    if np.abs(weights - stored).max() > _CLOSE:
        print(f"the stored constants are {stored}: fitted to another state of the search")
        return 1
    return 0


_CLOSE = 0.25


if __name__ == "__main__":
    sys.exit(main())
