"""Questions with the places of their evidence: DragonBall in Chinese and English, and one on a long report."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from sag_pipeline.rules.sections import offline_sections
from sag_retrieval.core.records import Document, Section

SHARED = Path(__file__).parents[1].parent / "shared" / "data"
BUDGET, NIKE_BUDGET = 2_000, 8_000
Spans = list[tuple[str, int, int]]
"""Document, first character, after the last."""


@dataclass(frozen=True)
class Question:
    """A question and where in the documents its evidence stands."""

    text: str
    kind: str
    evidence: Spans


@dataclass(frozen=True)
class Corpus:
    """Documents, the questions on them, and how many characters may be returned."""

    name: str
    documents: list[Document]
    questions: list[Question]
    budget: int
    made: dict[str, list[Section]] = field(default_factory=dict)

    def sections(self, document: Document) -> list[Section]:
        """The document's sections, found once."""
        return self.made.setdefault(document.document_id, offline_sections(document))


def dragonball(language: str) -> Corpus:
    """DragonBall in one language: the questions whose evidence is found in its documents."""
    rows = pd.read_parquet(SHARED / "dragonball.docs.parquet").query("language == @language")
    documents = [Document(r.doc_id, "dragonball", r.name, r.text, language) for r in rows.itertuples(index=False)]
    texts = {document.document_id: _Letters(document.text) for document in documents}
    questions = []
    asked = pd.read_parquet(SHARED / "dragonball.questions.parquet").query("language == @language")
    for row in asked.itertuples():
        places = [
            (e["doc_id"], *span)
            for e in json.loads(row.evidence)
            if e["doc_id"] in texts and (span := texts[e["doc_id"]].find(e["text"]))
        ]
        if places and not row.unanswerable:
            questions.append(Question(row.question, row.type, places))
    return Corpus(language, documents, questions, BUDGET)


class _Letters:
    """A text's letters and digits alone, and where each stands."""

    def __init__(self, text: str) -> None:
        self.places = [place for place, character in enumerate(text) if character.isalnum()]
        self.letters = "".join(text[place] for place in self.places).casefold()

    def find(self, passage: str) -> tuple[int, int] | None:
        letters = "".join(c for c in passage if c.isalnum()).casefold()
        at = self.letters.find(letters) if letters else -1
        return (self.places[at], self.places[at + len(letters) - 1] + 1) if at >= 0 else None


def nike() -> Corpus:
    """The FinanceBench question on the Nike report; evidence is every line of the cash flow statement."""
    text = gzip.decompress((SHARED / "longdocs" / "nike_2023_annual_report.txt.gz").read_bytes()).decode()
    asked = json.loads((SHARED / "longdocs" / "financebench_nike2023_question.json").read_text("utf-8"))[0]
    place = text.index("CONSOLIDATED STATEMENTS OF CASH FLOWS\nYEAR ENDED")
    last = "CASH AND EQUIVALENTS, END OF YEAR"
    end = text.index("\n", text.index(last, place))
    lines: Spans = []
    while place < end:
        stop = text.index("\n", place)
        lines.append(("nike", place, place + len(text[place:stop].rstrip())))
        place = stop + 1
    document = Document("nike", "longdocs", "Nike 10-K 2023", text, "en")
    return Corpus("nike", [document], [Question(asked["question"], "finance", lines)], NIKE_BUDGET)


CORPORA: dict[str, Callable[[], Corpus]] = {
    "zh": lambda: dragonball("zh"),
    "en": lambda: dragonball("en"),
    "nike": nike,
}
