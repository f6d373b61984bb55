"""An opened release: its manifest, its index in memory maps, and the door to its SQL tables, opened when needed."""

import fcntl
import os
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import Index, open_arrays
from sag_retrieval.release.manifest import MANIFEST, Contents, Manifest, Verify
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.sandbox import SqlSandbox, open_sandbox
from sag_retrieval.release.tables import RowTables, VectorTables, check_arrays

OpenEmbedder = Callable[[str, Path], Embedder]
"""Model name of the manifest and the release's `embedder` folder → the embedder for queries."""


class Reader:
    """A release held open, safe to share between threads. Pruning passes over it as long as it is held."""

    def __init__(self, folder: Path, open_embedder: OpenEmbedder, verify: Verify = "lazy") -> None:
        """Open a release folder; all its files are there in their length, their bytes are compared as `verify` says.

        Raises:
            ReleaseError: If it cannot be used by this package, or is damaged.

        """
        self.folder = folder
        self.manifest = Manifest.read(folder)
        hold = os.open(folder / MANIFEST, os.O_RDONLY)
        self._let_go = weakref.finalize(self, os.close, hold)
        fcntl.flock(hold, fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(hold), (folder / MANIFEST).stat()):
            raise FileNotFoundError(folder)  # it was pruned or replaced while this waited for the lock
        self.contents = Contents(folder, self.manifest, verify)
        self._open_embedder = open_embedder
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
            arrays = open_arrays(self.folder / "arrays", VectorTables(self.contents, self.manifest))
            check_arrays(arrays, self.manifest, is_trusted=self.contents.is_checked)
            return Index(RowTables(self.contents, self.manifest), arrays, embedder)

    @cached_property
    def sandbox(self) -> SqlSandbox:
        """The only way to its SQL tables.

        Raises:
            ReleaseError: If the database is damaged. DuckDB compares each block it reads with a checksum of its own;
                its headers, which have none, are checked here.

        """
        with self._lock:
            self.contents.check_blocks("sag.duckdb", np.zeros(1, np.int64))
            return open_sandbox(self.folder / "sag.duckdb")

    def close(self) -> None:
        """Let pruning have the release; tables that were used before stay readable."""
        self._let_go()


def open_reader(home: Path, release: str | None, open_embedder: OpenEmbedder, verify: Verify = "lazy") -> Reader:
    """The release with this id, or the one in force, below a home.

    Raises:
        ReleaseError: If it is not there, or was pruned while it was being opened.

    """
    for _ in range(3):  # a release may be pruned between reading the pointer and opening it
        path = Releases(home).path(release)
        try:
            return Reader(path, open_embedder, verify)
        except FileNotFoundError:
            continue
    raise ReleaseError(f"release {release or 'in force'} below {home} went away while it was opened; try again")
