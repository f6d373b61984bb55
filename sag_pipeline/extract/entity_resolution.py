"""Entity resolution: align keys that differ only in spelling, or that a text says are the same."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.name_decisions import NameDecisions
from sag_pipeline.extract.name_matching import (
    EXACT_TYPES,
    GENERIC_TYPES,
    bare_names,
    compact_names,
    is_telling,
    title_name,
)
from sag_retrieval.core.records import TITLE
from sag_retrieval.core.types import Flags, Rows64
from sag_retrieval.language.words import is_cjk

SAME_NAME, COMPACT_NAME, BARE_NAME = "same name", "compact name", "bare name"
TITLE_NAME, SAID = "title without its addition", "said"
DECIDED, ANSWERED = "decided", "answered"
_SCORES = {SAME_NAME: 1.0, COMPACT_NAME: 1.0, BARE_NAME: 0.95, TITLE_NAME: 0.9, SAID: 0.9, DECIDED: 1.0, ANSWERED: 0.8}
_NO_DECISIONS = NameDecisions()
ALIGNMENT_VERSION = "1"
"""To be raised with whatever changes which keys are aligned, or what a normal name is: all are aligned again then.

Another way to compare keys needs a block of its own in `publish/distinct_keys.py`.
"""
_AGREEMENT = 0.6
"""Least share of the statements about an alias that name the same key."""


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The distinct text keys as columns; `names` are normal names (`sag_retrieval.language.words.normal_name`)."""

    key_ids: Sequence[str]
    key_types: Sequence[str]
    values: Sequence[str]
    names: Sequence[str]
    event_counts: Sequence[int]

    def __len__(self) -> int:
        return len(self.key_ids)


@dataclass(frozen=True, slots=True)
class Aligned:
    """An aligned key: its id and value, the id of its canonical key, the reason and a score."""

    alias_key_id: str
    alias: str
    key_id: str
    reason: str
    score: float


@dataclass(frozen=True, slots=True)
class Alignment:
    """Aligned keys in the order of their ids; every other key is its own canonical key."""

    rows: tuple[Aligned, ...]

    @property
    def canonical(self) -> dict[str, str]:
        """Id of each aligned key → id of its canonical key."""
        return {row.alias_key_id: row.key_id for row in self.rows}


def align_keys(
    keys: KeyColumns,
    *,
    said: Iterable[tuple[str, str]] = (),
    answered: Iterable[tuple[str, str]] = (),
    decisions: NameDecisions = _NO_DECISIONS,
) -> Alignment:
    """Align keys: find the canonical key of each.

    In this order: what people decided; equal names; names equal except for spaces, then except for spelling and legal
    forms; titles without an addition in brackets; keys that documents or models say are the same; pairs that a model
    was asked about. Keys of two specific types are aligned by people, or where a document says that names in two
    scripts are one thing, of which each script shows a type less surely; a key of a generic type is aligned to the
    key of a specific type, to the most frequent if there are several. What people keep apart is never aligned. The
    canonical key is the one that people named, else the most frequent, then the first by name, then by id. The order
    of the rows does not matter.

    Args:
        keys: Text keys, each id once.
        said: Pairs (id of the alias, id of the key it is another name of), one per statement.
        answered: Pairs of ids that a model takes for one thing.
        decisions: Decisions of people, by name.

    Source: docs/algorithm.md §extraction.26.
    """
    if not len(keys):
        return Alignment(())
    groups = _Groups(keys, decisions)
    groups.join_all(_decided(keys, decisions), DECIDED)
    names = pa.array(keys.names, pa.string())
    is_named = np.asarray(pc.not_equal(names, ""))
    is_loose = is_named & ~np.fromiter((t in EXACT_TYPES for t in keys.key_types), np.bool_, len(keys))
    for reason, folded, allowed in (
        (SAME_NAME, names, is_named),
        (COMPACT_NAME, compact_names(names), is_loose),
        (BARE_NAME, bare_names(names, keys.key_types), is_loose),
    ):
        groups.join_all(_same(keys, folded, allowed, groups), reason)
    groups.join_all(_named_by_title(keys, groups), TITLE_NAME)
    groups.join_all(_agreed(keys, said, groups), SAID)
    groups.join_all(_rows_of(keys, answered), ANSWERED)
    return groups.alignment()


class _Groups:
    """Groups of aligned rows (union-find); the first by rank of each group is the canonical one."""

    def __init__(self, keys: KeyColumns, decisions: NameDecisions) -> None:
        self._keys = keys
        self._apart = _kept_apart(keys, decisions)
        self._parent = list(range(len(keys)))
        self._why: dict[int, tuple[str, float]] = {}
        self.is_generic = np.fromiter((t in GENERIC_TYPES for t in keys.key_types), np.bool_, len(keys))
        preferred = frozenset(name for _, name in decisions.pairs("rename"))
        self.rank = _ranks(keys, self.is_generic, preferred)

    def root(self, row: int) -> int:
        """The canonical row of a row's group."""
        parent = self._parent
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    def join_all(self, pairs: Iterable[tuple[int, int]], reason: str) -> None:
        """Merge the groups of each pair for one reason, unless they have two specific types or are kept apart."""
        for pair in pairs:
            first, second = sorted(map(self.root, pair), key=lambda row: self.rank[row])
            if first != second and self._may_join(first, second, reason):
                self._parent[second] = first
                self._why[second] = (reason, _SCORES[reason])
                if second in self._apart:
                    self._apart.setdefault(first, set()).update(self._apart.pop(second))

    def _may_join(self, first: int, second: int, reason: str) -> bool:
        if any(self.root(row) == second for row in self._apart.get(first, ())):
            return False
        types, names = self._keys.key_types, self._keys.names
        is_generic = self.is_generic[first] or self.is_generic[second]
        is_translated = reason == SAID and is_cjk(names[first]) != is_cjk(names[second])
        return reason == DECIDED or types[first] == types[second] or bool(is_generic) or is_translated

    def alignment(self) -> Alignment:
        """Every row that is not canonical."""
        keys = self._keys
        found = [
            Aligned(keys.key_ids[row], keys.values[row], keys.key_ids[self.root(row)], *why)
            for row, why in self._why.items()
        ]
        return Alignment(tuple(sorted(found, key=lambda row: row.alias_key_id)))


def _kept_apart(keys: KeyColumns, decisions: NameDecisions) -> dict[int, set[int]]:
    """Rows that must not join, by row, both ways."""
    pairs = list(decisions.pairs("apart"))
    rows = _rows_by_name(keys, {name for pair in pairs for name in pair})
    found: dict[int, set[int]] = {}
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            for row in rows.get(one, ()):
                found.setdefault(row, set()).update(rows.get(other, ()))
    return found


def _rows_by_name(keys: KeyColumns, wanted: AbstractSet[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(keys.names if wanted else ()):
        if name in wanted:
            rows.setdefault(name, []).append(row)
    return rows


def _decided(keys: KeyColumns, decisions: NameDecisions) -> Iterator[tuple[int, int]]:
    """Rows that people take for one thing: of each name the first by id, and the others of its name."""
    pairs = list(decisions.pairs("merge", "rename"))
    rows = _rows_by_name(keys, {name for pair in pairs for name in pair})
    for one, other in pairs:
        if one in rows and other in rows:
            first, *rest = sorted((*rows[one], *rows[other]), key=lambda row: keys.key_ids[row])
            yield from ((first, row) for row in rest)


def _rows_of(keys: KeyColumns, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[int, int]]:
    pairs = sorted(pairs)
    row_of = {key_id: row for row, key_id in enumerate(keys.key_ids)} if pairs else {}
    yield from ((row_of[one], row_of[other]) for one, other in pairs if one in row_of and other in row_of)


def _ranks(keys: KeyColumns, is_generic: Flags, preferred: AbstractSet[str]) -> Rows64:
    """The rank of each row: names that people chose, then specific types, frequent keys, then by name, type and id."""
    others = np.fromiter((name not in preferred for name in keys.names), np.bool_, len(keys)) if preferred else None
    table = pa.table(
        {
            "other": np.ones(len(keys), np.bool_) if others is None else others,
            "generic": is_generic,
            "count": np.asarray(keys.event_counts, np.int64),
            "name": pa.array(keys.names, pa.string()),
            "type": pa.array(keys.key_types, pa.string()),
            "id": pa.array(keys.key_ids, pa.string()),
        }
    )
    order = [(name, "descending" if name == "count" else "ascending") for name in table.column_names]
    ranks = np.empty(len(keys), np.int64)
    ranks[pc.sort_indices(table, sort_keys=order).to_numpy()] = np.arange(len(keys))
    return ranks


def _same(keys: KeyColumns, folded: pa.Array, allowed: Flags, groups: _Groups) -> Iterator[tuple[int, int]]:
    """Pairs to align: rows of one folded name and one type, and generic ones with the first by rank of that name."""
    rows = np.flatnonzero(allowed)
    codes = folded.take(pa.array(rows)).dictionary_encode().indices.to_numpy()
    is_shared = np.bincount(codes, minlength=1)[codes] > 1
    rows, codes = rows[is_shared], codes[is_shared]
    order = np.lexsort((groups.rank[rows], codes))
    rows, codes = rows[order], codes[order]
    for group in np.split(rows, np.flatnonzero(np.diff(codes)) + 1):
        yield from _pairs(keys, group.tolist(), groups.is_generic)


def _pairs(keys: KeyColumns, rows: list[int], is_generic: Flags) -> Iterator[tuple[int, int]]:
    first_of: dict[str, int] = {}
    for row in rows:
        target = rows[0] if is_generic[row] else first_of.setdefault(keys.key_types[row], row)
        if target != row:
            yield target, row


def _named_by_title(keys: KeyColumns, groups: _Groups) -> Iterator[tuple[int, int]]:
    """Titles such as `Ann Lee (chemist)`, each with the key `Ann Lee`, unless another title could mean that name."""
    rows = [row for row, key_type in enumerate(keys.key_types) if key_type == TITLE]
    titles = [title_name(keys.values[row]) for row in rows]
    times = Counter(titles)
    only = {
        title: row
        for title, row in zip(titles, rows, strict=True)
        if times[title] == 1 and title != keys.names[row] and is_telling(title)
    }
    best: dict[str, int] = {}
    for row, name in enumerate(keys.names if only else ()):
        if name in only and (name not in best or groups.rank[row] < groups.rank[best[name]]):
            best[name] = row
    yield from ((best[name], row) for name, row in only.items() if name in best)


def _agreed(keys: KeyColumns, said: Iterable[tuple[str, str]], groups: _Groups) -> Iterator[tuple[int, int]]:
    """Aliases with the key that most statements name; an alias of several keys is not aligned."""
    said = list(said)
    row_of = {key_id: row for row, key_id in enumerate(keys.key_ids)} if said else {}
    votes: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for alias_id, key_id in said:
        if alias_id in row_of and key_id in row_of:
            votes[groups.root(row_of[alias_id])][groups.root(row_of[key_id])] += 1
    for alias in sorted(votes, key=lambda row: keys.key_ids[row]):
        counted = votes[alias]
        best = min(counted, key=lambda row: (-counted[row], keys.key_ids[row]))
        if counted[best] >= _AGREEMENT * sum(counted.values()):
            yield alias, best
