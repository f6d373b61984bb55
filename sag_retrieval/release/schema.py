"""The tables of a release, one entry each.

Schemas, the order of rows, hashes, row numbers, what SQL may read, what is checked before publishing and
`docs/release-format.md` are derived from here. Rows are sorted by the `order` of their entry; a row's number
in that order is its position in every array of the release.
"""

from importlib import import_module
from typing import Final

import pyarrow as pa

from sag_retrieval.release.table import Table, columns

SCHEMA_VERSION = 6
"""Raised when a reader of the older form could misread the newer one."""

_STRING, _INT, _FLOAT, _BOOL = pa.string(), pa.int32(), pa.float64(), pa.bool_()

_OURS: Final = (
    Table(
        "documents",
        columns(
            document_id=(_STRING, "path below its source, or the id of its JSONL line"),
            source=(_STRING, "folder or file it came from, as given"),
            title=(_STRING, "its title: given, its first heading, or its file name"),
            language=(_STRING, "ISO 639-1 code of its language"),
            text=(_STRING, "whole text; all offsets count its characters"),
            summary=(_STRING, "short text about it; empty if none"),
            metadata=(
                _STRING,
                "JSON object given with it; `places`: first character and name of each page, slide, sheet",
            ),
            version=(_STRING, "hash of its content"),
            char_count=(_INT, "length of the text in characters"),
        ),
        order=("document_id",),
        is_numbered=True,
    ),
    Table(
        "sections",
        columns(
            section_id=(_STRING, "hash of document, title, text and, if repeated, its count"),
            document_id=(_STRING, "its document"),
            section_index=(_INT, "place in the document, from 0"),
            title=(_STRING, "its title; empty where it has none"),
            summary=(_STRING, "short text about it; empty if none"),
            start=(_INT, "first character in the document"),
            end=(_INT, "after its last character"),
        ),
        order=("document_id", "section_index"),
        is_numbered=True,
        refers={"document_id": "documents"},
    ),
    Table(
        "chunks",
        columns(
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
        order=("document_id", "chunk_index"),
        is_numbered=True,
        refers={"document_id": "documents"},
    ),
    Table(
        "events",
        columns(
            event_id=(_STRING, "hash of chunk, content and, if repeated, its count"),
            document_id=(_STRING, "its document"),
            chunk_id=(_STRING, "the chunk it was read from"),
            event_index=(_INT, "place in the chunk, from 0"),
            content=(_STRING, "one atomic statement"),
            title=(_STRING, "the document's title, embedded before the content"),
            start=(_INT, "or null: first character in the document"),
            end=(_INT, "or null: after its last character"),
            date=(_STRING, "or null: the earliest of its most exact date keys, else the date of its document, ISO"),
            date_source=(_STRING, "or null: `text`, or where an inherited date stands, as `said_source` tells"),
            said=(_STRING, "or null: when it was said, ISO: the date that its place in the document gives it"),
            said_source=(
                _STRING,
                "or null: metadata, mail header, letter head, heading, stamp, file name or effective day",
            ),
            holds_from=(_STRING, "or null: the day from which it says that it holds, ISO"),
            holds_to=(_STRING, "or null: the last day on which it says that it holds, ISO"),
        ),
        order=("document_id", "chunk_index", "event_index"),
        is_numbered=True,
        refers={"chunk_id": "chunks"},
    ),
    Table(
        "keys",
        columns(
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
        order=("key_id",),
        is_numbered=True,
    ),
    Table(
        "event_keys",
        columns(event_id=(_STRING, "an event"), key_id=(_STRING, "a key it carries")),
        order=("event_id", "key_id"),
        refers={"event_id": "events", "key_id": "keys"},
        is_stored=False,
    ),
    Table(
        "chunk_keys",
        columns(
            chunk_id=(_STRING, "a chunk"),
            key_id=(_STRING, "a key of one of its events, or its main key"),
            count=(_INT, "times the key's value stands in the chunk's text, at least 1"),
            is_main=(_BOOL, "whether the chunk is mainly about it"),
        ),
        order=("chunk_id", "key_id"),
        refers={"chunk_id": "chunks", "key_id": "keys"},
        is_stored=False,
    ),
    Table(
        "key_aliases",
        columns(
            alias=(_STRING, "another name of the key, as it stands in a document"),
            key_id=(_STRING, "the key it was aligned to"),
            reason=(_STRING, "why: same name, compact name, embedding, said by the model"),
            score=(_FLOAT, "how alike, 1 for equal names"),
        ),
        order=("key_id", "alias"),
        refers={"key_id": "keys"},
    ),
    Table(
        "triples",
        columns(
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
        order=("document_id", "triple_id"),
        refers={"event_id": "events"},
    ),
    Table(
        "tables",
        columns(
            document_id=(_STRING, "its document"),
            table_index=(_INT, "place of the table in the document, from 0"),
            row_index=(_INT, "row below the header, from 0"),
            column_index=(_INT, "column, from 0"),
            header=(_STRING, "name of the column; empty where it has none"),
            text=(_STRING, "what the cell says; empty cells have no row"),
            number=(_FLOAT, "or null: the number that the cell is, words such as million multiplied out"),
            unit=(_STRING, "or null: its unit or currency, from the cell or its header"),
            date=(_STRING, "or null: the day, month or year that the cell is, ISO"),
            start=(_INT, "first character of the table's row in the document"),
            end=(_INT, "after its last character"),
        ),
        order=("document_id", "table_index", "row_index", "column_index"),
        refers={"document_id": "documents"},
    ),
    Table(
        "revisions",
        columns(
            revision_id=(_STRING, "hash of both statements"),
            earlier_event_id=(_STRING, "the statement that was made first, or one of two that disagree"),
            later_event_id=(_STRING, "the statement that revises it"),
            earlier_document_id=(_STRING, "the document of the first"),
            later_document_id=(_STRING, "the document of the other"),
            earlier_chunk_id=(_STRING, "the chunk of the first"),
            later_chunk_id=(_STRING, "the chunk of the other"),
            subject=(_STRING, "what both are about: the names that they share; empty where they share none"),
            attribute=(_STRING, "the words that they share, without values"),
            earlier_value=(_STRING, "the value that the first states; empty for yes and no"),
            later_value=(_STRING, "the value that the other states"),
            kind=(_STRING, "corrects, replaces, updates, contradicts"),
            evidence=(_STRING, "why: words of correction, the version in a title, or both values"),
            confidence=(_FLOAT, "how alike they are, from 0 to 1"),
            earlier_said=(_STRING, "or null: when the first was said, ISO"),
            later_said=(_STRING, "or null: when the other was said, ISO"),
            decided=(_STRING, "`confirmed` by people (`sag changes confirm`), or empty; what they refused is left out"),
        ),
        order=("earlier_event_id", "later_event_id"),
    ),
    Table(
        "calls",
        columns(
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
        order=("document_id", "step", "call_id"),
        is_queryable=False,
        is_volatile=True,
    ),
)

ADDED: Final[tuple[str, ...]] = ()
"""Further tables by document, each the `TABLE` of a module `sag_retrieval/release/<name>.py`."""

REGISTRY: Final[dict[str, Table]] = {
    table.name: table for table in (*_OURS, *(import_module(f"sag_retrieval.release.{name}").TABLE for name in ADDED))
}

TABLES: Final = {name: table.schema for name, table in REGISTRY.items()}
"""Arrow schema of each; each column has its meaning."""
ORDER: Final = {name: table.order for name, table in REGISTRY.items()}
"""What rows are sorted by; events by the `chunk_index` of their chunk."""
VOLATILE: Final = frozenset(name for name, table in REGISTRY.items() if table.is_volatile)
OF_ALL: Final = ("calls", "revisions")
"""Tables of which the first layer has the rows of all."""
NUMBERED: Final = tuple(name for name, table in REGISTRY.items() if table.is_numbered)
"""Tables whose rows have numbers: the column `row` in SQL."""
ROW_FILES: Final = tuple(name for name, table in REGISTRY.items() if table.is_stored)
QUERYABLE: Final = frozenset(name for name, table in REGISTRY.items() if table.is_queryable)
DATABASE: Final = "release.duckdb"
"""File of a release with views of its tables, for DuckDB."""
LANCE: Final = "lance"
"""Folder of a release with Lance tables of its chunks, events, keys and communities."""
OPEN_TABLES: Final = "tables/"
"""Folder of a release with the rows of each layer as Parquet."""
VIEWS: Final = {
    "documents": "documents, as converted to text",
    "sections": "parts of documents below a heading",
    "summaries": "summaries of documents (`section_id` is null) and of sections, chosen or written when ingesting",
    "chunks": "passages, of documents cut between sentences",
    "events": "atomic statements, read from chunks",
    "keys": "typed names, numbers and dates, aligned over all documents, with counts of what carries them",
    "event_keys": "keys of events",
    "chunk_keys": "keys of chunks",
    "key_aliases": "other names of keys, from the alignment",
    "triples": "relations, read from events",
    "tables": "cells of the tables of documents, with the name of the column, number, unit and date",
    "revisions": "statements that later ones correct, replace, update or contradict, with both values",
    "calls": "what language models were asked, and what it cost",
    "communities": "groups of events by theme, made after publishing; empty before",
    "community_members": "events of communities, with how typical each is",
    "idf": "keys and how rare they are: ln(events / event_count), never negative",
    "event_key_weights": "keys of events, each with its idf",
    "tying_keys": "keys that tie events in reports: no titles, flags, years, months, nor what most events carry",
    "tie_statistics": "mean and deviation of the shared weight of tying keys over all pairs of events",
}
"""Views of that file and what they show."""
