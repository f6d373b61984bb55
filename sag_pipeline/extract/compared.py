"""Which statements are compared: those that share words or names which few have, after a change those it touches."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import xxhash

from sag_retrieval.core.types import Flags, Rows64

_LARGEST_BLOCK: Final = 40
"""Statements that share a word or name at most for it to bring them together: the work stays linear in the pile."""
_SHARED_BLOCKS: Final = 2
"""Words or names that two statements share at least: one is shared by chance."""
STATEMENTS: Final = pa.schema(
    {"event_id": pa.string(), "document_id": pa.string(), "blocks": pa.list_(pa.field("item", pa.uint64()))}
)
"""Statements with their blocks: the hashes of their words, of the names that they carry and of exact figures."""


@lru_cache(maxsize=1 << 16)
def _hash(word: str) -> int:
    return xxhash.xxh3_64_intdigest(word.encode())


def blocks_of(words: Iterable[str], names: Iterable[str], figures: Iterable[str]) -> list[int]:
    """The blocks of a statement by its words and the ids of its names, sorted; each exact figure is worth two."""
    twice = (f"{figure}{mark}" for figure in figures for mark in "\1\2")
    return sorted({*map(_hash, words), *(_hash(f"\0{name}") for name in names), *map(_hash, twice)})


@dataclass(frozen=True, slots=True, eq=False)
class PairChange:
    """What a change of the statements asks for; both arrays have the shape (pairs, 2) and rows of `statements`."""

    statements: pa.Table
    """Those that stay, then the new ones."""
    together: Rows64
    """Pairs to compare: with a new statement, or brought together by a word that few enough have now."""
    apart: Rows64
    """Pairs of statements that stay and are compared no more."""


def changed(stay: pa.Table, new: pa.Table, gone: pa.Table, largest: int = _LARGEST_BLOCK) -> PairChange:
    """Which pairs a change brings together and apart.

    Two statements are compared if they share two blocks of at most `largest` statements, and by nothing else. So
    whatever the history was, the pairs are the same, and a change touches the blocks of its own statements alone.

    Args:
        stay: Statements (`STATEMENTS`) that were there and are.
        new: Those that were not there.
        gone: Those that are there no more.
        largest: Statements of a block that brings any together.

    Source:
        docs/algorithm.md §extraction.33

    """
    first, end = len(stay), len(stay) + len(new)
    every = pa.concat_tables([stay, new, gone]).combine_chunks()
    blocks = every["blocks"].combine_chunks() if len(every) else pa.array([], STATEMENTS.field("blocks").type)
    owner = np.repeat(np.arange(len(every)), np.diff(np.asarray(blocks.offsets)))
    code = np.asarray(blocks.flatten().dictionary_encode().indices)
    is_kept, is_new = owner < first, (owner >= first) & (owner < end)
    count = int(code.max(initial=-1)) + 1
    now, before = (_few(code[each], count, largest) for each in (owner < end, is_kept | (owner >= end)))
    has_new, flips, is_near = np.zeros(count, np.bool_), now != before, np.zeros(len(every), np.bool_)
    has_new[code[is_new]] = True
    together = _pairs(owner, code, (has_new & now)[code] & (owner < end))
    together = together[together[:, 1] >= first]
    is_near[owner[flips[code] & is_kept]] = True
    near = is_near[owner] & is_kept
    closer, farther = (_pairs(owner, code, near & each[code]) for each in (now, before))
    return PairChange(every.slice(0, end), np.concatenate([together, _only(closer, farther)]), _only(farther, closer))


def _few(code: Rows64, count: int, largest: int) -> Flags:
    """Which blocks are of several statements, and not of too many."""
    sizes = np.bincount(code, minlength=count)
    return (sizes > 1) & (sizes <= largest)


def _pairs(owner: Rows64, code: Rows64, is_in: Flags) -> Rows64:
    """Pairs of rows, the smaller one first, that share enough of the chosen blocks."""
    owner, code = owner[is_in], code[is_in]
    owner = owner[np.argsort(code, kind="stable")]
    sizes = np.bincount(code)
    starts, width = np.cumsum(sizes) - sizes, int(owner.max(initial=0)) + 1
    made = [np.zeros(0, np.int64)]
    for size in range(2, int(sizes.max(initial=0)) + 1):  # blocks of one size at once
        members = owner[starts[sizes == size][:, None] + np.arange(size)]
        one, other = np.triu_indices(size, 1)
        made.append((members[:, one] * width + members[:, other]).ravel())
    codes, times = np.unique(np.concatenate(made), return_counts=True)
    return np.stack(np.divmod(codes[times >= _SHARED_BLOCKS], width), axis=1)


def _only(pairs: Rows64, others: Rows64) -> Rows64:
    known = set(map(tuple, others.tolist()))
    return pairs[[pair not in known for pair in map(tuple, pairs.tolist())]] if known else pairs
