"""The answer to a question: its text, its citations, and a trace of how it was found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.models.protocols import Usage
from sag_retrieval.notebook import render_html

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 60
"""Characters of the text that `repr` shows."""
NOT_FOUND = {"en": "The answer is not in the documents.", "zh": "文档中没有答案。"}
UNSURE = {
    "en": "No sentence clearly answers this. The closest passages: ",
    "zh": "没有句子明确回答这个问题。最接近的段落：",
}
CLOSEST_TO = {"en": "Closest to “{asked}”: ", "zh": "与“{asked}”最接近的段落："}


@public
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
    place: str = ""
    """Page, slide or sheet of the quotation: `p. 4`; empty where the file has none."""


@public
@dataclass(frozen=True, slots=True)
class Answer(Convertible):
    """The answer to a question; `str(answer)` is its text. Without an answer `is_found` is false.

    Citations of an answer that is not found are those of the closest passages.
    `hits` are the passages found for it, those that a model cites first; `trace` holds plan, rounds,
    searches and calls; `notes` hold what failed or was left out, and what was done instead.
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
    sql: str = ""
    """The SELECT that made the answer; `release.sql(answer.sql)` runs it again. Empty where none did."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """Its rows."""

    @property
    def documents(self) -> tuple[str, ...]:
        """Ids of the documents of the hits, each once, in their order."""
        return tuple(dict.fromkeys(hit.document_id for hit in self.hits))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        count = len(self.citations)
        return f"Answer({_short(self.text)!r}, {count} citation{'' if count == 1 else 's'})"

    def _repr_html_(self) -> str:
        return render_html("answer", given=self)

    def to_arrow(self) -> "pa.Table":
        """One row for each citation: marker, place, title and quote.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     answer = release.ask("Which company made the part that caused the sensors to leak?")
            >>> answer.to_arrow()["quote"][0].as_py()
            'The leak came from an O-ring made by Marlow Seals.'
        """
        import pyarrow as pa  # noqa: PLC0415  asking alone needs none of it

        schema = pa.schema([(each.name, pa.int32() if each.type is int else pa.string()) for each in fields(Citation)])
        return pa.Table.from_pylist([asdict(citation) for citation in self.citations], schema=schema)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values: what `sag ask --json` prints.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     answer = release.ask("Who made the O-ring?")
            >>> sorted(answer.to_dict())[:5]
            ['answer', 'citations', 'hits', 'is_found', 'mode']
        """
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
            "sql": self.sql,
            "rows": [dict(row) for row in self.rows],
            "trace": dict(self.trace),
        }


def not_found(language: str, closest: str = "") -> str:
    """That the documents hold no answer; where there are closest passages, that none of them clearly answers."""
    language = "zh" if language.startswith("zh") else "en"
    return UNSURE[language] + closest if closest else NOT_FOUND[language]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"


def _hit(rank: int, hit: FoundPassage) -> dict[str, Any]:
    names = ("score", "chunk_id", "document_id", "title", "text", "start")
    return {"rank": rank} | {name: getattr(hit, name) for name in names} | {"place": getattr(hit, "place", "")}
