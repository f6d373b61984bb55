"""Tables that follow from arrays: links as ids, and the row numbers that SQL reads beside the columns."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.types import Rows, Rows64
from sag_retrieval.release.arrays import Arrays
from sag_retrieval.release.csr import CsrLists, arrow_numbers, transposed
from sag_retrieval.release.key_weights import Smoothing, idf_of
from sag_retrieval.release.schema import NUMBERED, TABLES


def event_key_rows(arrays: Arrays, event_ids: pa.ChunkedArray, key_ids: pa.ChunkedArray) -> pa.Table:
    """The table `event_keys`."""
    owners, places = _by_id(arrays.event_keys, event_ids)
    columns = [_taken(event_ids, owners), _taken(key_ids, arrays.event_keys.items[places])]
    return pa.table(columns, schema=_schema("event_keys"))


def chunk_key_rows(arrays: Arrays, chunk_ids: pa.ChunkedArray, key_ids: pa.ChunkedArray) -> pa.Table:
    """The table `chunk_keys`."""
    lists, counts = transposed(arrays.key_chunks, len(arrays.chunk_document), arrays.key_chunk_count)
    owners, places = _by_id(lists, chunk_ids)
    keys = lists.items[places]
    is_main = arrays.chunk_main_key[owners] == keys
    columns = [_taken(chunk_ids, owners), _taken(key_ids, keys), arrow_numbers(counts[places]), pa.array(is_main)]
    return pa.table(columns, schema=_schema("chunk_keys"))


def counted_keys(keys: pa.Table, graph: Mapping[str, Any], smoothing: Smoothing) -> pa.Table:
    """The table `keys` with the counts and the idf that follow from the arrays, given by their names in `Arrays`."""
    events = graph["key_events"].sizes()
    columns: dict[str, npt.NDArray[Any]] = {
        "event_count": events.astype(np.int32),
        "chunk_count": graph["key_chunks"].sizes().astype(np.int32),
        "document_count": graph["key_document_count"],
        "idf": idf_of(events, len(graph["event_chunk"]), smoothing),
    }
    for name, values in columns.items():
        keys = keys.set_column(keys.column_names.index(name), keys.schema.field(name), arrow_numbers(values))
    return keys


def _by_id(lists: CsrLists, ids: pa.ChunkedArray) -> tuple[Rows, Rows64]:
    """The owner and the place of each item, in the order of the owners' ids."""
    order = np.asarray(pc.sort_indices(ids)).astype(np.int64)
    owner, places = lists.gather(order)
    return order[owner].astype(np.int32), places


def places_of(wanted: pa.ChunkedArray, among: pa.ChunkedArray) -> Rows64:
    """Row of each wanted id among others; -1 for an unknown one."""
    found = pc.index_in(wanted, value_set=among.combine_chunks())
    return np.asarray(pc.fill_null(found, -1)).astype(np.int64)


def _taken(ids: pa.ChunkedArray, rows: Rows) -> pa.Array:
    return (ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids).take(arrow_numbers(rows))


def _schema(name: str) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in TABLES[name]])


class NumberedRows(Mapping[str, pa.Table]):
    """Tables as SQL reads them: with `row`, of events also `chunk_row`, of these and chunks `document_row`."""

    def __init__(self, rows: Mapping[str, pa.Table], arrays: Arrays) -> None:
        """Hold tables, of which none is opened yet, and the arrays that say which rows belong together."""
        self._rows, self._arrays = rows, arrays

    def __getitem__(self, name: str) -> pa.Table:
        """The table with its numbers."""
        rows = self._rows[name]
        if name not in NUMBERED:
            return rows
        numbers = {"row": np.arange(len(rows), dtype=np.int32)} | self._owners(name)
        columns = {number: arrow_numbers(values) for number, values in numbers.items()}
        return pa.table(columns | {column: rows[column] for column in rows.column_names})

    def _owners(self, name: str) -> dict[str, Rows]:
        arrays = self._arrays
        if name == "chunks":
            return {"document_row": arrays.chunk_document}
        if name == "events":
            return {"chunk_row": arrays.event_chunk, "document_row": arrays.chunk_document[arrays.event_chunk]}
        return {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
