"""The tables that the pipeline keeps by document: one entry each, from which plan, store and publishing follow."""

from importlib import import_module
from typing import Final

from sag_pipeline.table import StoredTable
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Section, Summary, Triple
from sag_retrieval.release.schema import ADDED

_OURS: Final = (
    StoredTable(name="documents", record=Document, version=2),
    StoredTable(name="summaries", record=Summary, reads=("documents",), version=2, options=("summary",)),
    StoredTable(
        name="sections", record=Section, reads=("documents",), version=2, options=("section", "header.section_summary")
    ),
    StoredTable(
        name="chunks",
        record=Chunk,
        reads=("documents", "summaries", "sections"),
        version=2,
        options=("chunk", "header"),
    ),
    StoredTable(name="events", record=Event, reads=("documents", "summaries", "chunks"), version=2),
    StoredTable(
        name="keys",
        record=EventKey,
        reads=("documents", "summaries", "chunks", "events"),
        version=3,
        is_published=False,
    ),
    StoredTable(name="triples", record=Triple, reads=("documents", "chunks", "events", "keys"), version=2),
)

STORED: Final[dict[str, StoredTable]] = {
    table.name: table for table in (*_OURS, *(import_module(f"sag_pipeline.steps.{name}").TABLE for name in ADDED))
}
"""Every table that is kept by document, by name; one that a release adds is described by its step's module."""

RECORDS: Final = {name: table.record for name, table in STORED.items()}
"""The record of each."""
VERSIONS: Final = {name: table.version for name, table in STORED.items()}
"""The version of each one's step."""
INPUTS: Final = {name: table.reads for name, table in STORED.items()} | {"vectors": ("chunks", "events", "keys")}
"""What each step reads; vectors are kept by document too, though not as rows."""
