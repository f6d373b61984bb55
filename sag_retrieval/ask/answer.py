"""What asking gives back: a text, the places it rests on, and how it came about."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sag_retrieval.ask.protocols import FoundPassage
from sag_retrieval.models.protocols import Usage

NOT_FOUND = {"en": "The answer is not in the documents.", "zh": "文档中没有答案。"}


@dataclass(frozen=True, slots=True)
class Citation:
    """What `[marker]` in the text points to: characters `start` to before `end` of the document."""

    marker: int
    chunk_id: str
    document_id: str
    title: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. Without evidence `is_found` is false and the text says so.

    `hits` are the passages found for it, those that a model cites first; `trace` tells plan, rounds,
    searches and calls; `notes` what went wrong or was left out, and what was done instead.
    """

    question: str
    text: str
    mode: str
    is_found: bool
    citations: tuple[Citation, ...] = ()
    hits: tuple[FoundPassage, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    trace: Mapping[str, Any] = field(default_factory=dict)

    @property
    def documents(self) -> tuple[str, ...]:
        """Ids of the documents of the hits, each once, in their order."""
        return tuple(dict.fromkeys(hit.document_id for hit in self.hits))

    def to_json(self) -> dict[str, Any]:
        """What `sag ask --json` prints."""
        return {
            "question": self.question,
            "answer": self.text,
            "mode": self.mode,
            "is_found": self.is_found,
            "citations": [asdict(citation) for citation in self.citations],
            "hits": [_hit(rank, hit) for rank, hit in enumerate(self.hits, start=1)],
            "notes": list(self.notes),
            "usage": asdict(self.usage),
            "seconds": self.seconds,
            "trace": dict(self.trace),
        }


def not_found(language: str) -> str:
    """The sentence that says so."""
    return NOT_FOUND["zh" if language.startswith("zh") else "en"]


def _hit(rank: int, hit: FoundPassage) -> dict[str, Any]:
    names: Sequence[str] = ("score", "chunk_id", "document_id", "title", "text", "start")
    return {"rank": rank} | {name: getattr(hit, name) for name in names}
