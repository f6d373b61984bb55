"""Which statements are compared: those that share words or names which few have, after a change those it touches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from scipy.sparse import csr_array

from sag_retrieval.core.types import Flags, Floats, Rows64
from sag_retrieval.language.spans import subject_terms
from sag_retrieval.language.words import BETWEEN_RUNS

_LARGEST_BLOCK: Final = 40
"""Statements that share a word or name at most for it to bring them together: the work stays linear in the pile."""
_SHARED_BLOCKS: Final = 2
"""Words or names that two statements share at least: one is shared by chance."""
LEAST_ALIKE: Final = 0.15
"""Shared share of all words of two statements from which on each value of theirs is compared."""
_MOST_AT_ONCE: Final = 1 << 17
"""Pairs whose words are counted together: this bounds the memory."""
CORRECTS, STATES, TAKES = 1, 2, 4
"""Signs of a statement: that it may correct a number, states one, says who takes an office."""
STATEMENTS: Final = pa.schema(
    {
        "event_id": pa.string(),
        "document_id": pa.string(),
        "place": pa.uint64(),
        "signs": pa.uint8(),
        "words": pa.int64(),
        "blocks": pa.list_(pa.field("item", pa.uint64())),
    }
)
"""Statements: where and when each was said as one number, its signs, how many words it has, and its blocks, which are
the hashes of its words, then those of the names that it carries and of exact figures."""


@lru_cache(maxsize=1 << 16)
def hash_of(text: str) -> int:
    """The number by which it is compared."""
    return xxhash.xxh3_64_intdigest(text.encode())


def blocks_of(texts: pa.Array, others: Sequence[Iterable[str]]) -> tuple[pa.Array, pa.Array]:
    """How many words each text has, and its blocks: those of its words and of what else it shares with others."""
    runs = pc.split_pattern_regex(texts, BETWEEN_RUNS)
    told = pc.utf8_lower(runs.flatten()).dictionary_encode()
    terms = [[*map(hash_of, subject_terms(run))] for run in told.dictionary.to_pylist()]
    of_run = pa.array(terms, pa.list_(pa.uint64())).take(told.indices)
    rows = np.repeat(np.repeat(np.arange(len(texts)), pc.list_value_length(runs)), pc.list_value_length(of_run))
    more = [(row, hash_of(each)) for row, own in enumerate(others) for each in own]
    owner = np.concatenate([rows, np.fromiter((row for row, _ in more), np.int64, len(more))])
    blocks = np.concatenate([of_run.flatten(), np.fromiter((each for _, each in more), np.uint64, len(more))])
    is_other = np.arange(len(owner)) >= len(rows)
    order = np.lexsort((blocks, is_other, owner))
    owner, blocks, is_other = owner[order], blocks[order], is_other[order]
    is_first = np.ones(len(owner), np.bool_)
    is_first[1:] = (np.diff(owner) != 0) | (blocks[1:] != blocks[:-1])
    offsets = np.searchsorted(owner[is_first], np.arange(len(texts) + 1)).astype(np.int32)
    words = np.bincount(owner[is_first & ~is_other], minlength=len(texts))
    return pa.array(words), pa.ListArray.from_arrays(offsets, blocks[is_first])


@dataclass(frozen=True, slots=True, eq=False)
class PairChange:
    """What a change of the statements asks for; arrays of pairs have the shape (pairs, 2) and rows of `statements`."""

    statements: pa.Table
    """Those that stay, then the new ones."""
    together: Rows64
    """Pairs worth comparing: with a new statement, or brought together by a word that few enough have now."""
    alike: Floats
    """Shared share of the words of each of them; 0 where both were said in one place."""
    is_told: Flags
    """Whether one of them may take back a number of the other, or say who takes an office."""
    apart: Rows64
    """Pairs of statements that stay and are compared no more."""


def changed(stay: pa.Table, new: pa.Table, gone: pa.Table, largest: int = _LARGEST_BLOCK) -> PairChange:
    """Which pairs a change brings together and apart.

    Two statements are compared if they share two blocks of at most `largest` statements and are alike enough or have
    the signs of a correction, and by nothing else. So whatever the history was, the pairs are the same, and a change
    touches the blocks of its own statements alone.

    Args:
        stay: Statements (`STATEMENTS`) that were there and are.
        new: Those that were not there.
        gone: Those that are there no more.
        largest: Statements of a block that brings any together.

    Source: docs/algorithm.md §extraction.33.
    """
    first, end = len(stay), len(stay) + len(new)
    every = pa.concat_tables([stay, new, gone]).combine_chunks()
    blocks = every["blocks"].combine_chunks() if len(every) else pa.array([], STATEMENTS.field("blocks").type)
    starts = np.asarray(blocks.offsets) - int(blocks.offsets[0].as_py())
    owner = np.repeat(np.arange(len(every)), np.diff(starts))
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
    is_word = np.arange(len(owner)) < (starts[:-1] + np.asarray(every["words"]))[owner]
    shape = len(every), max(1, count)
    words = csr_array((np.ones(is_word.sum(), np.int32), (owner[is_word], code[is_word])), shape)
    worth = _worth(every, words, np.concatenate([together, _only(closer, farther)]))
    return PairChange(every.slice(0, end), *worth, apart=_worth(every, words, _only(farther, closer))[0])


def _worth(statements: pa.Table, words: csr_array, pairs: Rows64) -> tuple[Rows64, Floats, Flags]:
    """Of pairs those where a closer look can find something, how alike they are, and whether words tell of them."""
    signs, places, counts = (np.asarray(statements[name]) for name in ("signs", "place", "words"))
    one, other = pairs.T
    steps = (slice(start, start + _MOST_AT_ONCE) for start in range(0, len(pairs), _MOST_AT_ONCE))
    shared = [words[one[step]].multiply(words[other[step]]).sum(axis=1) for step in steps]
    both = np.concatenate([np.zeros(0, np.int64), *shared])
    alike = both / np.maximum(1, counts[one] + counts[other] - both) * (places[one] != places[other])
    either, each = signs[one] | signs[other], signs[one] & signs[other]
    is_told = (either & TAKES > 0) | ((either & CORRECTS > 0) & (each & STATES > 0))
    is_worth = is_told | (alike >= LEAST_ALIKE)
    return pairs[is_worth], alike[is_worth], is_told[is_worth]


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
