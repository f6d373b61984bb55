"""Links of a release: keys resolved over all documents, which events and chunks carry them, all as row numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.steps.entity_resolution import Aligned, KeyColumns, align_keys
from sag_pipeline.steps.keys import Smoothing, idf
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.csr import CsrLists, join
from sag_retrieval.release.schema import TABLES
from sag_retrieval.text.words import normal_name

_PLAIN = r"^(?:[0-9A-Za-z]+(?: [0-9A-Za-z]+)*|[\x{4e00}-\x{9fff}]+)$"
"""ASCII letters and digits with single spaces between, or Chinese characters alone: folding lowers the case."""


def normal_names(values: pa.ChunkedArray) -> pa.Array:
    """`normal_name` of each value, empty for null; only values that are not plain are processed one by one."""
    whole = pc.fill_null(values, "").combine_chunks()
    is_odd = pc.and_(pc.invert(pc.match_substring_regex(whole, _PLAIN)), pc.not_equal(whole, ""))
    odd = whole.filter(is_odd)
    distinct = odd.dictionary_encode()
    named = pa.array([normal_name(value) for value in distinct.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(pc.ascii_lower(whole), is_odd, named.take(distinct.indices))


LINK_TABLES = ("event_keys", "carriers", "distinct_keys", "canonical", "key_aliases", "event_dates")
"""Tables kept whole: links as row numbers in `carriers` (ids of events, of chunks for main keys) and `distinct_keys`,
the key that each key was resolved to, the aliases of each key, and the dates of events."""

_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           any_value(value_number) AS value_number, any_value(value_bool) AS value_bool, min(unit) AS unit,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY key_id ORDER BY key_id
"""
_SAID = """
    WITH stated AS (SELECT key_id, same_as FROM raw_keys WHERE same_as IS NOT NULL AND value_string IS NOT NULL)
    SELECT key_id, same_as FROM stated SEMI JOIN (
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
    """Row of each wanted id among others; -1 for an unknown one."""
    return np.asarray(pc.fill_null(pc.index_in(wanted, among), -1)).astype(np.int64)


def _links(raw_keys: pa.Table, key_ids: pa.ChunkedArray, canonical: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The ids that carry keys, and each link once as row numbers."""
    stands_for = np.arange(len(key_ids))
    stands_for[places(canonical["key_id"], key_ids)] = places(canonical["canonical"], key_ids)
    carriers, codes = coded(raw_keys["event_id"])
    pairs = codes.astype(np.int64) * len(key_ids) + stands_for[places(raw_keys["key_id"], key_ids)]
    pairs.sort()
    carrier, key = np.divmod(pairs[np.flatnonzero(np.diff(pairs, prepend=-1))], max(1, len(key_ids)))
    links = pa.table({"carrier": carrier.astype(np.int32), "key": key.astype(np.int32)})
    return pa.table({"carrier_id": carriers}), links


def coded(values: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Distinct values by first occurrence, and the number of each: chunk by chunk, as joined ones may exceed 2 GiB."""
    chunks = values.dictionary_encode().chunks  # all with the same dictionary
    distinct = chunks[-1].dictionary if chunks else pa.array([], values.type)
    return distinct, join((chunk.indices.to_numpy() for chunk in chunks), np.int32)


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
        SourceError: If it does not exist yet.

    """
    rows = store.whole(name)
    if rows is None:
        raise SourceError(f"the table {name!r} does not exist yet; make it with `sag ingest`")
    return rows


def weigh_keys(store: Store, total_events: int, smoothing: Smoothing = "none") -> pa.Table:
    """The number of events that carry each key, and its idf; keys without events are left out."""
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


@dataclass(frozen=True, slots=True, eq=False)
class KeyOwners:
    """The links of a release; pairs are of shape (links, 2), sorted, each once."""

    chosen: Rows64
    """Rows of the distinct keys that are in the release, ascending; a key's row in the release is its position here."""
    event_key: Rows64
    chunk_key: Rows64
    """Keys of a chunk's events, and its main key."""
    main: Rows64
    """The main key of each chunk; -1 for none."""


def key_rows(
    links: Mapping[str, pa.Table], chunk_ids: pa.ChunkedArray, event_ids: pa.ChunkedArray, event_chunk: Rows64
) -> KeyOwners:
    """The links of events and chunks that exist with their keys."""
    count = max(1, links["distinct_keys"].num_rows)
    carrier, key = (links["event_keys"][name].to_numpy().astype(np.int64) for name in ("carrier", "key"))
    ids = links["carriers"]["carrier_id"]
    event, chunk = (places(ids, among)[carrier] for among in (event_ids, chunk_ids))
    event_pairs = np.sort((event * count + key)[event >= 0])
    main_chunk, main_key = np.divmod(np.sort((chunk * count + key)[chunk >= 0]), count)
    main = np.full(len(chunk_ids), -1, np.int64)
    main[main_chunk[::-1]] = main_key[::-1]  # the first by id stays
    has_main = np.flatnonzero(main >= 0)
    event, key = np.divmod(event_pairs, count)
    chunk_pairs = np.concatenate([event_chunk[event] * count + key, has_main * count + main[has_main]])
    chunk_pairs.sort()
    chunk, chunk_key = np.divmod(chunk_pairs[np.flatnonzero(np.diff(chunk_pairs, prepend=-1))], count)
    chosen = np.flatnonzero(np.bincount(chunk_key, minlength=count))
    row = np.full(count + 1, -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    return KeyOwners(chosen, np.stack([event, row[key]], axis=1), np.stack([chunk, row[chunk_key]], axis=1), row[main])


def key_table(links: Mapping[str, pa.Table], keyed: KeyOwners, chunk_document: Rows64, event_count: int) -> pa.Table:
    """The table `keys`, with the number of events, chunks and documents that carry each."""
    keys = links["distinct_keys"].take(pa.array(keyed.chosen))
    counted = links["idf"].take(pc.index_in(keys["key_id"], links["idf"]["key_id"]))
    chunk, key = keyed.chunk_key.T
    documents = np.unique(chunk_document[chunk] * max(1, len(keys)) + key) % max(1, len(keys))
    columns = {
        "event_count": pc.fill_null(counted["event_count"], 0),
        "chunk_count": pa.array(np.bincount(key, minlength=len(keys)).astype(np.int32)),
        "document_count": pa.array(np.bincount(documents, minlength=len(keys)).astype(np.int32)),
        "idf": pc.fill_null(counted["idf"], math.log(max(event_count, 1))),
    }
    for name, column in columns.items():
        keys = keys.append_column(name, column)
    return keys


def by_id(pairs: Rows64, ids: pa.ChunkedArray) -> Rows64:
    """The order that sorts pairs, which are sorted by row, by the id of their first row."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=len(ids)))])
    return CsrLists(starts, pairs[:, 1].astype(np.int32)).gather(np.asarray(pc.sort_indices(ids)))[1]
