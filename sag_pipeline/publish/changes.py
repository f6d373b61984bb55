"""What the next release shares with the one before: which of its layers, and which documents are written again.

After a removal no file of it may hold what was removed: each kept layer that has more than it shows is written again.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.publish.links import Resolution
from sag_pipeline.store.store import PURGE, Store
from sag_pipeline.store.vectors import KINDS, MOST_FILES, VectorStore, differs
from sag_pipeline.tables import RECORDS
from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.types import Flags, Rows64, Words64
from sag_retrieval.release.arrays import open_graph_arrays, places_of
from sag_retrieval.release.layers import overlay
from sag_retrieval.release.manifest import Contents, Manifest, layer_path
from sag_retrieval.release.mapped_arrays import FilePlace, map_array, map_rows
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import DATABASE, LANCE, OPEN_TABLES
from sag_retrieval.release.tables import RowFiles


class LayerSize(NamedTuple):
    """Rows of a layer: those that are still shown, and all."""

    shown: int
    total: int


@dataclass(frozen=True, slots=True)
class Layering:
    """Bounds of the layers of a release; a row is a chunk or an event."""

    least_rows: int = 5_000
    """A release with fewer is written whole, which takes less than a second."""
    most: int = 8
    """Layers that a release has at most."""
    growth: float = 1.0
    """A layer is written again with the new rows unless it has more than this many times theirs."""
    share: float = 0.25
    """A release is written whole once more than this share of its rows would be written, or be hidden."""

    def kept(self, layers: Sequence[LayerSize], fresh: int) -> int:
        """How many of the layers, from the first on, the next release keeps; 0: it is written whole.

        `fresh` counts new rows, and those of the layers that are written again in any case.
        """
        kept = len(layers)
        while kept > 1 and (kept >= self.most or layers[kept - 1].shown <= self.growth * fresh):
            kept -= 1
            fresh += layers[kept].shown
        shown = fresh + sum(layer.shown for layer in layers[:kept])
        hidden = sum(layer.total - layer.shown for layer in layers[:kept])
        is_whole = shown < self.least_rows or max(fresh, hidden) > self.share * shown
        return 0 if is_whole else kept


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
        now = _canonical_of(resolution)
        moved = sorted(key for key in {*self.resolved, *now} if self.resolved.get(key, key) != now.get(key, key))
        known = places_of(pa.array(moved, pa.string()), resolution.distinct["key_id"]) >= 0
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
        now = places_of(self.keys["key_id"], resolution.distinct["key_id"])
        has = np.flatnonzero(now >= 0)
        before = self.keys["value_string"].take(pa.array(has))
        after = resolution.distinct["value_string"].take(pa.array(now[has]))
        other = pa.array(differs(before, after))
        lower = [pc.utf8_lower(pc.fill_null(each.filter(other), "")) for each in (before, after)]
        found: Rows64 = has[np.asarray(other)][np.asarray(pc.not_equal(*lower))]
        return found


def _is_outdated(rows: RowFiles, folder: FilePlace, resolution: Resolution) -> bool:
    """Whether a layer names keys or aliases that no document carries any more, or describes a key as it was."""
    now, is_new = _described_otherwise(rows("keys"), resolution)
    if (now < 0).any() or is_new.any() or {*_tuples(rows("key_aliases"))} - {*_tuples(resolution.aliases)}:
        return True
    return len(carried_resolved(folder, resolution)) < len(map_rows(folder / "arrays" / RESOLVED))


def carried_resolved(folder: FilePlace, resolution: Resolution) -> pa.Table:
    """What `RESOLVED` of a layer says of keys that documents still carry."""
    rows = map_rows(folder / "arrays" / RESOLVED)
    both = [places_of(rows[name], resolution.distinct["key_id"]) >= 0 for name in ("key_id", "canonical")]
    return rows.filter(pa.array(both[0] & both[1]))


def _described_otherwise(keys: pa.Table, resolution: Resolution) -> tuple[Rows64, Flags]:
    """The row among the distinct keys of each key, -1 for one that is gone, and whether its columns differ."""
    now = places_of(keys["key_id"], resolution.distinct["key_id"])
    has = np.flatnonzero(now >= 0)
    before, after = keys.take(pa.array(has)), resolution.distinct.take(pa.array(now[has]))
    is_new = np.zeros(len(now), np.bool_)
    for name in _COLUMNS:
        is_new[has] |= differs(before[name], after[name])
    return now, is_new


def _canonical_of(resolution: Resolution) -> dict[str, str]:
    """The key that each aligned key stands for."""
    return dict(zip(*(resolution.canonical[name].to_pylist() for name in ("key_id", "canonical")), strict=True))


def resolved_since(before: KeyDescriptions | None, resolution: Resolution) -> pa.Table:
    """What `RESOLVED` holds: every aligned key, or those that stand for another key than before."""
    now = _canonical_of(resolution)
    keys = sorted(now if before is None else before.moved(resolution))
    schema = pa.schema({"key_id": pa.string(), "canonical": pa.string()})
    return pa.table({"key_id": keys, "canonical": [now.get(key, key) for key in keys]}, schema=schema)


def _tuples(aliases: pa.Table) -> list[tuple[object, ...]]:
    return [*zip(*(aliases[name].to_pylist() for name in ("alias", "key_id", "reason", "score")), strict=True)]


MADE_OF: Final = "made_of"
"""Array of a layer: the hash of what the store held of each of its documents."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What the store holds of each document of a release: its id, a hash over it, and its chunks and events."""

    documents: pa.Array
    """Sorted."""
    hashes: Words64
    """Shape (documents, 2)."""
    rows: Rows64

    @classmethod
    def read(cls, store: Store) -> "Held":
        """From the ledger."""
        steps = ", ".join(f"'{name}'" for name in sorted(RECORDS))
        found = store.ledger.select(
            "WITH held AS (SELECT unit, "
            "string_agg(concat_ws('|', step, source, output_hash), chr(10) ORDER BY step) AS t, "
            "coalesce(sum(row_count) FILTER (step IN ('chunks', 'events')), 0)::BIGINT AS n FROM by_document "
            f"WHERE step IN ({steps}) AND status <> 'failed' GROUP BY unit HAVING bool_or(step = 'documents')) "
            "SELECT unit, md5_number_lower(t), md5_number_upper(t), n FROM held ORDER BY unit"
        )
        units, low, high, rows = zip(*found, strict=True) if found else ((), (), (), ())
        hashes = np.array([low, high], np.uint64).T.reshape(-1, 2)
        return cls(pa.array(units, pa.string()), hashes, np.array(rows, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A release whose first layers the next one keeps."""

    contents: Contents
    manifest: Manifest
    kept: int
    """Layers that are kept."""
    documents: Sequence[str]
    """Documents that are written again, or are new."""
    described: KeyDescriptions
    """What the kept layers say of keys."""
    left_out: Mapping[int, Flags] = field(default_factory=dict)
    """Kept layers that are written again from their own files, each with flags of its documents that are left out."""
    is_erasing: bool = False
    """Whether no file of the next release may hold what it does not show."""


def find_base(
    store: Store, vectors: VectorStore, resolution: Resolution, held: Held, layering: Layering, release: str
) -> Base | None:
    """The current release with what of it is kept; None where the next one, named `release`, is written whole."""
    releases = Releases(store.home)
    if releases.current() is None:
        return None
    try:
        manifest = Manifest.read(releases.path())
        contents = Contents(releases.path(), manifest)
        is_alike = manifest.smoothing == resolution.smoothing and _has(manifest, vectors, release)
        if not contents.is_checked or not is_alike:
            return None
        contents.check("rows/", "arrays/", "layers/", OPEN_TABLES, DATABASE)
        is_erasing = store.ledger.whole(PURGE) is not None
        return _base(contents, manifest, resolution, held, layering, is_erasing=is_erasing)
    except ReleaseError as error:
        _log.warning("the next release is written whole: %s", error)
        return None


def _has(manifest: Manifest, vectors: VectorStore, release: str) -> bool:
    """Whether it has open tables, and the store its rows with their vectors, in few files.

    Or those of the next release, if a process was killed before it was current.
    """
    if manifest.embedder_fingerprint != vectors.fingerprint or DATABASE not in manifest.files:
        return False
    for kind in KINDS:
        name, below = vectors.shown(kind), f"{LANCE}/{kind}.lance/"
        if any(file.startswith(below) for file in manifest.files) != (name is not None):
            return False
        table = vectors.tables.sealed()[name] if name else None
        if table and (table.release not in {manifest.release_id, release} or len(table.files) > MOST_FILES):
            return False
    return True


def _base(
    contents: Contents, manifest: Manifest, resolution: Resolution, held: Held, layering: Layering, *, is_erasing: bool
) -> Base | None:
    """What of a release is kept. Erasing: its layers that hold more than they show are written again without it."""
    count = len(manifest.layer_counts)
    files = [RowFiles(contents, manifest, number) for number in range(count)]
    folders = [contents.place(layer_path(number)) for number in range(count)]
    documents = overlay([layer("documents")["document_id"] for layer in files])
    ids = pa.chunked_array([c for layer in files for c in layer("documents")["document_id"].chunks], pa.string())
    ids = ids.combine_chunks().take(pa.array(documents.source))
    before = np.concatenate([map_array(each / "arrays" / MADE_OF) for each in folders])[documents.source]
    now = np.asarray(pc.fill_null(pc.index_in(ids, held.documents), -1)).astype(np.int64)
    described, stays = KeyDescriptions.read(files, folders), now >= 0
    is_erasing = is_erasing or not bool(stays.all())
    stays[stays] = (held.hashes[now[stays]] == before[stays]).all(axis=1)
    stays[_touched(files, folders, described, resolution, ids)] = False
    layer = np.searchsorted(documents.firsts, documents.source, side="right") - 1
    shown = np.bincount(layer[stays], held.rows[now[stays]], count).astype(np.int64)
    totals = [counts["chunks"] + counts["events"] for counts in manifest.layer_counts]
    sizes = [LayerSize(int(n), int(n) if is_erasing else total) for n, total in zip(shown, totals, strict=True)]
    kept = layering.kept(sizes, int(held.rows.sum() - shown.sum()))
    if not kept:
        return None
    stays &= layer < kept
    is_fresh = np.ones(len(held.documents), np.bool_)
    is_fresh[now[stays]] = False
    written = held.documents.filter(pa.array(is_fresh)).to_pylist()
    hidden = np.ones(len(documents.place), np.bool_)
    hidden[documents.source[stays]] = False
    left_out = {n: hidden[documents.firsts[n] : documents.firsts[n + 1]] for n in range(kept if is_erasing else 0)}
    left_out = {n: h for n, h in left_out.items() if h.any() or _is_outdated(files[n], folders[n], resolution)}
    if kept < count:
        described = KeyDescriptions.read(files[:kept], folders[:kept])
    return Base(contents, manifest, kept, written, described, left_out, is_erasing)


def _touched(
    files: Sequence[RowFiles],
    folders: Sequence[FilePlace],
    described: KeyDescriptions,
    resolution: Resolution,
    ids: pa.Array,
) -> Rows64:
    """Documents of the release whose links change as their keys stand for others, or are spelled otherwise.

    Perhaps some more: hidden rows name their documents too, which costs time and changes nothing.
    """
    moved = described.moved(resolution)
    carried = moved | {described.resolved.get(key, key) for key in moved}
    keys = described.keys["key_id"]
    is_touched = np.asarray(pc.is_in(keys, pa.array(sorted(carried), pa.string())))
    is_touched[described.respelled(resolution)] = True
    wanted = keys.filter(pa.array(is_touched)).combine_chunks()
    named = [pa.array([], pa.string())]
    for layer, folder in zip(files, folders, strict=True):
        graph = open_graph_arrays(folder / "arrays" / "graph")
        rows = np.flatnonzero(np.asarray(pc.is_in(layer("keys")["key_id"], wanted)))
        _, places = graph["key_chunks"].gather(rows)
        documents = np.unique(graph["chunk_document"][graph["key_chunks"].items[places]])
        named.append(layer("documents")["document_id"].take(pa.array(documents)).combine_chunks())
        if carried:
            triples, said = layer("triples"), pa.array(sorted(carried), pa.string())
            head, tail = (pc.is_in(triples[f"{end}_key_id"], said) for end in ("head", "tail"))
            named.append(triples["document_id"].filter(pc.or_(head, tail)).combine_chunks())
    found: Rows64 = np.unique(np.asarray(pc.drop_null(pc.index_in(pa.concat_arrays(named), ids))).astype(np.int64))
    return found
