"""Links of a release: what keys stand for, and which events and chunks carry them, as row numbers."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.arrays import places_of
from sag_retrieval.release.key_weights import Smoothing, idf_of
from sag_retrieval.release.mapped_arrays import join

DECIDED_BY = "|"
"""In the input hash of these tables, before what else than keys they were made from."""
GIVEN = b"given"
"""Metadata of the table `distinct_keys`: the types and new names that people gave to keys, if they gave any."""
LINK_TABLES = ("distinct_keys", "canonical", "key_aliases")
"""Tables kept whole: every key once, the key that each aligned one stands for, and the aliases of each key."""


def coded(values: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Distinct values by first occurrence, and the number of each: chunk by chunk, as joined ones may exceed 2 GiB."""
    chunks = values.dictionary_encode().chunks  # all with the same dictionary
    distinct = chunks[-1].dictionary if chunks else pa.array([], values.type)
    return distinct, join((chunk.indices.to_numpy() for chunk in chunks), np.int32)


def whole_table(store: Store, name: str) -> pa.Table:
    """A table that is kept whole; a SourceError if it does not exist yet."""
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
        """A hash of what stands for what, and of the types and names that people gave."""
        columns = (self.canonical[name].to_pylist() for name in ("key_id", "canonical"))
        pairs = sorted(zip(*columns, strict=True))
        given = (self.distinct.schema.metadata or {}).get(GIVEN, b"")
        return blake2b(repr(pairs).encode() + given, digest_size=12).hexdigest()

    @classmethod
    def read(cls, store: Store) -> "Resolution":
        """What the assets `event_keys` and `idf` stored; a SourceError if they stored nothing yet."""
        distinct, canonical, aliases, weights = (whole_table(store, name) for name in (*LINK_TABLES, "idf"))
        stands_for = np.arange(len(distinct))
        aliased, meant = (places_of(canonical[name], distinct["key_id"]) for name in ("key_id", "canonical"))
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

    `raw_keys` has which event or chunk carries which key, in the columns `event_id` and `key_id`; `described` rows of
    distinct keys that are kept even where nothing carries them.
    """
    count = max(1, len(resolution.distinct))
    carriers, codes = coded(raw_keys["event_id"])
    key = resolution.stands_for[places_of(raw_keys["key_id"], resolution.distinct["key_id"])]
    chunk, event = (places_of(carriers, ids)[codes] for ids in owners)
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
