"""What answers gain from what a release knows besides its passages: joined passages, and lines of evidence.

    python -m benchmarks.answer_context [--cache FOLDER] [--held-out] [--questions 60] [--sets dragonball,business]

For the questions of `benchmarks.answers` that have an answer, from chunks and from segments of each preset: the share
whose evidence stands within the first 3,000 characters of what was found, the share that `fast` mode quotes, and the
tokens of the evidence that a model would be shown, with and without context (estimated). Halves as in that benchmark.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.answers import Asked, _hash, _released, candidates, holds, judge
from sag_retrieval import Release
from sag_retrieval.ask.model_answer import shown_hits
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.prompts import as_lines, numbered

CHARACTERS: Final = 3000
KINDS: Final = ((None, 0), ("precision", 3_000), ("balanced", 3_000), ("balanced", 6_000))
"""Presets of segments, and most characters of joined passages."""


@dataclass(frozen=True)
class Row:
    """What became of one question."""

    in_budget: bool
    quoted: bool
    plain_tokens: int
    context_tokens: int


def row_of(release: Release, asked: Asked, segments: str | None, characters: int) -> Row:
    """The outcome of a question for chunks (None) or segments of a preset."""
    options = {"segment_characters": characters} if segments else None
    answer = release.ask(asked.text, segments=segments, options=options)
    judged = judge(asked, answer)
    hits = shown_hits(answer.hits[:10])
    text, left = [], CHARACTERS
    for hit in answer.hits:
        text.append(hit.text[:left])
        left -= len(text[-1])
    in_budget = holds(asked, "\n".join(text))
    plain = numbered([hit.text for hit in hits], [hit.title for hit in hits])
    lines = as_lines(release._context.lines(hits))  # noqa: SLF001
    return Row(in_budget, judged.is_right, estimate_tokens(plain), estimate_tokens(lines))


def table(release: Release, name: str, half: str, questions: Sequence[Asked]) -> Iterator[str]:
    """A line for chunks and for each preset."""
    for segments, characters in KINDS:
        rows = [row_of(release, asked, segments, characters) for asked in questions]
        values = [100 * np.mean([r.in_budget for r in rows]), 100 * np.mean([r.quoted for r in rows])]
        tokens = [np.mean([r.plain_tokens for r in rows]), np.mean([r.context_tokens for r in rows])]
        cells = "".join(f"{value:10.1f}" for value in values) + "".join(f"{value:10.0f}" for value in tokens)
        yield f"{name:12}{half:12}{f'{segments} {characters}' if segments else 'chunks':16}{len(rows):6}{cells}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--held-out", action="store_true", help="ask the held-out half as well")
    parser.add_argument("--questions", type=int, default=60, help="most questions of a set and half")
    parser.add_argument("--sets", default="dragonball,business")
    given = parser.parse_args()
    print(f"{'set':12}{'half':12}{'from':16}{'asked':>6}{'in 3000':>10}{'quoted':>10}{'tokens':>10}{'+context':>10}")
    with tempfile.TemporaryDirectory() as scratch:
        cache = (given.cache or Path(scratch)).resolve()
        for name in given.sets.split(","):
            asked = sorted(
                (q for q in candidates() if q.set_name == name and q.is_answerable), key=lambda q: _hash(q.id)
            )
            with _released(name, cache) as release:
                for half, is_development in (("development", True), ("held out", False))[: 1 + given.held_out]:
                    chosen = [q for q in asked if q.is_for_development == is_development][: given.questions]
                    print("\n".join(table(release, name, half, chosen)), flush=True)


if __name__ == "__main__":
    main()
