"""The description of one table that the pipeline keeps by document."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTable:
    """A table by document: what its rows are and what they depend on.

    What a release has of it stands in `sag_retrieval/release/schema.py`; a table of the same name there is published
    as it is stored, unless `publish/relational.py` makes it.
    """

    name: str
    record: type[Any]
    """The dataclass of its rows; its fields are the columns."""
    reads: tuple[str, ...] = ()
    """Tables that its step is given, of the same document."""
    version: int = 1
    """Raised when the step's code changes what it makes."""
    options: tuple[str, ...] = ()
    """Parts of `IngestOptions` that its rows depend on, such as `header.section_summary`."""
    is_published: bool = True
    """Whether publishing waits for it itself, and not for what is made of it."""
