"""An opened release: its manifest, its index in memory maps, and the door to its SQL tables, opened when needed."""

import fcntl
import os
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock

import pyarrow as pa

from sag_retrieval.errors import ReleaseError
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import open_arrays
from sag_retrieval.release.files import Manifest, Releases
from sag_retrieval.release.filters.door import Door, open_door
from sag_retrieval.release.index import Index

OpenEmbedder = Callable[[str, Path], Embedder]
"""Model name of the manifest and the release's `embedder` folder → the embedder for queries."""


class Reader:
    """A release held open, safe to share between threads. Pruning passes over it as long as it is held."""

    def __init__(self, folder: Path, open_embedder: OpenEmbedder) -> None:
        """Open a release folder.

        Raises:
            ReleaseError: If it cannot be used by this package.

        """
        self.folder = folder
        self.manifest = Manifest.read(folder)
        hold = os.open(folder / "manifest.json", os.O_RDONLY)
        self._let_go = weakref.finalize(self, os.close, hold)
        fcntl.flock(hold, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(hold), (folder / "manifest.json").stat()):
            raise FileNotFoundError(folder)  # it was pruned or replaced while this waited for the lock
        self._open_embedder = open_embedder
        self._lock = Lock()

    @cached_property
    def index(self) -> Index:
        """Rows, arrays and embedder, in memory maps."""
        with self._lock:
            embedder = self._open_embedder(self.manifest.embedding_model, self.folder / "embedder")
            if embedder.fingerprint != self.manifest.embedder_fingerprint:
                raise ReleaseError(
                    f"release {self.manifest.release_id} was embedded by {self.manifest.embedder_fingerprint}, "
                    f"queries would be by {embedder.fingerprint}; open it with the embedder it was made with"
                )
            rows = {path.stem: _map_rows(path) for path in sorted((self.folder / "rows").glob("*.arrow"))}
            return Index(rows, open_arrays(self.folder / "arrays"), embedder)

    @cached_property
    def door(self) -> Door:
        """The only way to its SQL tables."""
        with self._lock:
            return open_door(self.folder / "sag.duckdb")

    def close(self) -> None:
        """Let pruning have the release; what is mapped stays readable."""
        self._let_go()


def _map_rows(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def open_reader(home: Path, release: str | None, open_embedder: OpenEmbedder) -> Reader:
    """The release with this id, or the one in force, below a home.

    Raises:
        ReleaseError: If it is not there, or was pruned while it was being opened.

    """
    for _ in range(3):  # a release may be pruned between reading the pointer and opening it
        path = Releases(home).path(release)
        try:
            return Reader(path, open_embedder)
        except FileNotFoundError:
            continue
    raise ReleaseError(f"release {release or 'in force'} below {home} went away while it was opened; try again")
