"""What the tables hold: one Arrow schema a table, each column with its meaning.

`TABLES` are the relational tables of a release (DuckDB, and Arrow rows for the hot path). Rows are ordered as
`ORDER` says; a row's number in that order is its position in every array of the release.
`docs/release-format.md` is written from this file.
"""

import pyarrow as pa

SCHEMA_VERSION = 2
"""Raised when a reader of the older form could misread the newer one."""

_STRING, _INT, _FLOAT, _BOOL = pa.string(), pa.int32(), pa.float64(), pa.bool_()


def _table(**columns: tuple[pa.DataType, str]) -> pa.Schema:
    fields = []
    for name, (kind, meaning) in columns.items():
        optional = meaning.startswith("or null: ")
        fields.append(pa.field(name, kind, nullable=optional, metadata={"meaning": meaning.removeprefix("or null: ")}))
    return pa.schema(fields)


TABLES: dict[str, pa.Schema] = {
    "documents": _table(
        document_id=(_STRING, "path below its source, or the id of its JSONL line"),
        source=(_STRING, "folder or file it came from, as given"),
        title=(_STRING, "its title: given, its first heading, or its file name"),
        language=(_STRING, "`zh` or `en`"),
        text=(_STRING, "whole text; all offsets count its characters"),
        summary=(_STRING, "short text about it; empty if none"),
        metadata=(_STRING, "JSON object given with it"),
        version=(_STRING, "hash of its content"),
        char_count=(_INT, "length of the text in characters"),
    ),
    "sections": _table(
        section_id=(_STRING, "hash of document, title, text and, if repeated, its count"),
        document_id=(_STRING, "its document"),
        section_index=(_INT, "place in the document, from 0"),
        title=(_STRING, "its title; empty where it has none"),
        summary=(_STRING, "short text about it; empty if none"),
        start=(_INT, "first character in the document"),
        end=(_INT, "after its last character"),
    ),
    "chunks": _table(
        chunk_id=(_STRING, "hash of document, text and, for repeated text, its count"),
        document_id=(_STRING, "its document"),
        section_id=(_STRING, "its section"),
        chunk_index=(_INT, "place in the document, from 0"),
        start=(_INT, "first character in the document"),
        end=(_INT, "after its last character"),
        text=(_STRING, "`document.text[start:end]`"),
        header=(_STRING, "lines put before the text for embedding and full text only"),
        heading=(_STRING, "nearest heading above it; empty where there is none"),
        main_key_id=(_STRING, "or null: the key it is mainly about"),
    ),
    "events": _table(
        event_id=(_STRING, "hash of chunk, content and, if repeated, its count"),
        document_id=(_STRING, "its document"),
        chunk_id=(_STRING, "the chunk it was read from"),
        event_index=(_INT, "place in the chunk, from 0"),
        content=(_STRING, "one atomic statement"),
        title=(_STRING, "the document's title, embedded before the content"),
        start=(_INT, "or null: first character in the document"),
        end=(_INT, "or null: after its last character"),
        date=(_STRING, "or null: earliest of its date keys, ISO: a day, a month or a year"),
    ),
    "keys": _table(
        key_id=(_STRING, "hash of type and value"),
        key_type=(_STRING, "its dimension: person, organisation, place, date, …"),
        value_string=(_STRING, "or null: its text"),
        value_number=(_FLOAT, "or null: its number"),
        value_bool=(_BOOL, "or null: its flag"),
        unit=(_STRING, "or null: unit of its number"),
        name=(_STRING, "value folded for comparing; empty for numbers and flags"),
        event_count=(_INT, "events that carry it"),
        chunk_count=(_INT, "chunks that carry it"),
        document_count=(_INT, "documents that carry it"),
        idf=(_FLOAT, "ln(events / event_count), never negative"),
    ),
    "event_keys": _table(
        event_id=(_STRING, "an event"),
        key_id=(_STRING, "a key it carries"),
    ),
    "chunk_keys": _table(
        chunk_id=(_STRING, "a chunk"),
        key_id=(_STRING, "a key of one of its events, or its main key"),
        count=(_INT, "times the key's value stands in the chunk's text, at least 1"),
        is_main=(_BOOL, "whether the chunk is mainly about it"),
    ),
    "key_aliases": _table(
        alias=(_STRING, "another name of the key, as it stands in a document"),
        key_id=(_STRING, "the key it was aligned to"),
        reason=(_STRING, "why: same name, compact name, embedding, said by the model"),
        score=(_FLOAT, "how alike, 1 for equal names"),
    ),
    "triples": _table(
        triple_id=(_STRING, "hash of event, head, relation and tail"),
        document_id=(_STRING, "its document"),
        chunk_id=(_STRING, "its chunk"),
        event_id=(_STRING, "the event that says it"),
        head=(_STRING, "name of the head"),
        head_key_id=(_STRING, "text key of the head"),
        relation=(_STRING, "lower snake case, or Chinese"),
        tail=(_STRING, "name of the tail"),
        tail_key_id=(_STRING, "text key of the tail"),
        properties=(_STRING, "JSON object"),
    ),
    "calls": _table(
        call_id=(_STRING, "hash of model, prompt and input"),
        document_id=(_STRING, "the document it was made for, since removed or not; empty for none"),
        step=(_STRING, "the step that made it"),
        model=(_STRING, "the model asked"),
        input_tokens=(_INT, "tokens sent, as the server counted"),
        output_tokens=(_INT, "tokens received"),
        seconds=(_FLOAT, "wall time of the call"),
        is_cached=(_BOOL, "answered from the cache, at no cost"),
        cost=(_FLOAT, "or null: money, where prices are set"),
    ),
}

ORDER: dict[str, tuple[str, ...]] = {
    "documents": ("document_id",),
    "sections": ("document_id", "section_index"),
    "chunks": ("document_id", "chunk_index"),
    "events": ("document_id", "chunk_index", "event_index"),  # chunk_index of the event's chunk
    "keys": ("key_id",),
    "event_keys": ("event_id", "key_id"),
    "chunk_keys": ("chunk_id", "key_id"),
    "key_aliases": ("key_id", "alias"),
    "triples": ("document_id", "triple_id"),
    "calls": ("document_id", "step", "call_id"),
}

VOLATILE = frozenset({"calls"})
"""Tables with measured seconds: left out of a release's content hash."""
