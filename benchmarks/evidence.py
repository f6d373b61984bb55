"""Evidence found in few characters: chunk headers and segments, each on and off, in Chinese and English.

`python benchmarks/evidence.py` ranks by BM25 and cosine; with `--home FOLDER --method sag` by the current
release there, made from the same documents: `--write FOLDER` writes them as JSON lines to ingest.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from evidence_data import CORPORA, Corpus, Question, Spans
from evidence_ranking import Ranking, bm25_and_cosine, by_release

from sag_pipeline.steps.chunks import split_chunks
from sag_pipeline.steps.headers import FULL_HEADER, HeaderOptions, chunk_header
from sag_pipeline.steps.sections import untitled
from sag_pipeline.steps.summaries import summarise
from sag_retrieval.core.records import Chunk, Document, Section
from sag_retrieval.segments import PRESETS, SegmentOptions, extract_segments

RESULTS = Path(__file__).parent / "results"
HEADERS: dict[str, HeaderOptions | None] = {
    "none": None,
    "title": HeaderOptions(section_title=False),
    "both titles": HeaderOptions(),
    "both titles, sentences": HeaderOptions(sentences=True),
    "full": replace(FULL_HEADER, sentences=False),
    "full, sentences": FULL_HEADER,
}


def chunks_of(corpus: Corpus, *, sections: bool, header: HeaderOptions | None) -> list[Chunk]:
    """All chunks of a corpus, with their headers."""
    found: list[Chunk] = []
    for document in corpus.documents:
        summary = summarise(document).summary if header and header.document_summary else ""

        def written(section: Section, document: Document = document, summary: str = summary) -> str:
            if header is None:
                return ""
            return chunk_header(document.title, summary, section.title, "", document.language, header)

        divided = corpus.sections(document) if sections else untitled(document)
        found.extend(split_chunks(document, divided, header_of=written))
    return found


def covered(question: Question, spans: Spans, budget: int) -> float:
    """Share of the question's evidence of which nine tenths lie in the first `budget` characters returned."""
    held: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in spans:
        taken = min(end - start, budget)
        budget -= taken
        if taken > 0:
            held[document].append((start, start + taken))
    shares = [
        sum(max(0, min(end, e) - max(start, s)) for s, e in held[document]) / (end - start)
        for document, start, end in question.evidence
    ]
    return float(np.mean([share >= 0.9 for share in shares]))


class Finder:
    """Ranks chunks and returns them, or segments made of them."""

    def __init__(self, corpus: Corpus, chunks: list[Chunk], ranking: Ranking) -> None:
        self.corpus, self.chunks = corpus, chunks
        self.spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.sections: dict[str, list[str]] = defaultdict(list)
        for chunk in chunks:
            self.spans[chunk.document_id].append((chunk.start, chunk.end))
            self.sections[chunk.document_id].append(chunk.section_id)
        rank = ranking(chunks)
        self.ranked = [rank(question.text) for question in corpus.questions]
        self.length = float(np.mean([chunk.end - chunk.start for chunk in chunks]))

    def best(self, number: int) -> Spans:
        """The best chunks of a question."""
        return [(d, *self.spans[d][index]) for d, index, _ in self.ranked[number]]

    def segments(self, number: int, options: SegmentOptions, *, whole: bool = False) -> Spans:
        """The segments of a question; `whole` lets them complete their sections."""
        sections = self.sections if whole else None
        found = extract_segments([self.ranked[number]], self.spans, options, sections)
        return [(s.document_id, s.start, s.end) for s in found]

    def filled(self, number: int, options: SegmentOptions, *, whole: bool = False) -> Spans:
        """The segments, and after them the best chunks that lie in none."""
        spans = self.segments(number, options, whole=whole)
        rest = [
            (document, start, end)
            for document, start, end in self.best(number)
            if not any(d == document and s <= start and end <= e for d, s, e in spans)
        ]
        return spans + rest

    def mean(self, value: Callable[[int], float]) -> float:
        """Mean over questions."""
        return float(np.mean([value(number) for number in range(len(self.corpus.questions))]))

    def share(self, spans: Callable[[int], Spans]) -> float:
        """Share of evidence, in percent, in the first characters of what is returned."""
        questions, budget = self.corpus.questions, self.corpus.budget
        return 100 * self.mean(lambda number: covered(questions[number], spans(number), budget))

    def recall(self, cut: int) -> float:
        """Share, in percent, of the chunks with evidence that are among the first `cut`."""

        def one(number: int) -> float:
            gold = {
                (document, index)
                for document, start, end in self.corpus.questions[number].evidence
                for index, (s, e) in enumerate(self.spans[document])
                if min(end, e) - max(start, s) > 0.5 * (end - start)
            }
            best = {(document, index) for document, index, _ in self.ranked[number][:cut]}
            return len(gold & best) / max(len(gold), 1)

        return 100 * self.mean(one)


def compare_headers(corpus: Corpus, ranking: Ranking) -> list[dict[str, Any]]:
    """Every kind of header, with and without sections."""
    rows = []
    for sections in (False, True):
        for name, header in HEADERS.items():
            if "both" in name and not sections:
                continue
            finder = Finder(corpus, chunks_of(corpus, sections=sections, header=header), ranking)
            row = {"corpus": corpus.name, "sections": sections, "header": name}
            row |= {f"recall@{cut}": round(finder.recall(cut), 1) for cut in (2, 5, 10)}
            rows.append(row | {f"evidence in {corpus.budget}": round(finder.share(finder.best), 1)})
    return rows


def compare_segments(corpus: Corpus, ranking: Ranking, header: str) -> dict[str, Any]:
    """Chunks against segments, both filled up to the budget."""
    finder = Finder(corpus, chunks_of(corpus, sections=True, header=HEADERS[header]), ranking)
    options = PRESETS["balanced"].within(corpus.budget, finder.length)
    return {
        "corpus": corpus.name,
        "characters": corpus.budget,
        "header": header,
        "chunks": round(finder.share(finder.best), 1),
        "segments": round(finder.share(lambda number: finder.filled(number, options)), 1),
        "whole sections": round(finder.share(lambda number: finder.filled(number, options, whole=True)), 1),
    }


def compare_presets(corpus: Corpus, ranking: Ranking, header: str) -> list[dict[str, Any]]:
    """What presets return by themselves, against the best chunks of the same length."""
    finder = Finder(corpus, chunks_of(corpus, sections=True, header=HEADERS[header]), ranking)
    rows = []
    for preset in PRESETS:
        for relevance in ("calibrated", "constant", "minmax"):
            options = replace(PRESETS[preset], relevance=relevance)
            returned = [finder.segments(number, options) for number in range(len(corpus.questions))]
            sizes = [sum(end - start for _, start, end in spans) for spans in returned]
            pairs = list(zip(corpus.questions, returned, sizes, strict=True))
            alike = [covered(q, finder.best(n), size) for n, (q, _, size) in enumerate(pairs)]
            row = {"corpus": corpus.name, "preset": preset, "relevance": relevance}
            row |= {"segments": round(float(np.mean([len(spans) for spans in returned])), 1)}
            row |= {"characters": round(float(np.mean(sizes))), "least": min(sizes), "most": max(sizes)}
            row |= {"evidence": round(100 * float(np.mean([covered(*pair) for pair in pairs])), 1)}
            rows.append(row | {"chunks as long": round(100 * float(np.mean(alike)), 1)})
    return rows


def write(corpora: Sequence[Corpus], folder: Path) -> None:
    """The documents as JSON lines, to ingest."""
    folder.mkdir(parents=True, exist_ok=True)
    for corpus in corpora:
        rows = [{"id": d.document_id, "title": d.title, "text": d.text} for d in corpus.documents]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{corpus.name}.jsonl").write_text(lines, encoding="utf-8")


def main() -> None:
    """Print the tables and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=list(CORPORA), action="append")
    parser.add_argument("--every", type=int, default=1, help="take every n-th question")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--home")
    parser.add_argument("--method", default="sag")
    given = parser.parse_args()
    corpora = [CORPORA[name]() for name in given.corpus or list(CORPORA)]
    corpora = [replace(corpus, questions=corpus.questions[:: given.every]) for corpus in corpora]
    if given.write:
        write(corpora, given.write)
        return
    ranking = by_release(given.home, given.method) if given.home else bm25_and_cosine
    kinds = ["both titles"] if given.home else ["none", "both titles"]
    tables = {
        "headers": [] if given.home else [row for c in corpora for row in compare_headers(c, ranking)],
        "segments": [compare_segments(c, ranking, kind) for c in corpora for kind in kinds],
        "presets": [row for c in corpora for row in compare_presets(c, ranking, "both titles")],
    }
    for name, rows in tables.items():
        print(f"\n{name}\n{pd.DataFrame(rows).to_string(index=False)}" if rows else "")
    RESULTS.mkdir(exist_ok=True)
    name = f"evidence-{given.method}.json" if given.home else "evidence.json"
    (RESULTS / name).write_text(json.dumps(tables, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
