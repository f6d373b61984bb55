"""What a search reads of a release: its rows and arrays, and which of them may be found."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sag_retrieval.core.types import Flags
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import Arrays


@dataclass(frozen=True, slots=True)
class Index:
    """Everything a ranking reads; safe to share between threads, nothing in it changes.

    `rows[table]` is the table of `release/schema.py`, in its order, memory-mapped; `arrays` are the graph, the
    postings and the vectors by row number; `embedder` embeds queries as the release's texts were embedded.
    """

    rows: Mapping[str, pa.Table]
    arrays: Arrays
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a restriction leaves to be found: one flag a row, for the tables that are searched."""

    chunks: Flags
    events: Flags
    keys: Flags
