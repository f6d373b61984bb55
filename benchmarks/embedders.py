"""Recall, seconds and bytes of several embedding models on the same documents and questions.

    python benchmarks/embedders.py [--models hashing,sentence-transformers:NAME,openai:NAME] [--sets musique-rules,cmrc]
                                   [--methods dense,bm25+dense,sag] [--most 200] [--cache DIR] [--out FILE]

Models are named as in SAG_EMBEDDING_MODEL; `sentence-transformers:` takes a folder or a name that the machine's cache
or a hub knows, and needs the extra `local`. Each set is ingested once with each model. Questions are those of the
half that is held out, at most `--most` of them, chosen by hash. Differences to `hashing` at R@5 are paired, with 95 %
bootstrap intervals. `ingest` is wall time with everything else that ingesting does, `-` where the release was there
already; `ask` is the median time to embed a question and search; `vectors` are bytes of the release's vectors.
"""

import argparse
import hashlib
import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))
from judging import BOTH, Outcome, asking, cached, gain, ingested, measure, spoken  # noqa: E402
from kinds import KINDS, UnavailableError  # noqa: E402
from sets import SETS, SMALL, Question, QuestionSet  # noqa: E402

from sag_retrieval import Release  # noqa: E402

FIRST = "hashing"
METHODS = ("dense", BOTH, "sag")
TIMED = 20
"""Questions whose time is taken."""


def made(name: str, cache: Path) -> QuestionSet:
    """A set by its name.

    Raises:
        UnavailableError: If it cannot be made here.

    """
    return KINDS[name](cache) if name in KINDS else (SETS | SMALL)[name]()


def chosen_of(questions: Sequence[Question], most: int) -> list[Question]:
    """At most this number of the questions held out, drawn by a hash so that no kind comes first."""
    held_out = (question for question in questions if question.is_held_out)
    return sorted(held_out, key=lambda question: hashlib.sha256(question.question_id.encode()).hexdigest())[:most]


def vector_bytes(release: Release) -> int:
    """Bytes of the vectors that a search reads."""
    return sum(path.stat().st_size for path in (release.path / "arrays" / "vectors").rglob("*") if path.is_file())


def milliseconds(release: Release, questions: Sequence[Question]) -> float:
    """Median time of a search by `sag`, with embedding the question."""
    ask, taken = asking(release, "sag"), []
    for question in questions[:TIMED]:
        start = perf_counter()
        ask(question.text)
        taken.append(1e3 * (perf_counter() - start))
    return statistics.median(taken)


def row_of(
    name: str, model: str, asked: QuestionSet, cache: Path, methods: Sequence[str], most: int
) -> tuple[dict[str, Outcome], dict[str, Any]]:
    """What each method reaches with one model, and what it costs."""
    before = set(cache.iterdir())
    start = perf_counter()
    release = ingested(name, asked, cache, model)
    took = perf_counter() - start if set(cache.iterdir()) - before else None
    questions = chosen_of(asked.questions, most)
    outcomes = measure(release, questions, methods)
    return outcomes, {"ingest": took, "ask": milliseconds(release, questions), "vectors": vector_bytes(release)}


def lines(
    model: str, outcomes: Mapping[str, Outcome], costs: Mapping[str, Any], first: Mapping[str, Outcome]
) -> Iterator[str]:
    """A line a method, with the difference to the first model, then the costs."""
    for method, outcome in outcomes.items():
        values = "  ".join(f"R@{cut} {outcome.means()[f'R@{cut}']:5.1f}" for cut in (2, 5, 10))
        gained = f"   − {FIRST} {spoken(gain(outcome, first[method], 5))}" if first and model != FIRST else ""
        yield f"  {model:40} {method:12} {values}{gained}"
    took = "-" if costs["ingest"] is None else f"{costs['ingest']:.0f} s"
    yield f"  {model:40} ingest {took}, ask {costs['ask']:.1f} ms, vectors {costs['vectors'] / 1e6:.1f} MB"


def main() -> int:
    """Ingest, ask and print, a model after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=FIRST)
    parser.add_argument("--sets", default="musique-rules,dragonball-en,cmrc,business")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--most", type=int, default=200, help="questions of a set")
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    unknown = set(given.sets.split(",")) - set(KINDS | SETS | SMALL)
    if unknown:
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(KINDS | SETS | SMALL)}")
    models = list(dict.fromkeys([FIRST, *given.models.split(",")]))
    figures: dict[str, dict[str, Any]] = {}
    with cached(given.cache) as cache:
        for name in given.sets.split(","):
            try:
                asked = made(name, cache)
            except UnavailableError as error:
                print(f"{name}: left out, {error}", flush=True)
                continue
            print(name, flush=True)
            first: Mapping[str, Outcome] = {}
            for model in models:
                outcomes, costs = row_of(name, model, asked, cache, given.methods.split(","), given.most)
                first = first or outcomes
                print("\n".join(lines(model, outcomes, costs, first)), flush=True)
                recall = {method: outcome.means() for method, outcome in outcomes.items()}
                figures.setdefault(name, {})[model] = costs | {"recall": recall}
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures else 1


if __name__ == "__main__":
    sys.exit(main())
