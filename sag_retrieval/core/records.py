"""Rows of the tables as values, their stable ids, and batches of them.

The columns of each table and their meaning are in `release/schema.py`; fields have the same names.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")

TITLE = "title"


def make_id(kind: str, *parts: object) -> str:
    """A stable id: the letter of the kind and 80 bits of the hash of the parts, the same in every process.

    Examples:
        >>> make_id("k", "person", "ada lovelace")
        'kf8e9ebb84d6b60b792c1'
    """
    digest = blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=10)
    return kind + digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. `version` is the hash of all fields that steps read."""

    document_id: str
    source: str
    title: str
    text: str
    language: str
    metadata: str = "{}"
    extraction: str | None = None
    """JSON list of supplied events (`{"content", "keys", "triples"}`); None: extract them from the text."""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A short summary of a document."""

    document_id: str
    summary: str
    made_title: str | None = None
    """A title that a language model wrote for headers; None: the document's own."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled run of a document's characters; the sections of a document partition its text."""

    section_id: str
    document_id: str
    section_index: int
    title: str
    summary: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: `text == document.text[start:end]`. Embedded and indexed as `header`, a newline, `text`."""

    chunk_id: str
    document_id: str
    section_id: str
    chunk_index: int
    start: int
    end: int
    text: str
    header: str
    heading: str = ""
    """The nearest heading above the passage, or empty."""

    @property
    def indexed_text(self) -> str:
        """The text that is embedded and full-text indexed."""
        return f"{self.header}\n{self.text}" if self.header else self.text


@dataclass(frozen=True, slots=True)
class Event:
    """One atomic statement. `start:end` is its span in the document's text, or both None if unknown."""

    event_id: str
    document_id: str
    chunk_id: str
    event_index: int
    content: str
    title: str
    """The document's title, embedded before the content."""
    start: int | None = None
    end: int | None = None
    context_date: str | None = None
    """The date that its place in the document gives it, ISO; it counts where the event's words have none."""
    context_source: str | None = None
    """Where that stands: metadata, mail header, letter head, heading, stamp, file name or effective day."""

    @property
    def indexed_text(self) -> str:
        """The text that is embedded."""
        return f"{self.title}: {self.content}" if self.title else self.content


@dataclass(frozen=True, slots=True)
class Key:
    """An attribute that events share: a typed value of exactly one kind.

    Only text keys are embedded; numbers and flags serve SQL filters.
    """

    key_id: str
    key_type: str
    value_string: str | None = None
    value_number: float | None = None
    value_bool: bool | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.value_string, self.value_number, self.value_bool) if v is not None]
        if len(given) != 1:
            raise ValueError(f"key {self.key_id!r} needs exactly one value, got {len(given)}")

    @property
    def value(self) -> str | float | bool:
        """The one value."""
        return next(v for v in (self.value_string, self.value_number, self.value_bool) if v is not None)


@dataclass(frozen=True, slots=True)
class EventKey:
    """A key of one event, before keys are aligned over all documents."""

    document_id: str
    event_id: str
    key: Key
    same_as: str | None = None
    """Id of the key of the same event that this key is an alias of, if the text or the model states it."""


@dataclass(frozen=True, slots=True)
class Triple:
    """(head, relation, tail) as stated by one event; head and tail are text keys."""

    triple_id: str
    document_id: str
    chunk_id: str
    event_id: str
    head: str
    head_key_id: str
    relation: str
    tail: str
    tail_key_id: str
    properties: str = "{}"


@dataclass(frozen=True, slots=True)
class Quarantined:
    """Something skipped with errors: its place and the reason."""

    source: str
    path: str
    line: int | None
    step: str
    reason: str
    document_id: str | None = None
    attempts: int = 1
    is_passing: bool = False
    """Whether the same bytes may be readable next time: the file was not reachable, but is not faulty."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The events, keys and triples extracted from one chunk."""

    events: tuple[Event, ...] = ()
    keys: tuple[EventKey, ...] = ()
    triples: tuple[Triple, ...] = field(default=())


def batched(items: Iterable[ItemT], size: int) -> Iterator[tuple[ItemT, ...]]:
    """Batches of `size` items in order; the last may be smaller, and only one is in memory at a time.

    Same as `itertools.batched`, which Python 3.11 lacks.

    Examples:
        >>> list(batched("abcde", 2))
        [('a', 'b'), ('c', 'd'), ('e',)]
    """
    rest = iter(items)
    while batch := tuple(islice(rest, size)):
        yield batch
