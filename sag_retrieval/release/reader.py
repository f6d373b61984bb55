"""Open a release for reading, and verify that its files are as they were published."""

import fcntl
import os
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import get_args

import numpy as np

from sag_retrieval.core.errors import ReleaseError, SettingsError
from sag_retrieval.core.home_urls import shown_home
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import Index, open_arrays
from sag_retrieval.release.folders import digest_of, wrong_lengths
from sag_retrieval.release.manifest import MANIFEST, Contents, Manifest, Verify
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.sandbox import SqlSandbox, open_sandbox
from sag_retrieval.release.tables import RowTables, check_arrays
from sag_retrieval.release.vector_tables import VectorMode, VectorTables

OpenEmbedder = Callable[[str, Path], Embedder]
"""Model name of the manifest and the release's `embedder` folder → the embedder for queries."""
_AT_ONCE = 2


class Reader:
    """An opened release, safe to share between threads. Pruning skips it until it is closed."""

    def __init__(
        self, folder: Path, open_embedder: OpenEmbedder, verify: Verify = "lazy", vectors: VectorMode = "mapped"
    ) -> None:
        """Open a release folder; compare the lengths of its files, and their bytes at the time chosen by `verify`.

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
        fcntl.flock(hold, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(hold), (folder / MANIFEST).stat()):
            raise FileNotFoundError(folder)  # it was pruned or replaced while this waited for the lock
        self.contents = Contents(folder, self.manifest, verify)
        self._open_embedder = open_embedder
        self._vectors = vectors
        self._lock = Lock()

    @cached_property
    def index(self) -> Index:
        """Rows, arrays and embedder, in memory maps; rows and vectors of a table are checked when it is first used.

        Raises:
            ReleaseError: If a file is damaged.

        """
        with self._lock:
            self.contents.check("embedder/", "arrays/graph/", "arrays/text/", "arrays/names/")
            embedder = self._open_embedder(self.manifest.embedding_model, self.folder / "embedder")
            if embedder.fingerprint != self.manifest.embedder_fingerprint:
                raise ReleaseError(
                    f"release {self.manifest.release_id} was embedded by {self.manifest.embedder_fingerprint}, "
                    f"queries would be by {embedder.fingerprint}; open it with the embedder it was made with"
                )
            vectors = VectorTables(self.contents, self.manifest, self._vectors)
            arrays = open_arrays(self.folder / "arrays", vectors)
            check_arrays(arrays, self.manifest, is_trusted=self.contents.is_checked)
            return Index(RowTables(self.contents, self.manifest), arrays, embedder)

    @cached_property
    def sandbox(self) -> SqlSandbox:
        """The only way to its SQL tables.

        Raises:
            ReleaseError: If the database is damaged. DuckDB compares each block that it reads with its own checksum;
                its headers, which have none, are checked here.

        """
        with self._lock:
            self.contents.check_blocks("sag.duckdb", np.zeros(1, np.int64))
            return open_sandbox(self.folder / "sag.duckdb")

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
    """Open the release with this id, or the current one, below a home.

    Raises:
        ReleaseError: If it is not there, or was pruned while it was being opened.

    """
    for _ in range(3):  # a release may be pruned between reading the pointer and opening it
        try:
            return Reader(Releases(home).path(release), open_embedder, verify, vectors)
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

    Args:
        folder: The release's folder.
        deep: Compare the hash of every file; else only the lengths, and whether tables and arrays fit one another.

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
        return "" if digest_of(path) == wanted else "its bytes are not as published"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _misfits(folder: Path, manifest: Manifest) -> Iterator[FileFault]:
    """Tables and arrays that do not fit one another or the counts of the manifest."""
    contents = Contents(folder, manifest, "off")
    for name, tables in (("rows", RowTables(contents, manifest)), ("arrays/vectors", VectorTables(contents, manifest))):
        for table in tables:
            try:
                tables[table]
            except ReleaseError as error:
                yield FileFault(f"{name}/{table}", str(error))
    try:
        check_arrays(open_arrays(folder / "arrays", {}), manifest, is_trusted=False)
    except ReleaseError as error:
        yield FileFault("arrays", str(error))
