"""How often documents carry which spelling of which key; only documents that changed are counted again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.stored_rows import connection
from sag_pipeline.store.store import Store
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.mapped_arrays import arrow_numbers

SPELLING: Final = ("key_id", "key_type", "value_string", "value_number", "value_bool", "unit", "same_as")
_READ: Final = ("event_id", *SPELLING)
COUNT_TABLES: Final = ("counted_documents", "spellings", "carried_spellings")
"""Tables kept whole: documents with the hash of their keys, spellings of keys, and which document carries which."""
_NAMES: Final = ", ".join(SPELLING)
_COUNTS: Final = f"""
    SELECT document_id, {_NAMES}, count(*)::INTEGER AS row_count,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY ALL
"""
_MORE: Final = f"SELECT {_NAMES} FROM counts EXCEPT SELECT {_NAMES} FROM spellings ORDER BY ALL"
_NUMBERED: Final = f"""
    SELECT d.number::INTEGER AS document, s.number::INTEGER AS spelling, c.row_count, c.event_count
    FROM counts c JOIN documents d USING (document_id)
    JOIN spellings s ON {" AND ".join(f"c.{name} IS NOT DISTINCT FROM s.{name}" for name in SPELLING)}
    ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """Documents with the hash of their keys, spellings, and what carries which, by row numbers."""

    documents: pa.Table
    spellings: pa.Table
    """Each value of a key with its type, unit and other key, once."""
    carried: pa.Table
    """`document` and `spelling` by row, the rows of the table `keys` that say so, and how many of these are events'."""
    changed: pa.Array | None = None
    """Ids of the keys whose spellings or counts changed since they were stored, and of those that such a spelling says
    are the same; None: nothing was stored."""

    def counted(self, name: str) -> Rows64:
        """The sum of a column of `carried` by spelling."""
        spelling, count = (_numbers(self.carried, each) for each in ("spelling", name))
        return np.bincount(spelling, count, len(self.spellings)).astype(np.int64)

    def tables(self) -> dict[str, pa.Table]:
        """The tables of `COUNT_TABLES`."""
        return dict(zip(COUNT_TABLES, (self.documents, self.spellings, self.carried), strict=True))


def count_keys(store: Store) -> KeyCounts:
    """The counts of all current documents: those that are stored, with documents that changed counted again."""
    units = store.ledger.select(
        "SELECT unit, output_hash FROM by_document WHERE step = 'keys' AND part <> '' AND status <> 'failed' ORDER BY 1"
    )
    ids, hashes = zip(*units, strict=True) if units else ((), ())
    documents = pa.table({"document_id": pa.array(ids, pa.string()), "output_hash": pa.array(hashes, pa.string())})
    before = _stored(store)
    place = _places(before, documents)
    is_fresh = np.ones(len(documents), np.bool_)
    is_fresh[place[place >= 0]] = False
    fresh = None if is_fresh.all() else documents["document_id"].filter(pa.array(is_fresh)).to_pylist()
    raw = _raw(store, fresh)
    with connection(store, None if fresh is None else len(fresh)) as database:
        made = _counted(database, raw, documents, before)
    return made if before is None else _with_kept(made, before, place)


def _stored(store: Store) -> KeyCounts | None:
    """What was counted last; None if nothing was."""
    found = [store.whole(name) for name in COUNT_TABLES]
    tables = [rows for rows in found if rows is not None]
    return KeyCounts(*tables) if len(tables) == len(COUNT_TABLES) else None


def _places(before: KeyCounts | None, documents: pa.Table) -> Rows64:
    """The row of each document that was counted; -1 for one that is gone or has changed."""
    if before is None:
        return np.zeros(0, np.int64)
    found = pc.fill_null(pc.index_in(before.documents["document_id"], documents["document_id"].combine_chunks()), -1)
    place = np.asarray(found).astype(np.int64)
    known = np.flatnonzero(place >= 0)
    is_same = pc.equal(
        before.documents["output_hash"].take(arrow_numbers(known)),
        documents["output_hash"].take(arrow_numbers(place[known])),
    )
    place[known[~np.asarray(is_same)]] = -1
    return place


def _counted(
    connection: duckdb.DuckDBPyConnection, raw_keys: pa.Table, documents: pa.Table, before: KeyCounts | None
) -> KeyCounts:
    """The counts of some rows; spellings are numbered after those that are known, of which few are compared."""
    connection.register("raw_keys", raw_keys)
    counts = connection.sql(_COUNTS).to_arrow_table()
    known = before.spellings if before else counts.select(SPELLING).slice(0, 0)
    rows = np.flatnonzero(np.asarray(pc.is_in(known["key_id"], counts["key_id"].combine_chunks())))
    near = known.take(pa.array(rows)).combine_chunks()
    connection.register("counts", counts)
    connection.register("spellings", near)
    more = connection.sql(_MORE).to_arrow_table().cast(known.schema)
    numbers = np.concatenate([rows, len(known) + np.arange(len(more))])
    connection.register("spellings", pa.concat_tables([near, more]).append_column("number", arrow_numbers(numbers)))
    connection.register("documents", _with_number(documents.select(["document_id"])))
    return KeyCounts(documents, pa.concat_tables([known, more]), connection.sql(_NUMBERED).to_arrow_table())


def _with_kept(made: KeyCounts, before: KeyCounts, place: Rows64) -> KeyCounts:
    """The same with the counts of documents that did not change, and without spellings that are gone."""
    document = place[_numbers(before.carried, "document")]
    kept = before.carried.set_column(0, "document", arrow_numbers(document.astype(np.int32)))
    carried = pa.concat_tables([kept.filter(pa.array(document >= 0)), made.carried.cast(kept.schema)])
    other = [_numbers(before.carried, "spelling")[document < 0], _numbers(made.carried, "spelling")]
    touched = made.spellings.take(arrow_numbers(np.unique(np.concatenate(other))))
    changed = pa.chunked_array([*touched["key_id"].chunks, *touched["same_as"].drop_null().chunks], pa.string())
    spelling = _numbers(carried, "spelling")
    used = np.bincount(spelling, minlength=len(made.spellings)) > 0
    if used.all():
        return KeyCounts(made.documents, made.spellings, carried, changed.unique())
    number = (np.cumsum(used) - 1)[spelling].astype(np.int32)
    carried = carried.set_column(1, "spelling", arrow_numbers(number))
    return KeyCounts(made.documents, made.spellings.filter(pa.array(used)), carried, changed.unique())


def _raw(store: Store, documents: Sequence[str] | None) -> pa.Table:
    """Rows of the table `keys` of some documents; None: of all."""
    columns = ["document_id", *_READ]
    if documents is None:
        return pa.concat_tables([rows.select(columns) for rows in store.scan("keys", _READ)])
    return store.rows("keys", documents).select(columns)


def _with_number(rows: pa.Table) -> pa.Table:
    return rows.append_column("number", arrow_numbers(np.arange(len(rows))))


def _numbers(rows: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(rows[name].combine_chunks()).astype(np.int64)
