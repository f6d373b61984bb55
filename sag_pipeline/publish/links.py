"""The links of a release: keys as documents spell them, aligned over all documents, and who carries which."""

from collections.abc import Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.names import normal_names
from sag_pipeline.steps.entity_resolution import Aligned, KeyColumns, align_keys
from sag_pipeline.steps.idf import Smoothing, idf
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SourceError
from sag_retrieval.release.schema import TABLES

LINK_TABLES = ("event_keys", "carriers", "distinct_keys", "canonical", "key_aliases", "event_dates")
"""Kept whole: links as numbers of rows in `carriers` (ids of events; of chunks for their main keys) and in
`distinct_keys` (by id), the key each key was aligned to, the other names of each key, and the dates of events."""

_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           any_value(value_number) AS value_number, any_value(value_bool) AS value_bool, min(unit) AS unit,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY key_id ORDER BY key_id
"""
_SAID = """
    WITH said AS (SELECT key_id, same_as FROM raw_keys WHERE same_as IS NOT NULL AND value_string IS NOT NULL)
    SELECT key_id, same_as FROM said SEMI JOIN (
        SELECT key_id AS same_as FROM raw_keys WHERE value_string IS NOT NULL
    ) USING (same_as) ORDER BY 1, 2
"""
_DATES = """
    SELECT event_id, rtrim(min(value_string || '~'), '~') AS date  -- '~' sorts a whole day before its year
    FROM raw_keys WHERE key_type = 'date' AND value_string IS NOT NULL GROUP BY 1 ORDER BY 1
"""
_READ = ("event_id", "key_id", "key_type", "value_string", "value_number", "value_bool", "unit", "same_as")


def make_links(store: Store) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` from the current keys of all documents."""
    raw_keys = pa.concat_tables([rows.select(_READ) for rows in store.scan("keys", _READ)])
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    try:
        connection.register("raw_keys", raw_keys)
        distinct, dates = (connection.sql(query).to_arrow_table() for query in (_DISTINCT, _DATES))
        is_said = raw_keys["same_as"].null_count < raw_keys.num_rows
        said = connection.sql(_SAID).fetchall() if is_said else []
    finally:
        connection.close()
    distinct = distinct.append_column("name", normal_names(distinct["value_string"]))
    rows = align_keys(_text_keys(distinct), said=said).rows
    canonical = pa.table(
        {"key_id": [row.alias_key_id for row in rows], "canonical": [row.key_id for row in rows]},
        schema=pa.schema({"key_id": pa.string(), "canonical": pa.string()}),
    )
    carriers, pairs = _links(raw_keys, distinct["key_id"], canonical)
    return {
        "event_keys": pairs,
        "carriers": carriers,
        "distinct_keys": distinct.drop_columns("event_count"),
        "canonical": canonical,
        "key_aliases": _aliases(rows),
        "event_dates": dates,
    }


def places(wanted: pa.Array | pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Row of each wanted id among others; -1 for one that is not there."""
    whole = among.combine_chunks() if isinstance(among, pa.ChunkedArray) else among
    return np.asarray(pc.fill_null(pc.index_in(wanted, whole), -1)).astype(np.int64)


def _links(raw_keys: pa.Table, key_ids: pa.ChunkedArray, canonical: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The ids that carry keys, and each link once, as row numbers."""
    stands_for = np.arange(len(key_ids))
    stands_for[places(canonical["key_id"], key_ids)] = places(canonical["canonical"], key_ids)
    coded = raw_keys["event_id"].combine_chunks().dictionary_encode()
    pairs = np.asarray(coded.indices).astype(np.int64) * len(key_ids) + stands_for[places(raw_keys["key_id"], key_ids)]
    pairs.sort()
    carrier, key = np.divmod(pairs[np.flatnonzero(np.diff(pairs, prepend=-1))], max(1, len(key_ids)))
    links = pa.table({"carrier": carrier.astype(np.int32), "key": key.astype(np.int32)})
    return pa.table({"carrier_id": coded.dictionary}), links


def _text_keys(distinct: pa.Table) -> KeyColumns:
    text = distinct.filter(pc.is_valid(distinct["value_string"]))
    return KeyColumns(*(text[c].to_pylist() for c in ("key_id", "key_type", "value_string", "name", "event_count")))


def _aliases(rows: Sequence[Aligned]) -> pa.Table:
    schema = TABLES["key_aliases"].remove_metadata()
    unique = {(row.key_id, row.alias): row for row in rows}
    columns = {
        "alias": [row.alias for row in unique.values()],
        "key_id": [row.key_id for row in unique.values()],
        "reason": [row.reason for row in unique.values()],
        "score": [float(row.score) for row in unique.values()],
    }
    return pa.table(columns, schema=pa.schema([f.remove_metadata() for f in schema])).sort_by(
        [("key_id", "ascending"), ("alias", "ascending")]
    )


def whole_table(store: Store, name: str) -> pa.Table:
    """A table that is kept whole.

    Raises:
        SourceError: If it is not made yet.

    """
    rows = store.whole(name)
    if rows is None:
        raise SourceError(f"the table {name!r} is not made yet; make it with `sag ingest`")
    return rows


def weigh_keys(store: Store, total_events: int, smoothing: Smoothing = "none") -> pa.Table:
    """How many events carry each key, and its idf; keys without events are left out."""
    links = {name: whole_table(store, name) for name in ("carriers", "event_keys", "distinct_keys")}
    is_event = pc.starts_with(links["carriers"]["carrier_id"], "e").to_numpy()
    carrier, key = (links["event_keys"][name].to_numpy() for name in ("carrier", "key"))
    counts = np.bincount(key[is_event[carrier]], minlength=links["distinct_keys"].num_rows)
    rows = np.flatnonzero(counts)
    distinct, back = np.unique(counts[rows], return_inverse=True)
    values = np.array([idf(count, total_events, smoothing=smoothing) for count in distinct.tolist()], np.float64)
    return pa.table(
        {
            "key_id": links["distinct_keys"]["key_id"].take(pa.array(rows)),
            "event_count": counts[rows].astype(np.int32),
            "idf": values[back],
        }
    )
