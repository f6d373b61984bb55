"""Sections without a model: how many of a report's true headings are found once their marks are gone.

`python benchmarks/sections.py` takes the marks off the headings of a Chinese report in Markdown, or the
heading lines whole, and prints precision and recall of the borders found.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sag_pipeline.rules.headings import headings_of
from sag_pipeline.rules.sections import depths, offline_sections
from sag_pipeline.steps.sections import SectionOptions
from sag_retrieval.core.records import Document
from sag_retrieval.text.sentences import sentence_spans

LONG = Path(__file__).parents[1].parent / "shared" / "data" / "longdocs"
RESULTS = Path(__file__).parent / "results"
NEAR = 100
"""Characters between a border found and a true one that count as the same where heading lines are gone."""


def unmarked(text: str, *, keep_words: bool) -> tuple[str, list[int]]:
    """The text without heading marks, or without heading lines, and where the headings stood."""
    plain, places = "", []
    for line in text.split("\n"):
        heading = re.match(r"#{1,6}\s+", line)
        if heading:
            places.append(len(plain))
        if not heading or keep_words:
            plain += line[heading.end() if heading else 0 :] + "\n"
    return plain, places


def score(name: str, found: set[int], gold: list[int], near: int) -> dict[str, Any]:
    """Precision, recall and F1 of borders, each true one matched once."""
    hit = sum(any(abs(place - true) <= near for place in found) for true in gold)
    right = sum(any(abs(place - true) <= near for true in gold) for place in found)
    precision, recall = right / max(len(found), 1), hit / len(gold)
    both = precision + recall
    return {
        "borders": name,
        "found": len(found),
        "true": len(gold),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(2 * precision * recall / both, 3) if both else 0.0,
    }


def section_starts(text: str, options: SectionOptions) -> set[int]:
    """Where sections begin, the first left out."""
    sections = offline_sections(Document("d", "s", "t", text, "zh"), options)
    return {section.start for section in sections[1:]}


def deepest(text: str, count: int) -> set[int]:
    """The `count` places where words change most."""
    spans = sentence_spans(text)
    depth = depths([text[start:end] for start, end in spans], 8)
    return {spans[row][0] for row in np.argsort(-depth, kind="stable")[:count]}


def evenly(text: str, count: int) -> set[int]:
    """As many places at equal distances, to compare with."""
    return {round(len(text) * (n + 1) / (count + 1)) for n in range(count)}


def main() -> None:
    """Print the table and write it as JSON."""
    marked = gzip.decompress((LONG / "alibaba_fy2025_interim_zh.md.gz").read_bytes()).decode()
    rows = []
    plain, gold = unmarked(marked, keep_words=True)
    headings = {heading.start for heading in headings_of(plain, "zh")}
    rows.append(score("marks gone: headings found", headings, gold, 0))
    rows.append(score("marks gone: sections", section_starts(plain, SectionOptions()), gold, 0))
    gone, gold = unmarked(marked, keep_words=False)
    rows.append(score("lines gone: sections", section_starts(gone, SectionOptions()), gold, NEAR))
    rows.append(score("lines gone: deepest 60 places", deepest(gone, len(gold)), gold, NEAR))
    rows.append(score("lines gone: 60 even places", evenly(gone, len(gold)), gold, NEAR))
    print(pd.DataFrame(rows).to_string(index=False))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "sections.json").write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
