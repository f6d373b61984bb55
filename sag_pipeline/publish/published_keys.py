"""What a release says of its keys, compared with what they are now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.links import Resolution, places
from sag_retrieval.core.types import Flags, Rows64
from sag_retrieval.release.arrays import places_of
from sag_retrieval.release.layer_precedence import overlay
from sag_retrieval.release.mapped_arrays import FilePlace, map_rows
from sag_retrieval.release.tables import RowFiles

RESOLVED: Final = "resolved.arrow"
"""File below `arrays` of a layer: keys that stand for others since it was written, and those that do no longer."""
_COLUMNS: Final = ("key_id", "key_type", "value_string", "value_number", "value_bool", "unit", "name")


@dataclass(frozen=True, slots=True, eq=False)
class KeyDescriptions:
    """The keys of some layers, sorted by id, their aliases, and which keys stand for others."""

    keys: pa.Table
    aliases: frozenset[tuple[object, ...]]
    resolved: Mapping[str, str]

    @classmethod
    def read(cls, layers: Sequence[RowFiles], folders: Sequence[FilePlace]) -> "KeyDescriptions":
        """What the layers say, of each key the last that has it."""
        resolved: dict[str, str] = {}
        for folder in folders:
            resolved |= dict(zip(*(c.to_pylist() for c in map_rows(folder / "arrays" / RESOLVED).columns), strict=True))
        joined = overlay([layer("keys")["key_id"] for layer in layers])
        keys = pa.concat_tables([layer("keys").select(_COLUMNS) for layer in layers])
        shown, aliases = joined.is_shown(), list[tuple[object, ...]]()
        for layer, first in zip(layers, joined.firsts[:-1], strict=True):
            rows = layer("key_aliases")
            own = shown[first + places_of(rows["key_id"], layer("keys")["key_id"])] if len(rows) else []
            aliases += _tuples(rows.filter(pa.array(own, pa.bool_())))
        keys = keys if len(layers) == 1 else keys.take(pa.array(joined.source))
        return cls(keys.combine_chunks(), frozenset(aliases), resolved)

    def moved(self, resolution: Resolution) -> set[str]:
        """Ids of keys, of those that some document carries, that stand for another key than before."""
        now = canonical_of(resolution)
        moved = sorted(key for key in {*self.resolved, *now} if self.resolved.get(key, key) != now.get(key, key))
        known = places(pa.array(moved, pa.string()), resolution.distinct["key_id"]) >= 0
        return {key for key, is_known in zip(moved, known.tolist(), strict=True) if is_known}

    def changes(self, resolution: Resolution) -> tuple[Rows64, Flags]:
        """The row among the distinct keys of each key, -1 for one that is gone, and whether it is described again."""
        now, is_new = _described_otherwise(self.keys, resolution)
        alike = self.aliases ^ frozenset(_tuples(resolution.aliases))
        renamed = pa.array(sorted({str(key) for _, key, *_ in alike}), pa.string())
        is_new |= np.asarray(pc.is_in(self.keys["key_id"], renamed)) & (now >= 0)
        return now, is_new

    def respelled(self, resolution: Resolution) -> Rows64:
        """Rows of keys whose value has other letters, apart from case: it is counted in texts."""
        now = places(self.keys["key_id"], resolution.distinct["key_id"])
        has = np.flatnonzero(now >= 0)
        before, after = self.keys["value_string"].take(pa.array(has)), _values(resolution, now[has])
        other = pa.array(_differs(before, after))
        lower = [pc.utf8_lower(pc.fill_null(each.filter(other), "")) for each in (before, after)]
        found: Rows64 = has[np.asarray(other)][np.asarray(pc.not_equal(*lower))]
        return found


def is_outdated(rows: RowFiles, folder: FilePlace, resolution: Resolution) -> bool:
    """Whether a layer names keys or aliases that no document carries any more, or describes a key as it was."""
    now, is_new = _described_otherwise(rows("keys"), resolution)
    if (now < 0).any() or is_new.any():
        return True
    if {*_tuples(rows("key_aliases"))} - {*_tuples(resolution.aliases)}:
        return True
    return len(carried_resolved(folder, resolution)) < len(map_rows(folder / "arrays" / RESOLVED))


def carried_resolved(folder: FilePlace, resolution: Resolution) -> pa.Table:
    """What `RESOLVED` of a layer says of keys that documents still carry."""
    rows = map_rows(folder / "arrays" / RESOLVED)
    both = [places(rows[name], resolution.distinct["key_id"]) >= 0 for name in ("key_id", "canonical")]
    return rows.filter(pa.array(both[0] & both[1]))


def _described_otherwise(keys: pa.Table, resolution: Resolution) -> tuple[Rows64, Flags]:
    """The row among the distinct keys of each key, -1 for one that is gone, and whether its columns differ."""
    now = places(keys["key_id"], resolution.distinct["key_id"])
    has = np.flatnonzero(now >= 0)
    before, after = keys.take(pa.array(has)), resolution.distinct.take(pa.array(now[has]))
    is_new = np.zeros(len(now), np.bool_)
    for name in _COLUMNS:
        is_new[has] |= _differs(before[name], after[name])
    return now, is_new


def _values(resolution: Resolution, rows: Rows64) -> pa.ChunkedArray:
    return resolution.distinct["value_string"].take(pa.array(rows))


def canonical_of(resolution: Resolution) -> dict[str, str]:
    """The key that each aligned key stands for."""
    return dict(zip(*(resolution.canonical[name].to_pylist() for name in ("key_id", "canonical")), strict=True))


def resolved_since(before: KeyDescriptions | None, resolution: Resolution) -> pa.Table:
    """What `RESOLVED` holds: every aligned key, or those that stand for another key than before."""
    now = canonical_of(resolution)
    keys = sorted(now if before is None else before.moved(resolution))
    schema = pa.schema({"key_id": pa.string(), "canonical": pa.string()})
    return pa.table({"key_id": keys, "canonical": [now.get(key, key) for key in keys]}, schema=schema)


def _differs(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Flags:
    is_other = pc.fill_null(pc.not_equal(before, after), pa.scalar(False))  # noqa: FBT003  a value
    flags: Flags = np.asarray(is_other) | (np.asarray(before.is_null()) != np.asarray(after.is_null()))
    return flags


def _tuples(aliases: pa.Table) -> list[tuple[object, ...]]:
    return [*zip(*(aliases[name].to_pylist() for name in ("alias", "key_id", "reason", "score")), strict=True)]
