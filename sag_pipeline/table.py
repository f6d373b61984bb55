"""The description of a table that the pipeline keeps by document."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table kept by document: its rows and what they depend on.

    Its form in a release is defined in `sag_retrieval/release/schema.py`; a table of the same name there is published
    as stored, unless `publish/relational.py` builds it.
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
    is_published: bool = True
    """Whether the release depends on it directly, and not only on tables made from it."""
