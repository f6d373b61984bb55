"""A home in a bucket, as a run sees it: fetched to the mirror when it begins, sent at each commit, all or nothing.

HEAD                           which files the home has: ledger, sources, embedder, vectors; replaced on the tag seen
tables/<table>/<part>.parquet  parts, named by their hash; the ledger names them
answers/<hash>.parquet         answers of models
files/<hash>                   the bytes of every other file

A commit sends the parts and files first and replaces HEAD last. Where another run replaced it meanwhile, nothing of the
commit counts, and the run is over; what it sent is not named by anything and is deleted later.
"""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sag_pipeline.store.shared_answers import pull_answers, push_answers
from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError, SourceError, StoreError
from sag_retrieval.release.folders import write_lock
from sag_retrieval.remote.buckets import refuse_without_conditions
from sag_retrieval.remote.cache import make_room
from sag_retrieval.remote.mirror import FILES, Entries, Mirror, Tree, measure, mirror_of

HEAD: Final = "HEAD"
_STATE: Final = ("ledger", "embedder", "vectors")
"""Folders of files that HEAD names."""
_SINGLE: Final = ("sources.json", "ledger.last")
_MEASURED: Final = ".measured.json"
_PROBED: Final = ".keeps-conditions"
_AT_ONCE: Final = 8
_HOURS_UNUSED: Final = 24.0
"""Parts that no commit names are deleted after this time: a run under way may have sent them just now."""
TableAndPart = tuple[str, str]
"""Table and name of a part."""


class BucketHome:
    """The working files of a home in a bucket; used by one run at a time on this machine, which holds the lock."""

    def __init__(self, mirror: Mirror) -> None:
        """Keep the mirror; the bucket is not asked before the first use."""
        self.mirror = mirror
        self._tree = Tree()
        self._sent = set[TableAndPart]()
        self._measured = self._load_measured()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def read_head(self) -> None:
        """Note what HEAD names now; the next commit replaces just that."""
        self._tree = self.mirror.tree(HEAD)

    def entries(self) -> Entries:
        """What HEAD named: length and hash of each working file by path."""
        return self._tree.entries

    def pull(self, *, whole: bool, is_tolerant: bool = False) -> None:
        """Make the working files of the mirror those of the bucket.

        Args:
            whole: Also the vectors themselves and the answers of models.
            is_tolerant: Leave out files that are missing or damaged in the bucket, for repair.

        Raises:
            BucketError: If the bucket cannot be read, or a file is missing or damaged there.

        """
        self.read_head()
        for path in set(self._local()) - set(self._tree.entries):
            (self.mirror.folder / path).unlink(missing_ok=True)
        wanted = {path: e for path, e in self._tree.entries.items() if whole or _is_small(path)}
        stale = {path: entry for path, entry in wanted.items() if self._measure(path) != entry}
        for path in stale:
            (self.mirror.folder / path).unlink(missing_ok=True)
        self.mirror.fetch_all(stale, self.mirror.folder, is_tolerant=is_tolerant)
        if whole:
            pull_answers(self.mirror, is_tolerant=is_tolerant)
        self._save_measured()

    def fetch(self, path: Path) -> None:
        """Fetch a part that is not on this machine.

        Raises:
            StoreError: If it is not in the bucket either, or is damaged there.

        """
        if path.exists():
            return
        key = path.relative_to(self.mirror.folder).as_posix()
        try:
            self.mirror.fetch(key, path, (-1, path.stem[-24:]), 12)
        except BucketError as error:
            if "is missing" in str(error) or "is damaged" in str(error):
                raise StoreError(str(error)) from None
            raise

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> None:
        """Refuse a server that does not keep conditions; asked once for each mirror.

        Raises:
            BucketError: If it does not, or may not be written to.

        """
        mark = self.mirror.folder / _PROBED
        if not mark.exists():
            refuse_without_conditions(self.mirror.files)
            durable.write_text(mark, f"{datetime.now(UTC).isoformat()}\n")

    def note_sent(self, parts: Iterable[TableAndPart]) -> None:
        """Note parts that the ledger names, which are in the bucket."""
        self._sent |= set(parts)

    def commit(self, parts: Iterable[TableAndPart] = (), *, is_complete: bool = False) -> None:
        """Send parts and changed files, then name them in HEAD; with `is_complete`, also what should be there already.

        Raises:
            BucketError: If another run committed since this one began, or the bucket cannot be written.

        """
        push_answers(self.mirror)
        entries = {path: self._measure(path) for path in self._local()}
        known = set() if is_complete else self.known()
        fresh = {digest: path for path, (_, digest) in entries.items() if digest not in known}
        new = sorted(set(parts) - self._sent)
        wanted = [(f"{FILES}/{digest}", self.mirror.folder / path) for digest, path in sorted(fresh.items())]
        wanted += [(key, self.mirror.folder / key) for key in map(_key_of, new)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(lambda each: self.mirror.push(*each), wanted):
                pass
        done = self.mirror.write_tree(HEAD, entries, self._tree)
        if done is None:
            raise BucketError(
                f"another run wrote to {self.mirror.url} meanwhile, so nothing of this batch is kept; "
                "run the command again, which goes on from there"
            )
        self._tree = done
        self._sent |= set(new)

    def save(self) -> None:
        """Commit what was changed beside the ledger, such as the list of sources."""
        if {path: self._measure(path) for path in self._local()} != self._tree.entries:
            self.commit()
        self._save_measured()
        make_room(self.mirror)

    def known(self) -> set[str]:
        """Hashes of the files that HEAD names."""
        return {digest for _, digest in self._tree.entries.values()}

    # ── what is in the bucket ────────────────────────────────────────────────────────────────────────────────

    def unused(self, parts: Iterable[TableAndPart], now: datetime | None = None) -> list[str]:
        """Keys of parts in the bucket that the ledger does not name and that are older than a day."""
        oldest = (now or datetime.now(UTC)) - timedelta(hours=_HOURS_UNUSED)
        named = set(map(_key_of, parts))
        found = self.mirror.files.list("tables/")
        return [each.key for each in found if each.key not in named and each.modified <= oldest]

    def collect(self, parts: Iterable[TableAndPart], now: datetime | None = None) -> int:
        """Delete these parts; their number."""
        gone = self.unused(parts, now)
        self.mirror.files.delete(gone)
        return len(gone)

    def _local(self) -> Iterator[str]:
        """Paths of the working files on this machine; drafts of a killed process are none."""
        folder = self.mirror.folder
        yield from (name for name in _SINGLE if (folder / name).is_file())
        for top in _STATE:
            for path in sorted((folder / top).rglob("*")):
                below = path.relative_to(folder)
                if path.is_file() and not any(step.startswith(".") for step in below.parts):
                    yield below.as_posix()

    def _measure(self, path: str) -> tuple[int, str]:
        """Length and hash of a working file; computed again only if its length or time changed."""
        try:
            seen = (self.mirror.folder / path).stat()
        except FileNotFoundError:
            return -1, ""
        mark = (seen.st_size, seen.st_mtime_ns, seen.st_ino)
        if path not in self._measured or self._measured[path][:3] != mark:
            self._measured[path] = (*mark, measure(self.mirror.folder / path)[1])
        return seen.st_size, self._measured[path][3]

    def _load_measured(self) -> dict[str, tuple[int, int, int, str]]:
        with suppress(OSError, ValueError, TypeError):
            text = (self.mirror.folder / _MEASURED).read_text(encoding="utf-8")
            return {str(path): (int(n), int(at), int(i), str(h)) for path, (n, at, i, h) in json.loads(text).items()}
        return {}

    def _save_measured(self) -> None:
        kept = {path: self._measured[path] for path in self._local() if path in self._measured}
        durable.write_text(self.mirror.folder / _MEASURED, json.dumps(kept))


def bucket_home(home: Path) -> BucketHome | None:
    """The home in the bucket that a folder mirrors; None for a home of its own."""
    mirror = mirror_of(home)
    return None if mirror is None else BucketHome(mirror)


def refreshed(home: Path) -> BucketHome | None:
    """The same for reading, its small files as they are in the bucket now; while a run writes here, as it has them."""
    found = bucket_home(home)
    if found is not None:
        with suppress(SourceError), write_lock(home, 0):
            found.pull(whole=False)
    return found


def _is_small(path: str) -> bool:
    return not path.startswith("vectors/") or path.endswith("/sealed.json")


def _key_of(part: TableAndPart) -> str:
    return f"tables/{part[0]}/{part[1]}.parquet"
