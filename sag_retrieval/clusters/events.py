"""The event table that clustering and reports read: events with their chunks, documents, keys and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array, csr_array

from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.language.cleaning import Cleaned, clean, unmarked
from sag_retrieval.language.places import place_name, places_within
from sag_retrieval.language.words import is_cjk
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.mapped_arrays import take_rows

FORECAST = "is_forecast"
"""Type of the boolean key of events that tell of a plan or forecast."""

__all__ = ["Chunks", "Documents", "EventLinks", "EventTable", "Flags", "Floats", "Keys", "Rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Documents by row; `languages` are `zh` or `en`."""

    document_ids: Sequence[str]
    titles: Sequence[str]
    languages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Chunks by row; `document` is the row of each one's document."""

    chunk_ids: Sequence[str]
    texts: Sequence[str]
    document: Rows
    places: Sequence[str] = ()
    """Page, slide or sheet of each; none where no document names any."""
    sections: Sequence[str] = ()
    """Title of the section of each; none where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Keys by row: type, value as it is shown, and whether it is a text (None: all are) or a number."""

    types: Sequence[str]
    values: Sequence[str]
    is_text: Flags | None = None
    numbers: Sequence[float | None] = ()
    """Value of each that is a number; empty where none is known."""
    units: Sequence[str | None] = ()
    schema: KeySchema = field(default_factory=default_schema)
    """What the types are, and what readers call them."""
    ids: Sequence[str] = ()
    """Of each; empty where none is known."""
    other_names: Sequence[str] = ()
    """Of each, its name in the other script, Chinese or Latin; empty where none is known."""

    def in_script_of(self, language: str) -> "Keys":
        """The keys as a reader of a language calls them: a name in another script gives way to one in its own."""
        if not any(self.other_names):
            return self
        wanted = language == "zh"
        pairs = list(zip(self.values, self.other_names, strict=True))
        swapped = [(other, value) if other and is_cjk(value) != wanted else (value, other) for value, other in pairs]
        return replace(self, values=[one for one, _ in swapped], other_names=[other for _, other in swapped])

    def names_of(self, row: int) -> tuple[str, ...]:
        """What a text may call a key: its value, and its name in the other script."""
        other = self.other_names[row] if self.other_names else ""
        return (self.values[row], other) if other else (self.values[row],)

    def can_name(self, row: int) -> bool:
        """Whether a community may be named by this key."""
        return self.is_text is None or bool(self.is_text[row])


@dataclass(frozen=True, slots=True)
class Spread:
    """Among how many events the keys are counted, and how many of these carry each."""

    events: int
    carrying: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLinks:
    """Event-key pairs by row number, each listed once."""

    event: Rows
    key: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTable:
    """Events by row. `vectors` has one row for each event, of length 1 or all zero.

    `spans` has shape (events, 2): first character and end in the text of its chunk, or -1 where unknown.
    `dates` are ISO days, months or years, or None, and so are the days on which events were `said`.
    """

    event_ids: Sequence[str]
    contents: Sequence[str]
    chunk: Rows
    spans: Rows
    dates: Sequence[str | None]
    chunks: Chunks
    documents: Documents
    keys: Keys
    links: EventLinks
    vectors: Vectors
    is_forecast: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each event, whether it tells of a plan or a forecast; empty where none does."""
    spread: Spread | None = None
    """What is rare is counted among these events; None: among the events of the table."""
    said: Sequence[str | None] = ()
    """Of each event; empty where none is known."""

    def __len__(self) -> int:
        return len(self.event_ids)

    @property
    def document(self) -> Rows:
        """Row of each event's document."""
        return self.chunks.document[self.chunk]

    def incidence(self, key_types: Sequence[str] = (), without: Sequence[str] = ()) -> csr_array:
        """Shape (events, keys), 1 where the event carries the key; of some types (none: all), without others."""
        event, key = self.links.event, self.links.key
        if key_types or without:
            chosen_types = set(key_types or self.keys.types) - set(without)
            wanted = np.array([kind in chosen_types for kind in self.keys.types], dtype=bool)
            chosen = wanted[key] if len(key) else np.zeros(0, dtype=bool)
            event, key = event[chosen], key[chosen]
        shape = (len(self), len(self.keys.values))
        matrix = csr_array(coo_array((np.ones(len(event)), (event, key)), shape=shape))
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix

    def cleaned(self) -> "EventTable":
        """The same events with clean contents, key values and titles; texts of chunks stay: spans refer to them."""
        return replace(
            self,
            contents=Cleaned(self.contents, lambda text: unmarked(clean(text))),
            keys=replace(self.keys, values=Cleaned(self.keys.values, clean)),
            documents=replace(self.documents, titles=Cleaned(self.documents.titles, clean)),
        )


def event_table(index: Index, allowed: Flags | None = None, *, is_part: bool = False) -> EventTable:
    """The events whose flag is set (None: all), with chunks, documents, keys and vectors, in release order.

    Boolean keys are left out: sharing one does not relate two events. Of a part, what is rare is counted among all
    events of the release.
    """
    arrays = index.arrays
    chosen = np.arange(arrays.event_count) if allowed is None else np.flatnonzero(allowed)
    event_rows = chosen.astype(np.int32)
    columns = ["event_id", "content", "start", "end", "date", "said"]
    events = take_rows(index.rows["events"].select(columns), event_rows)
    chunk_rows, chunk = np.unique(arrays.event_chunk[event_rows], return_inverse=True)
    document_rows, document = np.unique(arrays.chunk_document[chunk_rows], return_inverse=True)
    listed = index.rows["documents"].select(["document_id", "title", "language"])
    documents = take_rows(listed, document_rows).to_pydict()
    key_rows, links = _links(index, event_rows)
    chunks = take_rows(index.rows["chunks"].select(["chunk_id", "text", "start", "section_id"]), chunk_rows)
    texts = chunks["text"].to_pylist()
    return EventTable(
        event_ids=events["event_id"].to_pylist(),
        contents=events["content"].to_pylist(),
        chunk=chunk.astype(np.int32),
        spans=_spans(events, chunks["start"].to_numpy()[chunk], np.array([len(text) for text in texts])[chunk]),
        dates=events["date"].to_pylist(),
        chunks=Chunks(
            chunk_ids=chunks["chunk_id"].to_pylist(),
            texts=texts,
            document=document.astype(np.int32),
            places=_places(index, document_rows[document], chunks["start"].to_pylist(), texts),
            sections=_sections(index, chunks["section_id"]),
        ),
        documents=Documents(
            document_ids=documents["document_id"], titles=documents["title"], languages=documents["language"]
        ),
        keys=_keys(index, key_rows),
        links=links,
        vectors=arrays.vectors["events"].take(event_rows),
        is_forecast=_forecasts(index, event_rows),
        spread=Spread(arrays.event_count, arrays.key_events.sizes()[key_rows].astype(np.float64)) if is_part else None,
        said=events["said"].to_pylist(),
    )


def _forecasts(index: Index, event_rows: Rows) -> Flags:
    keys, lists = index.rows["keys"], index.arrays.event_keys
    is_flag = pc.and_(pc.equal(keys["key_type"], FORECAST), pc.fill_null(keys["value_bool"], False)).to_numpy()  # noqa: FBT003
    event, place = lists.gather(event_rows)
    return np.bincount(event, is_flag[lists.items[place]], len(event_rows)) > 0


def _links(index: Index, event_rows: Rows) -> tuple[Rows, EventLinks]:
    event, place = index.arrays.event_keys.gather(event_rows)
    carried = index.arrays.event_keys.items[place]
    is_flag = index.rows["keys"]["value_bool"].is_valid().to_numpy()[carried]
    key_rows, key = np.unique(carried[~is_flag], return_inverse=True)
    return key_rows.astype(np.int32), EventLinks(event=event[~is_flag], key=key.astype(np.int32))


def _spans(events: pa.Table, chunk_start: Rows, chunk_length: Rows) -> Rows:
    """Spans in the chunk's text; -1 where the release has none or they reach beyond the chunk."""
    start, end = (
        events[name].fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) - chunk_start
        for name in ("start", "end")
    )
    known = (start >= 0) & (end > start) & (end <= chunk_length)
    return np.where(known[:, None], np.column_stack([start, end]), -1).astype(np.int32)


def _places(index: Index, documents: Rows, starts: Sequence[int], texts: Sequence[str]) -> Sequence[str]:
    """The place of each chunk; none at all where no document names places."""
    metadata = take_rows(index.rows["documents"].select(["metadata"]), documents)["metadata"].to_pylist()
    spans = ((given, start, start + len(text)) for given, start, text in zip(metadata, starts, texts, strict=True))
    found = [place_name(places_within(given, start, end), start, end) for given, start, end in spans]
    return found if any(found) else ()


def _sections(index: Index, section_ids: pa.ChunkedArray) -> Sequence[str]:
    sections = index.rows["sections"]
    titles = dict(zip(sections["section_id"].to_pylist(), sections["title"].to_pylist(), strict=True))
    return [titles.get(each) or "" for each in section_ids.to_pylist()]


def _keys(index: Index, rows: Rows) -> Keys:
    names = ["key_type", "value_string", "value_number", "unit"]
    table = take_rows(index.rows["keys"].select(["key_id", *names]), rows)
    return Keys(
        types=table["key_type"].to_pylist(),
        values=[_shown(*row) for row in zip(*(table[name].to_pylist() for name in names[1:]), strict=True)],
        is_text=table["value_string"].is_valid().to_numpy(),
        numbers=table["value_number"].to_pylist(),
        units=table["unit"].to_pylist(),
        ids=table["key_id"].to_pylist(),
        other_names=_other_names(index, table["key_id"], table["value_string"].to_pylist()),
    )


def _other_names(index: Index, ids: pa.ChunkedArray, values: Sequence[str | None]) -> Sequence[str]:
    """Of each key, the longest of its aliases in the other script, of equal ones the first; none at all without one."""
    aliases = index.rows["key_aliases"].select(["alias", "key_id"])
    owner = np.asarray(pc.fill_null(pc.index_in(aliases["key_id"], ids.combine_chunks()), -1))
    found = [""] * len(values)
    for alias, row in sorted(zip(aliases["alias"].to_pylist(), owner.tolist(), strict=True)):
        value = values[row] if row >= 0 else None
        if value and is_cjk(alias) != is_cjk(value) and len(alias) > len(found[row]):
            found[row] = alias
    return found if any(found) else ()


def _shown(text: str | None, number: float | None, unit: str | None) -> str:
    if text is not None:
        return text
    value = number or 0.0
    shown = f"{value:,.0f}" if value.is_integer() else f"{value:,g}"
    return f"{shown} {unit}" if unit and unit.isascii() else f"{shown}{unit or ''}"
