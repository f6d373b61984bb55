"""Open a release for reading, and verify that its files are as they were published."""

import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import get_args

import pyarrow as pa

from sag_retrieval.core import durable
from sag_retrieval.core.durable import take_lock
from sag_retrieval.core.errors import ReleaseError, SettingsError
from sag_retrieval.core.home_urls import shown_home
from sag_retrieval.models.protocols import Embedder, expect_fingerprint
from sag_retrieval.release.arrays import Allowed, Arrays, Index, numbered_rows, open_arrays
from sag_retrieval.release.folders import wrong_lengths
from sag_retrieval.release.layers import Joined, Layer, join_links
from sag_retrieval.release.manifest import MANIFEST, Contents, Fill, Manifest, Verify, layer_path
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.sandbox import Restriction, SandboxOptions, SqlSandbox
from sag_retrieval.release.tables import (
    MADE,
    RowFiles,
    RowTables,
    VectorMode,
    VectorTables,
    check_arrays,
    damaged_arrays,
)
from sag_retrieval.release.taken_out import TakenOut
from sag_retrieval.release.where import schema_of_release

OpenEmbedder = Callable[[str, Path], Embedder]
"""Model name of the manifest and the release's `embedder` folder → the embedder for queries."""
_AT_ONCE = 2


def open_contents(
    contents: Contents, manifest: Manifest, vectors: VectorMode = "mapped"
) -> tuple[RowTables, Arrays, VectorTables]:
    """Map the files of a release, of which those of rows and vectors are read when they are first used."""
    below = [layer_path(number) for number in range(len(manifest.layer_counts))]
    contents.check(*(f"{layer}arrays/{part}/" for layer in below for part in ("graph", "text", "names")))
    tables = VectorTables(contents, manifest, vectors)
    files = [RowFiles(contents, manifest, number) for number in range(len(below))]
    joined: Mapping[str, Joined] = {}
    if len(below) == 1:
        arrays = open_arrays(contents.folder / "arrays", tables)
    else:
        layers = [Layer.open(contents.place(layer), rows) for layer, rows in zip(below, files, strict=True)]
        try:
            found = join_links(layers, manifest.smoothing)
            arrays = found.with_text(layers, tables)
        except (IndexError, ValueError, KeyError, pa.ArrowException) as error:  # numbers beyond the ends
            raise damaged_arrays(manifest, str(error)) from error
        joined = tables.joined = found.rows
    check_arrays(arrays, manifest, is_trusted=contents.is_checked)
    return RowTables(manifest, files, arrays, joined), arrays, tables


class Reader:
    """An opened release, safe to share between threads. Pruning skips it until it is closed."""

    _within = ""
    _gone: tuple[frozenset[str], frozenset[str], str] = (frozenset(), frozenset(), "")
    _unlock: Callable[[], object]
    _whole: "Reader | None" = None

    def __init__(
        self,
        folder: Path,
        open_embedder: OpenEmbedder,
        verify: Verify = "lazy",
        vectors: VectorMode = "mapped",
        fill: Fill | None = None,
        taken_out: TakenOut | None = None,
    ) -> None:
        """Open a release folder; compare the lengths of its files, and their bytes at the time chosen by `verify`.

        `taken_out` names documents that are not shown.

        Raises:
            ReleaseError: If it cannot be used by this package, or is damaged.
            SettingsError: If `verify` or `vectors` is none of theirs, or Lance is not installed.
        """
        if vectors not in get_args(VectorMode):
            raise SettingsError(f"vectors {vectors!r} is none of {', '.join(get_args(VectorMode))}")
        if vectors == "lance" and find_spec("lancedb") is None:
            raise SettingsError('vectors "lance" needs lancedb: pip install "sag[lance]"')
        self.folder = folder
        self.manifest = Manifest.read(folder)
        hold = os.open(folder / MANIFEST, os.O_RDONLY)
        self._unlock = weakref.finalize(self, os.close, hold)
        take_lock(hold, is_shared=True, waits=True)
        if not os.path.samestat(os.fstat(hold), (folder / MANIFEST).stat()):
            raise FileNotFoundError(folder)  # it was pruned or replaced while this waited for the lock
        self.contents = Contents(folder, self.manifest, verify, fill)
        self._open_embedder = open_embedder
        self._vectors = vectors
        self._taken_out = taken_out
        self._lock = Lock()

    @property
    def gone(self) -> frozenset[str]:
        """Documents of this release that people took out since."""
        named = self._taken_out() if self._taken_out else self._gone[0]
        if named is not self._gone[0] and named != self._gone[0]:
            found = sorted(named.intersection(self.index.rows["documents"]["document_id"].to_pylist()))
            mark = blake2b("\0".join(found).encode(), digest_size=8).hexdigest() if found else ""
            self._gone = named, frozenset(found), mark
        return self._gone[1]

    @property
    def within(self) -> str:
        """The restriction of all that may be seen, in words; empty: everything may."""
        return f"{self._within} without {self._gone[2]}" if self.gone else self._within

    @cached_property
    def index(self) -> Index:
        """Rows, arrays and embedder, in memory maps; rows and vectors of a table are checked when it is first used."""
        with self._lock:
            self.contents.check("embedder/")
            embedder = self._open_embedder(self.manifest.embedding_model, self.folder / "embedder")
            expect_fingerprint(embedder, self.manifest.embedder_fingerprint)
            if embedder.fingerprint != self.manifest.embedder_fingerprint:
                raise ReleaseError(
                    f"release {self.manifest.release_id} was embedded by {self.manifest.embedder_fingerprint}, "
                    f"queries would be by {embedder.fingerprint}; open it with the embedder it was made with"
                )
            rows, arrays, _ = open_contents(self.contents, self.manifest, self._vectors)
            return Index(rows, arrays, embedder)

    @cached_property
    def sandbox(self) -> SqlSandbox:
        """The only way to its SQL tables, which are the rows of `index`, with their numbers."""
        index = self.index
        with self._lock:
            options = SandboxOptions(schema=schema_of_release(self.manifest.key_schema))
            return SqlSandbox(
                numbered_rows(index.rows, index.arrays), options=options, index=index, gone=lambda: self.gone
            )

    def allowed(self, sql: Restriction = None, where: Mapping[str, object] | None = None) -> Allowed | None:
        """The rows that a restriction, and that of this reader, leave; None: all."""
        is_free = sql is None and (where is None or where == {}) and not self.within
        return None if is_free else self.sandbox.allowed(sql, where)

    def under(self, sql: Restriction, where: Mapping[str, object] | None) -> "Reader":
        """The same release for someone who may see no more than a restriction leaves; closing it closes nothing."""
        found = copy(self)
        found.__dict__["sandbox"] = self.sandbox.under(sql, where)
        found._within = json.dumps([self._within, sql, where], ensure_ascii=False, sort_keys=True, default=str)  # noqa: SLF001
        found._whole, found._unlock = self, lambda: None  # noqa: SLF001  a copy of this
        return found

    def close(self) -> None:
        """Release the read lock, so that the release can be pruned; tables that were used before stay readable."""
        self._unlock()


def open_reader(
    home: Path,
    release: str | None,
    open_embedder: OpenEmbedder,
    verify: Verify = "lazy",
    vectors: VectorMode = "mapped",
) -> Reader:
    """Open the release with this id, or the current one, below a home."""
    by_block, below = verify == "lazy", Releases(home)
    for _ in range(3):  # a release may be pruned between reading the pointer and opening it
        try:
            folder = below.path(release, by_block=by_block)
            fill = below.remote.filler(folder.name) if below.remote and by_block else None
            return Reader(folder, open_embedder, verify, vectors, fill, TakenOut(home))
        except FileNotFoundError:
            continue
    named = f"release {release}" if release else "the current release"
    raise ReleaseError(f"{named} below {shown_home(home)} was deleted while it was opened; try again")


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file of a release, by its path below it, and what is wrong with it."""

    file: str
    what: str


def verify_release(folder: Path, *, deep: bool = True) -> list[FileFault]:
    """The faults of a release by file; empty if it is as it was published.

    Unless `deep`, only lengths are compared, and whether tables and arrays fit one another.
    """
    try:
        manifest = Manifest.read(folder)
    except ReleaseError as error:
        return [FileFault(MANIFEST, str(error))]
    if not manifest.files:
        return [FileFault(MANIFEST, "it names no files, as those of version 0.1; nothing can be verified")]
    files = manifest.files
    found = [FileFault(*each) for each in wrong_lengths(folder, files)]
    if deep:
        known = {fault.file for fault in found}
        found += _changed(folder, {name: digest for name, (_, digest) in files.items() if name not in known})
    if not found:
        found = [*_misfits(folder, manifest)]
    return sorted(found, key=lambda fault: fault.file)


def _changed(folder: Path, digests: dict[str, str]) -> Iterator[FileFault]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda name: _fault_of(folder / name, digests[name]), digests)
        yield from (FileFault(name, what) for name, what in zip(digests, found, strict=True) if what)


def _fault_of(path: Path, wanted: str) -> str:
    try:
        return "" if durable.digest_of(path) == wanted else "its bytes are not as published"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _misfits(folder: Path, manifest: Manifest) -> Iterator[FileFault]:
    contents = Contents(folder, manifest, "off")
    try:
        rows, _, vectors = open_contents(contents, manifest)
    except ReleaseError as error:
        yield FileFault("arrays", str(error))
        return
    for name, tables in (("rows", rows), ("arrays/vectors", vectors)):
        for table in set(tables) - set(MADE):  # what is made of others has no fault of its own
            try:
                tables[table]
            except ReleaseError as error:
                yield FileFault(f"{name}/{table}", str(error))
