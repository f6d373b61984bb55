"""The rows of the house, as values: what steps make and tables hold.

The columns of each table, with their meaning, stand in `release/schema.py`; a record has the same names.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")

TITLE = "title"
"""Type of the key that a document's own title becomes."""


def make_id(kind: str, *parts: object) -> str:
    """A stable id: the kind's letter and 80 bits of the parts' hash, equal in every process.

    Example:
        >>> make_id("k", "person", "ada lovelace")
        'kf8e9ebb84d6b60b792c1'

    """
    digest = blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=10)
    return kind + digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. `version` is the hash of everything below it that steps read."""

    document_id: str
    source: str
    title: str
    text: str
    language: str
    metadata: str = "{}"
    extraction: str | None = None
    """JSON list of given events (`{"content", "keys", "triples"}`), or None: read them from the text."""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A short text about a document."""

    document_id: str
    summary: str


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
        """What is embedded and full-text indexed."""
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

    @property
    def indexed_text(self) -> str:
        """What is embedded."""
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
        """Refuse a key without a value or with two."""
        given = [v for v in (self.value_string, self.value_number, self.value_bool) if v is not None]
        if len(given) != 1:
            raise ValueError(f"key {self.key_id!r} needs exactly one value, got {len(given)}")

    @property
    def value(self) -> str | float | bool:
        """The one value."""
        return next(v for v in (self.value_string, self.value_number, self.value_bool) if v is not None)


@dataclass(frozen=True, slots=True)
class EventKey:
    """A key as one event carries it, before keys are aligned over all documents."""

    document_id: str
    event_id: str
    key: Key
    same_as: str | None = None
    """Id of the event's key that this one is another name of, where the text or the model says so."""


@dataclass(frozen=True, slots=True)
class Triple:
    """(head, relation, tail) as said by one event; head and tail are text keys."""

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
    """Something put aside: where it was, and why."""

    source: str
    path: str
    line: int | None
    step: str
    reason: str
    document_id: str | None = None
    attempts: int = 1
    is_passing: bool = False
    """Whether the same bytes may be read next time: the file was out of reach, not at fault."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read from one chunk: its events, their keys and their triples."""

    events: tuple[Event, ...] = ()
    keys: tuple[EventKey, ...] = ()
    triples: tuple[Triple, ...] = field(default=())


def batched(items: Iterable[ItemT], size: int) -> Iterator[tuple[ItemT, ...]]:
    """Batches of `size` items in order, the last one perhaps smaller; of lazy items one batch is held at a time.

    As `itertools.batched`, which Python 3.11 lacks.

    Example:
        >>> list(batched("abcde", 2))
        [('a', 'b'), ('c', 'd'), ('e',)]

    """
    rest = iter(items)
    while batch := tuple(islice(rest, size)):
        yield batch
