"""Blocks of keys: two keys that alignment may compare are in one block, so other blocks need not be looked at."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from sag_pipeline.extract.name_matching import bare_names, compact_names, title_name
from sag_retrieval.core.records import TITLE
from sag_retrieval.core.types import Flags, Rows64
from sag_retrieval.release.mapped_arrays import arrow_numbers

BLOCKS: Final = ("compact_block", "bare_block", "title_block")
"""Columns of the table `distinct_keys`: the blocks of a key, as hashes; 0 for none.

Equal names have equal compact names, so these stand for both. A title is also compared with the key that its name
without an addition names. Equal hashes of different names put two blocks together, which costs time alone.
"""


def with_blocks(keys: pa.Table) -> pa.Table:
    """The same keys with the columns of `BLOCKS`; `keys` has key types, values and normal names."""
    names, types = keys["name"].combine_chunks(), keys["key_type"].to_pylist()
    compact = compact_names(names)
    bare = bare_names(names, types, compact)
    is_other = np.flatnonzero(np.asarray(pc.not_equal(bare, compact)))
    compact_hashes = _hashes(compact)
    bare_hashes = compact_hashes.copy()
    bare_hashes[is_other] = _hashes(bare.take(pa.array(is_other)))
    titles = np.zeros(len(keys), np.uint64)
    rows = np.flatnonzero(np.asarray(pc.equal(keys["key_type"], TITLE)))
    values = keys["value_string"].take(pa.array(rows)).to_pylist()
    named = compact_names(pa.array([title_name(value or "") for value in values], pa.string()))
    titles[rows] = _hashes(named)
    for name, column in zip(BLOCKS, (compact_hashes, bare_hashes, titles), strict=True):
        keys = keys.append_column(name, arrow_numbers(column))
    return keys


def _hashes(names: pa.Array) -> npt.NDArray[np.uint64]:
    whole = names.cast(pa.binary()).to_pylist()
    return np.array([xxhash.xxh3_64_intdigest(name) if name else 0 for name in whole], np.uint64)


def reached(keys: Sequence[pa.Table], changed: pa.Array, said: pa.Table) -> pa.Array:
    """Ids of all keys that changed ones can touch by any number of steps, and of the changed ones.

    Args:
        keys: Tables with ids and blocks; a key may be in several, with different blocks.
        changed: Ids.
        said: Pairs of ids, in two columns, that are said to be one thing.

    """
    ids = pa.chunked_array([chunk for table in keys for chunk in table["key_id"].chunks], pa.string())
    blocks = [
        pa.chunked_array([chunk for table in keys for chunk in table[name].chunks], pa.uint64()) for name in BLOCKS
    ]
    while True:
        is_in = np.asarray(pc.is_in(ids, changed))
        is_in |= _share(blocks, is_in)
        found = [ids.filter(pa.array(is_in)), *_with_said(said, changed)]
        more = pa.chunked_array([chunk for each in (changed, *found) for chunk in _chunks(each)], pa.string()).unique()
        if len(more) == len(changed):
            return more
        changed = more


def _chunks(values: pa.Array | pa.ChunkedArray) -> Sequence[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _share(blocks: Sequence[pa.ChunkedArray], is_in: Flags) -> Flags:
    """Which rows have a block that a chosen row has."""
    chosen: Rows64 = np.flatnonzero(is_in)
    taken = [np.asarray(each.take(pa.array(chosen))) for each in blocks]
    wanted = np.unique(np.concatenate(taken))
    among = pa.array(wanted[wanted != 0])
    found = np.zeros(len(is_in), np.bool_)
    for each in blocks:
        found |= np.asarray(pc.is_in(each, among))
    return found


def _with_said(said: pa.Table, changed: pa.Array) -> list[pa.ChunkedArray]:
    """Both ends of each pair that has an end among the keys."""
    one, other = said.columns
    touches = pc.or_(pc.is_in(one, changed), pc.is_in(other, changed))
    return [one.filter(touches), other.filter(touches)]
