"""An opened release as search sees it: rows, arrays and the embedder, held in memory maps."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

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
