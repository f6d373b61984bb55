"""The description of a table that the pipeline keeps by document, and what its step reads of one document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table kept by document: its rows and what they depend on.

    Its form in a release is defined in `sag_retrieval/release/schema.py`; a table of the same name there is published
    as stored, unless `publish/build.py` builds it.
    """

    name: str
    record: type[Any]
    """The dataclass of its rows; its fields are the columns."""
    reads: tuple[str, ...] = ()
    """Tables whose rows of the same document its step receives."""
    version: int = 1
    """Increased when a change of the step's code changes its rows."""
    options: tuple[str, ...] = ()
    """Parts of `IngestOptions` that its rows depend on, such as `header.section_summary`."""
    by_source: str = ""
    """Part of `IngestOptions` with a `digest_of(source)` that its rows depend on: what differs between sources."""
    rule: str = ""
    """Its rule as `module:function`, called with the `StepInput` of a document and the `IngestOptions`; a name, so that
    any process can find it. Returns the records. Empty: it is not made by a rule."""
    is_published: bool = True
    """Whether the release depends on it directly, and not only on tables made from it."""


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step reads of one document: the records of each table it names."""

    document_id: str
    tables: Mapping[str, Sequence[Any]]

    def one(self, table: str) -> Any:  # noqa: ANN401  the record of whichever table is named
        """The only record of a table with one record per document."""
        return self.tables[table][0]

    @property
    def is_supplied(self) -> bool:
        """Whether the document brought its events with it."""
        return self.one("documents").extraction is not None
