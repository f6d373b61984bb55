"""How many chunks an edit of a long document changes, and how long chunks are, by either rule of borders.

python benchmarks/borders.py [EDITS [SEED]]
"""

import gzip
import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.steps.chunks import ChunkOptions, split_chunks
from sag_pipeline.steps.sections import untitled
from sag_retrieval.core.records import Document, Section
from sag_retrieval.text.sentences import sentence_spans
from sag_retrieval.text.words import language_of

DATA = Path(__file__).parents[2] / "shared" / "data" / "longdocs"
NEW = {"en": "The clerk wrote a short note about it and left. ", "zh": "职员为此写了一张便条，随后离开。"}
_CHARACTERS = 30_000
_NEIGHBOURS = 3
"""The edited chunk and one on either side."""


def documents() -> Iterator[Document]:
    """The beginning of each long document."""
    for path in sorted(DATA.glob("*.gz")):
        text = gzip.decompress(path.read_bytes()).decode()[:_CHARACTERS]
        yield Document(path.name, "longdocs", path.name, text, language_of(text))


def edited(text: str, language: str, draw: random.Random) -> str:
    """The text with a sentence inserted, deleted or replaced."""
    start, end = draw.choice(sentence_spans(text))
    kind = draw.choice(("insert", "delete", "replace"))
    behind = text[start:] if kind == "insert" else text[end:]
    return text[:start] + ("" if kind == "delete" else NEW[language]) + behind


RULES = {"filled": ChunkOptions(stable_borders=False), "stable": ChunkOptions(stable_borders=True)}


def table(edits: int, seed: int = 0, *, by_sections: bool) -> list[dict[str, Any]]:
    """By rule: how many edits change how many chunks, and the lengths of chunks as shares of the size."""
    divide = offline_sections if by_sections else untitled
    before = [(one, divide(one)) for one in documents()]
    counts: dict[str, Counter[int]] = {name: Counter() for name in RULES}
    draw = random.Random(seed)
    for n in range(edits):
        document, sections = before[n % len(before)]
        after = replace(document, text=edited(document.text, document.language, draw))
        divided = divide(after)
        for name, options in RULES.items():
            old = {chunk.text for chunk in split_chunks(document, sections, options)}
            new = {chunk.text for chunk in split_chunks(after, divided, options)}
            counts[name][len(new - old)] += 1
    return [
        {
            "borders": name,
            "sections": "by rules" if by_sections else "one",
            "edits": edits,
            "at most 3": sum(count for chunks, count in counts[name].items() if chunks <= _NEIGHBOURS) / edits,
            "mean": sum(chunks * count for chunks, count in counts[name].items()) / edits,
            "most": max(counts[name]),
            "chunks changed": dict(sorted(counts[name].items())),
            **_lengths(before, options),
        }
        for name, options in RULES.items()
    ]


def _lengths(texts: Sequence[tuple[Document, Sequence[Section]]], options: ChunkOptions) -> dict[str, float]:
    shares = [
        len(chunk.text) / (options.zh_size if one.language == "zh" else options.en_size)
        for one, sections in texts
        for chunk in split_chunks(one, sections, options)
    ]
    mean, spread = statistics.mean(shares), statistics.pstdev(shares)
    return {"chunks": len(shares), "length": round(mean, 3), "spread": round(spread, 3)}


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    edits, seed = [*given, *(200, 0)[len(given) :]]
    for by_sections in (False, True):
        for row in table(edits, seed, by_sections=by_sections):
            print(json.dumps(row, ensure_ascii=False), flush=True)
