"""Build a release from the store's tables in a draft folder, check it, and make it current by a rename."""

import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.progress import listener
from sag_pipeline.publish.checks import Check, Gate, ask_gate, check_release, fault_of
from sag_pipeline.publish.links import LINK_TABLES
from sag_pipeline.publish.relational import Relational, build_tables, write_database
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import KINDS, VectorIds, VectorStore, vector_ids
from sag_pipeline.tables import RECORDS
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import write_arrays
from sag_retrieval.release.folders import DRAFT, Measure, erase, measure, set_aside
from sag_retrieval.release.manifest import CHECKSUMS, Manifest, summed
from sag_retrieval.release.placed import LANCE, open_placed, write_placed
from sag_retrieval.release.release_graph import FOLDER, MentionLinks, write_graph
from sag_retrieval.release.releases import Releases, sweep_releases
from sag_retrieval.release.schema import MAPPED, SCHEMA_VERSION, VOLATILE
from sag_retrieval.release.topk import INDEXED_ROWS, describe_binary_index, write_binary_index
from sag_retrieval.release.vectors import write_vectors

_SYNCS_AT_ONCE: Final = 8
"""Syncs wait for the disk, which handles many at once; hashing uses the processors meanwhile."""
_PUBLISH_VERSION = "1"
_AT_ONCE = 2
_BLOCK_BYTES = 100_000_000
_HASHED_TOGETHER = 65_536
_log = logging.getLogger(__name__)


def seal(draft: Path, manifest: Manifest) -> None:
    """Write the checksums and the manifest of a finished release, after syncing all its files and folders to disk."""
    paths = sorted(path for path in draft.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_SYNCS_AT_ONCE) as pool:
        measured = dict(
            zip((path.relative_to(draft).as_posix() for path in paths), pool.map(_settle, paths), strict=True)
        )
    sums = [measured[name].sums for name in summed(measured)]
    np.save(draft / CHECKSUMS, np.concatenate([np.zeros(0, np.uint64), *sums]))
    measured[CHECKSUMS] = _settle(draft / CHECKSUMS)
    durable.sync_all(Path(folder) for folder, _, _ in os.walk(draft))
    files = {name: (measured[name].length, measured[name].digest) for name in sorted(measured)}
    replace(manifest, files=files).write(draft)


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


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder of a release: its setting, the embedder, its vectors, and how to save what queries need."""

    model: str
    embedder: Embedder
    vectors: VectorStore
    save: Callable[[Path], None]


def publish(store: Store, embedding: Embedding, now: str, gate: Gate | None = None) -> Publication:
    """Bring the current release up to date with the store; the same content gives the same release.

    Args:
        store: The store, locked.
        embedding: The embedder, with its vectors.
        now: The time that the manifest of a new release has.
        gate: What a release must pass, once it can be opened, to become current; one that fails stays beside it.

    Raises:
        SourceError: If no document is stored and there is no release to bring up to date: nothing could be found in it.

    """
    releases = Releases(store.home)
    if releases.current() is None:
        _refuse_first_without_document(store)
    state = blake2b(
        f"{_PUBLISH_VERSION}|{SCHEMA_VERSION}|{embedding.embedder.fingerprint}|{store.state_hash(_READ)}".encode(),
        digest_size=12,
    ).hexdigest()
    sweep_releases(store.home)
    done = store.ledger.whole("release")
    if done and done.input_hash == state and _is_sound(releases, done.output_hash, embedding):
        if releases.current() != done.output_hash:
            releases.make_current(done.output_hash)
        checks: Sequence[Check] = ask_gate(gate, releases, done.output_hash, is_new=False)
        return Publication(Manifest.read(releases.path()), is_new=False, checks=checks)
    draft = releases.folder / f"{DRAFT}{uuid4().hex}"
    durable.make_folder(draft)
    try:
        manifest, checks = _build(draft, store, embedding)
        manifest = replace(manifest, input_hash=state, created_at=now)
        if not all(check.passed for check in checks):
            return Publication(manifest, is_new=False, checks=checks)
        is_new = _place(draft, manifest, releases, embedding)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    checks = [*checks, *ask_gate(gate, releases, manifest.release_id, is_new=is_new)]
    if is_new:
        _push(store, releases, manifest.release_id)
    manifest = Manifest.read(releases.path(manifest.release_id))
    if not all(check.passed for check in checks):
        return Publication(manifest, is_new=False, checks=checks)
    # First, as only one of two runs on two machines can commit; the next run makes current what a kill left out.
    store.ledger.commit([Entry.of_whole("release", input_hash=state, output_hash=manifest.release_id)])
    releases.make_current(manifest.release_id)
    return Publication(manifest, is_new, checks)


def _place(draft: Path, manifest: Manifest, releases: Releases, embedding: Embedding) -> bool:
    """Put a checked draft where releases lie, unless the same is there undamaged; whether it was put there."""
    if _is_sound(releases, manifest.release_id, embedding):
        return False
    listener()("release", 0, 0, "checksums")
    seal(draft, manifest)
    _take_place(draft, releases.folder / manifest.release_id)
    return True


def _push(store: Store, releases: Releases, release_id: str) -> None:
    """Copy a release to the bucket of the home, if it has one; its manifest goes last."""
    if releases.remote and store.bucket:
        known = releases.remote.known() | store.bucket.known()
        releases.remote.push(releases.folder / release_id, known)


def _refuse_first_without_document(store: Store) -> None:
    documents, _, skipped = store.ledger.counts("documents")
    if documents:
        return
    if not skipped:
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


def _take_place(draft: Path, place: Path) -> None:
    """Rename a draft to its place; a damaged release there is deleted, and readers keep the files they have mapped."""
    gone = set_aside(place) if place.exists() else None
    durable.rename(draft, place)
    if gone:
        erase(gone)


_READ = (*RECORDS, "calls", *LINK_TABLES, "idf")


def _build(draft: Path, store: Store, embedding: Embedding) -> tuple[Manifest, Sequence[Check]]:
    report = listener()
    report("release", 0, 0, "tables")
    made = build_tables(store)
    tables = made.tables
    report("release", 0, 0, "vectors, full text and database")
    embedding.save(draft / "embedder")
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # longest first; most of the work is done outside Python
        hashed = {name: vector_ids_of(name, tables[name]) for name in KINDS}
        written = {name: pool.submit(_write_vectors, draft, name, hashed[name], embedding) for name in KINDS}
        database = pool.submit(write_database, draft / "sag.duckdb", made)
        arrays = pool.submit(_write_arrays, draft / "arrays", made)
        hashes = {
            name: _write_rows(draft / "rows", name, rows) for name, rows in tables.items() if name not in VOLATILE
        }
        for done in (database, arrays):
            done.result()
        index = {name: done.result() for name, done in written.items()}
    content = _content_hash(hashes, embedding.embedder.fingerprint)
    manifest = Manifest(
        release_id=f"r{content[:12]}",
        schema_version=SCHEMA_VERSION,
        content_hash=content,
        input_hash="",
        created_at="",
        embedding_model=embedding.model,
        embedder_fingerprint=embedding.embedder.fingerprint,
        dimension=embedding.embedder.dimension,
        counts={name: rows.num_rows for name, rows in tables.items()},
        hashes=hashes,
        checks={},
        index=index,
    )
    report("release", 0, 0, "checks")
    checks = check_release(draft, manifest, tables)
    return replace(manifest, checks={check.name: check.as_json() for check in checks}), checks


def _write_arrays(folder: Path, made: Relational) -> None:
    write_arrays(folder, made.parts, made.tables)
    write_graph(folder / FOLDER, made.tables, MentionLinks.of_parts(made.parts))


def _write_rows(folder: Path, name: str, rows: pa.Table) -> str:
    """Write a table as an Arrow file in fixed batches, so that equal rows give equal bytes; the hash of the file."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=65_536)
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 22):
            digest.update(block)
    if name not in MAPPED:
        path.unlink()
    return digest.hexdigest()


def _content_hash(hashes: Mapping[str, str], fingerprint: str) -> str:
    lines = [f"{SCHEMA_VERSION}", fingerprint, *(f"{name} {hashes[name]}" for name in sorted(hashes))]
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _write_vectors(draft: Path, name: str, hashes: VectorIds, embedding: Embedding) -> Mapping[str, Any]:
    """Write what a release needs to read the vectors of one table; the description of their index.

    Dense vectors stay in the files of Lance, which are linked; sparse ones, and those that Lance stores in a form that
    cannot be mapped, are written as arrays.
    """
    folder, shape = draft / "arrays" / "vectors", (len(hashes), embedding.embedder.dimension)
    table = embedding.vectors.sealed(name)
    if table is not None and table.runs:
        embedding.vectors.link(name, draft / LANCE / f"{name}.lance")
        write_placed(folder, name, embedding.vectors.row_ids(name, hashes), table.runs, shape[1])
        if len(hashes) > INDEXED_ROWS:
            write_binary_index(folder, name, open_placed(folder, name))
    else:
        rows_a_block = max(1, _BLOCK_BYTES // (4 * shape[1]))
        write_vectors(folder, name, embedding.vectors.blocks(hashes, rows_a_block), shape)
    return {"kind": "none", "rows": len(hashes)} | describe_binary_index(folder, name)


def embedded_texts(table: str, rows: pa.Table) -> pa.ChunkedArray:
    """The embedded text of each row, equal to `indexed_text` of its record; empty for keys that are not text."""
    if table == "keys":
        return pc.fill_null(rows["value_string"], "")
    before, mark, own = ("header", "\n", "text") if table == "chunks" else ("title", ": ", "content")
    first = rows[before]
    return pc.if_else(pc.equal(first, ""), rows[own], pc.binary_join_element_wise(first, rows[own], mark))


def vector_ids_of(table: str, rows: pa.Table) -> VectorIds:
    """The id of the vector of each row of a release's table."""
    texts = embedded_texts(table, rows)
    blocks = (texts[start : start + _HASHED_TOGETHER] for start in range(0, len(texts), _HASHED_TOGETHER))
    return vector_ids(text for block in blocks for text in block.to_pylist())
