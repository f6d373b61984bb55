"""Who carries which key, as row numbers of a release's tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.links import places
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.csr import CsrLists


@dataclass(frozen=True, slots=True, eq=False)
class KeyOwners:
    """The links of a release; pairs are of shape (links, 2), sorted, each once."""

    chosen: Rows64
    """Rows of the distinct keys that are in the release, ascending; a key's row in the release is its place here."""
    event_key: Rows64
    chunk_key: Rows64
    """Keys of a chunk's events, and its main key."""
    main: Rows64
    """The main key of each chunk; -1 for none."""


def key_rows(
    links: Mapping[str, pa.Table], chunk_ids: pa.ChunkedArray, event_ids: pa.ChunkedArray, event_chunk: Rows64
) -> KeyOwners:
    """The links between events, chunks and keys that exist."""
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
    """The table `keys`, with how many events, chunks and documents carry each."""
    keys = links["distinct_keys"].take(pa.array(keyed.chosen))
    counted = links["idf"].take(pc.index_in(keys["key_id"], links["idf"]["key_id"].combine_chunks()))
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
    """The order in which pairs, sorted by row, are sorted by the id of their first row."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=len(ids)))])
    return CsrLists(starts, pairs[:, 1].astype(np.int32)).gather(np.asarray(pc.sort_indices(ids)))[1]
