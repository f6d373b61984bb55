"""Links between rows from the tables of a release: the reference for those that publishing makes from columns."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import GraphParts, row_numbers
from sag_retrieval.release.mapped_arrays import group


def graph_parts(rows: Mapping[str, pa.Table]) -> GraphParts:
    """The links of a release's tables, by row number.

    Raises:
        ReleaseError: If a row names one that does not exist.
    """
    event_key = _pairs(rows, "event_keys", "events", "keys")
    chunk_key = _pairs(rows, "chunk_keys", "chunks", "keys")
    chunk_keys, order = group(*chunk_key.T, rows["chunks"].num_rows)
    return GraphParts(
        event_keys=group(*event_key.T, rows["events"].num_rows)[0],
        chunk_keys=chunk_keys,
        chunk_key_count=rows["chunk_keys"]["count"].to_numpy().astype(np.int32)[order],
        event_chunk=row_numbers(rows["events"]["chunk_id"], rows["chunks"]["chunk_id"]),
        chunk_document=row_numbers(rows["chunks"]["document_id"], rows["documents"]["document_id"]),
        chunk_main_key=row_numbers(rows["chunks"]["main_key_id"], rows["keys"]["key_id"]),
        key_idf=rows["keys"]["idf"].to_numpy().astype(np.float32),
        document_count=rows["documents"].num_rows,
    )


def _pairs(rows: Mapping[str, pa.Table], table: str, left: str, right: str) -> Rows:
    columns = [row_numbers(rows[table][f"{name[:-1]}_id"], rows[name][f"{name[:-1]}_id"]) for name in (left, right)]
    return np.stack(columns, axis=1)
