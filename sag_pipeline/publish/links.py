"""Links of a release: keys resolved over all documents, and which events and chunks carry them, as row numbers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.key_counts import count_keys
from sag_pipeline.steps.entity_resolution import Aligned, Alignment, KeyColumns, align_keys
from sag_pipeline.steps.name_decisions import NameDecisions
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.csr import arrow_numbers, join
from sag_retrieval.release.key_weights import Smoothing, idf_of
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


DECIDED_BY = "|"
"""In the input hash of these tables, before what else than keys they were made from."""
LINK_TABLES = ("distinct_keys", "canonical", "key_aliases")
"""Tables kept whole: every key once, the key that each aligned one stands for, and the aliases of each key."""

_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           any_value(value_number) AS value_number, any_value(value_bool) AS value_bool, min(unit) AS unit,
           sum(event_count)::INTEGER AS event_count
    FROM spellings GROUP BY key_id ORDER BY key_id
"""
_SAID = """
    WITH stated AS (
        SELECT key_id, same_as, row_count FROM spellings WHERE same_as IS NOT NULL AND value_string IS NOT NULL
    )
    SELECT key_id, same_as, sum(row_count)::BIGINT FROM stated SEMI JOIN (
        SELECT key_id AS same_as FROM spellings WHERE value_string IS NOT NULL
    ) USING (same_as) GROUP BY 1, 2 ORDER BY 1, 2
"""


class Confirm(Protocol):
    """Asks about keys that are close and not aligned yet."""

    def __call__(self, keys: KeyColumns, alignment: Alignment) -> Collection[tuple[str, str]]:
        """Pairs of ids that are one thing."""
        ...


def make_links(
    store: Store, decisions: NameDecisions | None = None, confirm: Confirm | None = None
) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` and those that count keys, from all current keys, decisions and answers."""
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    try:
        counts = count_keys(store, connection)
        spellings = counts.spellings
        for name in ("row_count", "event_count"):
            spellings = spellings.append_column(name, arrow_numbers(counts.counted(name)))
        connection.register("spellings", spellings)
        distinct = connection.sql(_DISTINCT).to_arrow_table()
        is_said = spellings["same_as"].null_count < len(spellings)
        stated = connection.sql(_SAID).fetchall() if is_said else []
    finally:
        connection.close()
    said = [(alias, key) for alias, key, count in stated for _ in range(count)]  # one for each statement
    distinct = distinct.append_column("name", normal_names(distinct["value_string"]))
    keys, decisions = text_keys(distinct), decisions or NameDecisions()
    alignment = align_keys(keys, said=said, decisions=decisions)
    if confirm and (answered := confirm(keys, alignment)):
        alignment = align_keys(keys, said=said, answered=answered, decisions=decisions)
    rows = alignment.rows
    canonical = pa.table(
        {"key_id": [row.alias_key_id for row in rows], "canonical": [row.key_id for row in rows]},
        schema=pa.schema({"key_id": pa.string(), "canonical": pa.string()}),
    )
    return {
        "distinct_keys": distinct,
        "canonical": canonical,
        "key_aliases": _aliases(rows),
    } | counts.tables()


def places(wanted: pa.Array | pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Row of each wanted id among others; -1 for an unknown one."""
    return np.asarray(pc.fill_null(pc.index_in(wanted, among), -1)).astype(np.int64)


def coded(values: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Distinct values by first occurrence, and the number of each: chunk by chunk, as joined ones may exceed 2 GiB."""
    chunks = values.dictionary_encode().chunks  # all with the same dictionary
    distinct = chunks[-1].dictionary if chunks else pa.array([], values.type)
    return distinct, join((chunk.indices.to_numpy() for chunk in chunks), np.int32)


def text_keys(distinct: pa.Table) -> KeyColumns:
    """The text keys of the table `distinct_keys`."""
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


def weighing(store: Store, smoothing: Smoothing) -> pa.Table:
    """The table `idf`: what a key weighs by the number of events that carry it; the row of 0 events is last."""
    total, carried = store.ledger.row_count("events"), whole_table(store, "distinct_keys")["event_count"]
    counts = np.append(np.unique(np.minimum(np.asarray(carried), total))[::-1], 0)
    columns = {"smoothing": [smoothing] * len(counts), "event_count": counts, "idf": idf_of(counts, total, smoothing)}
    return pa.table(columns)


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """What keys stand for, over all documents."""

    distinct: pa.Table
    canonical: pa.Table
    aliases: pa.Table
    smoothing: Smoothing
    stands_for: Rows64
    """Row of the canonical key of each distinct key."""
    is_decided: bool = False
    """Whether anything but the keys decided what stands for what: people, or a model."""

    @property
    def digest(self) -> str:
        """A hash of what stands for what."""
        columns = (self.canonical[name].to_pylist() for name in ("key_id", "canonical"))
        pairs = sorted(zip(*columns, strict=True))
        return blake2b(repr(pairs).encode(), digest_size=12).hexdigest()

    @classmethod
    def read(cls, store: Store) -> "Resolution":
        """What the assets `event_keys` and `idf` stored.

        Raises:
            SourceError: If they stored nothing yet.

        """
        distinct, canonical, aliases, weights = (whole_table(store, name) for name in (*LINK_TABLES, "idf"))
        stands_for = np.arange(len(distinct))
        aliased, meant = (places(canonical[name], distinct["key_id"]) for name in ("key_id", "canonical"))
        stands_for[aliased] = meant
        made = store.ledger.whole("canonical")
        return cls(
            distinct.drop_columns(["event_count"]),
            canonical,
            aliases,
            weights["smoothing"][0].as_py(),
            stands_for,
            is_decided=made is not None and DECIDED_BY in made.input_hash,
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
    raw_keys: pa.Table,
    resolution: Resolution,
    owners: tuple[pa.ChunkedArray, pa.ChunkedArray],
    event_chunk: Rows64,
    described: Rows64,
) -> KeyOwners:
    """The links of chunks and events (`owners`: their ids) that exist with their keys.

    Args:
        raw_keys: Which event or chunk carries which key, in the columns `event_id` and `key_id`.
        resolution: What keys stand for.
        owners: Ids of chunks and of events.
        event_chunk: The chunk of each event.
        described: Rows of distinct keys that are kept even where nothing carries them.

    """
    count = max(1, len(resolution.distinct))
    carriers, codes = coded(raw_keys["event_id"])
    key = resolution.stands_for[places(raw_keys["key_id"], resolution.distinct["key_id"])]
    chunk, event = (places(carriers, ids)[codes] for ids in owners)
    event_pairs = _distinct((event * count + key)[event >= 0])
    main_chunk, main_key = np.divmod(_distinct((chunk * count + key)[chunk >= 0]), count)
    main = np.full(len(owners[0]), -1, np.int64)
    main[main_chunk[::-1]] = main_key[::-1]  # the first by id stays
    has_main = np.flatnonzero(main >= 0)
    event, key = np.divmod(event_pairs, count)
    chunk_pairs = _distinct(np.concatenate([event_chunk[event] * count + key, has_main * count + main[has_main]]))
    chunk, chunk_key = np.divmod(chunk_pairs, count)
    is_chosen = np.bincount(chunk_key, minlength=count) > 0
    is_chosen[described] = True
    chosen = np.flatnonzero(is_chosen)
    row = np.full(count + 1, -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    return KeyOwners(chosen, np.stack([event, row[key]], axis=1), np.stack([chunk, row[chunk_key]], axis=1), row[main])


def _distinct(pairs: Rows64) -> Rows64:
    pairs = np.sort(pairs)
    return pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]


def key_table(resolution: Resolution, keyed: KeyOwners, chunk_document: Rows64, event_count: int) -> pa.Table:
    """The table `keys`, with the number of events, chunks and documents that carry each."""
    keys = resolution.distinct.take(pa.array(keyed.chosen))
    chunk, key = keyed.chunk_key.T
    documents = np.unique(chunk_document[chunk] * max(1, len(keys)) + key) % max(1, len(keys))
    events = np.bincount(keyed.event_key[:, 1], minlength=len(keys))
    columns = {
        "event_count": events.astype(np.int32),
        "chunk_count": np.bincount(key, minlength=len(keys)).astype(np.int32),
        "document_count": np.bincount(documents, minlength=len(keys)).astype(np.int32),
        "idf": idf_of(events, event_count, resolution.smoothing),
    }
    for name, column in columns.items():
        keys = keys.append_column(name, pa.array(column))
    return keys
