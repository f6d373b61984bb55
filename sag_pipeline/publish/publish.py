"""Build a release from the store's tables in a draft folder, check it, and make it current by a rename."""

import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np

from sag_pipeline.progress import listener
from sag_pipeline.publish.build import (
    PUBLISH_VERSION,
    Embedding,
    ReleaseInput,
    bare_manifest,
    build_layer,
    build_whole,
    schema_in_manifest,
)
from sag_pipeline.publish.changes import Base, Held, Layering, find_base
from sag_pipeline.publish.checks import Check, Gate, ask_gate, fault_of
from sag_pipeline.publish.links import LINK_TABLES, Resolution
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import Store
from sag_pipeline.tables import RECORDS
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.release.folders import DRAFT, Measure, erase, link, measure, set_aside
from sag_retrieval.release.manifest import CHECKSUMS, Manifest, sums_file
from sag_retrieval.release.releases import Releases, sweep_releases
from sag_retrieval.release.schema import SCHEMA_VERSION

_SYNCS_AT_ONCE: Final = 8
"""Syncs wait for the disk, which handles many at once; hashing uses the processors meanwhile."""
_LAYERING: Final = Layering()
_READ: Final = (*RECORDS, "calls", *LINK_TABLES, "idf", "revisions")
_log = logging.getLogger(__name__)


def seal(draft: Path, manifest: Manifest, base: Base | None = None) -> None:
    """Write the checksums and the manifest of a finished release, after syncing all its files and folders to disk.

    Files that it shares with a release that was sealed before are neither read nor synced again.
    """
    paths = {path.relative_to(draft).as_posix(): path for path in draft.rglob("*") if path.is_file()}
    measured = {
        name: Measure(*base.manifest.files[name], base.contents.sums(name))
        for name, path in paths.items()
        if base and _is_shared(path, name, base)
    }
    own = [name for name in paths if name not in measured]
    with ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        measured |= zip(own, pool.map(lambda name: _settle(paths[name]), own), strict=True)
    measured |= {name: _settle(draft / name) for name in [*_write_sums(draft, measured, base)]}
    durable.sync_all(Path(folder) for folder, _, _ in os.walk(draft))
    files = {name: (measured[name].length, measured[name].digest) for name in sorted(measured)}
    replace(manifest, files=files).write(draft)


def _write_sums(draft: Path, measured: Mapping[str, Measure], base: Base | None) -> Iterator[str]:
    """Write the checksums of all files, or link them where the file is linked; names of the files that have them."""
    together = [np.zeros(0, np.uint64)]
    for name in sorted(measured):
        file = sums_file(name, measured[name].length)
        if file == CHECKSUMS:
            together.append(measured[name].sums)
            continue
        if base and file in base.manifest.files and _is_shared(draft / name, name, base):
            link(base.contents.folder / file, draft / file)
        else:
            (draft / file).parent.mkdir(parents=True, exist_ok=True)
            np.save(draft / file, measured[name].sums)
        yield file
    np.save(draft / CHECKSUMS, np.concatenate(together))
    yield CHECKSUMS


def _is_shared(path: Path, name: str, base: Base) -> bool:
    return name in base.manifest.files and path.samefile(base.contents.folder / name)


def _settle(path: Path) -> Measure:
    durable.sync(path)
    return measure(path)


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publish did: the manifest of what was built, whether it is a new release, and what the checks found.

    If a check fails, the previous release stays current and the draft is deleted.
    """

    manifest: Manifest
    is_new: bool
    checks: Sequence[Check] = ()

    @property
    def faults(self) -> str:
        """Messages of the failed checks; empty if the release is current."""
        return "; ".join(f"{check.name}: {check.message}" for check in self.checks if not check.passed)


def publish(
    store: Store,
    embedding: Embedding,
    now: str,
    gate: Gate | None = None,
    layering: Layering | None = None,
    schema: KeySchema | None = None,
) -> Publication:
    """Bring the current release up to date with the store, which is locked; the same content gives the same release.

    Args:
        store: The store.
        embedding: The embedder, with its vectors.
        now: The time that the manifest of a new release has.
        gate: What a release must pass, once it can be opened, to become current; one that fails stays beside it.
        layering: When it is written in layers, and in how many.
        schema: The key types that the release describes.

    Raises:
        SourceError: If no document is stored and there is no release to bring up to date: nothing could be found in it.
    """
    releases = Releases(store.home)
    if (current := releases.current()) is None:
        _refuse_first_without_document(store)
    state = _state(store, embedding, schema := schema or default_schema())
    sweep_releases(store.home)
    done = store.ledger.whole("release")
    if done and done.input_hash == state and _is_shown(embedding) and _is_sound(releases, done.output_hash, embedding):
        if releases.current() != done.output_hash:
            releases.make_current(done.output_hash)
        checks: Sequence[Check] = ask_gate(gate, releases, done.output_hash, is_new=False)
        return Publication(Manifest.read(releases.path()), is_new=False, checks=checks)
    draft = releases.folder / f"{DRAFT}{uuid4().hex}"
    durable.make_folder(draft)
    try:
        source = ReleaseInput(store, embedding, Resolution.read(store), Held.read(store), schema)
        base = find_base(
            store,
            embedding.vectors,
            source.resolution,
            source.held,
            layering or _LAYERING,
            bare_manifest(source).release_id,
        )
        manifest, checks = build_layer(draft, source, base) if base else build_whole(draft, source)
        manifest = replace(manifest, input_hash=state, created_at=now, checks={c.name: c.as_json() for c in checks})
        if not all(check.passed for check in checks):
            return Publication(manifest, is_new=False, checks=checks)
        is_new = _place(draft, manifest, base, releases, embedding)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    checks = [*checks, *ask_gate(gate, releases, manifest.release_id, is_new=is_new)]
    if is_new and releases.remote and store.bucket:
        releases.remote.push(releases.folder / manifest.release_id, releases.remote.known() | store.bucket.known())
    manifest = Manifest.read(releases.path(manifest.release_id))
    if not all(check.passed for check in checks):
        return Publication(manifest, is_new=False, checks=checks)
    # First, as only one of two runs on two machines can commit; the next run makes current what a kill left out.
    store.ledger.commit([Entry.of_whole("release", input_hash=state, output_hash=manifest.release_id)])
    releases.make_current(manifest.release_id)
    return Publication(manifest, is_new or current != manifest.release_id, checks)


def _is_shown(embedding: Embedding) -> bool:
    """Whether the store has rows of a release: those of computed vectors are nowhere else, if it lost them."""
    return embedding.computed is None or embedding.vectors.count() > 0


def _state(store: Store, embedding: Embedding, schema: KeySchema) -> str:
    """Hash of everything that a release is made from."""
    parts = [PUBLISH_VERSION, SCHEMA_VERSION, embedding.embedder.fingerprint, store.state_hash(_READ)]
    described = schema_in_manifest(schema)
    parts += [described] if described else []
    return blake2b("|".join(map(str, parts)).encode(), digest_size=12).hexdigest()


def _place(draft: Path, manifest: Manifest, base: Base | None, releases: Releases, embedding: Embedding) -> bool:
    """Put a checked draft where releases lie, unless the same is there undamaged; whether it was put there."""
    if _is_sound(releases, manifest.release_id, embedding):
        return False
    listener()("release", 0, 0, "checksums")
    seal(draft, manifest, base)
    place = releases.folder / manifest.release_id
    gone = set_aside(place) if place.exists() else None  # a damaged one, whose readers keep the files they have mapped
    durable.rename(draft, place)
    if gone:
        erase(gone)
    return True


def _refuse_first_without_document(store: Store) -> None:
    found = store.ledger.counts("documents")
    if found["documents"]:
        return
    if not (skipped := found["skipped"]):
        raise SourceError(
            "no release is published: no source holds a file to read; check the folder, and the patterns of "
            "`--include` and `--exclude`, then run `sag ingest FOLDER` again"
        )
    files = "the only file was" if skipped == 1 else f"all {skipped:,} files were"
    raise SourceError(
        f"no release is published: {files} skipped with errors; `sag status` shows why; correct them or name another "
        "folder, then run `sag ingest FOLDER` again"
    )


def _is_sound(releases: Releases, release_id: str, embedding: Embedding) -> bool:
    """Whether a release exists undamaged; a damaged one is built again."""
    folder = releases.folder / release_id
    if releases.remote and not (releases.remote.has(release_id) and releases.remote.pull(release_id)):
        return False
    if not folder.exists():
        return False
    fault = fault_of(folder, embedding.embedder)
    if fault:
        _log.warning("release %s cannot be used and is built again: %s", release_id, fault)
    return not fault
