"""A home in a bucket, as a run sees it: fetched to the mirror when it begins, sent at each commit, all or nothing.

HEAD                           which files the home has: ledger, sources, embedder, vectors; replaced on the tag seen
LEASE                          the run that writes; replaced on the tag seen
tables/<table>/<part>.parquet  parts, named by their hash; the ledger names them
answers/<hash>.parquet         answers of models: each run sends its own and reads those of the others
files/<hash>                   the bytes of every other file

A commit sends the parts and files first and replaces HEAD last. Where another run replaced it meanwhile, nothing of the
commit counts, and the run is over; what it sent is not named by anything and is deleted later.

With the lease, runs on several machines write one after another instead of losing to one another. It saves work and
guards nothing: a commit is refused by the tag of HEAD alone, so a run that lost its lease without knowing it damages
nothing.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError, SourceError, StoreError
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, CacheError, columns_of
from sag_retrieval.release.folders import write_lock
from sag_retrieval.remote.mirror import (
    FILES,
    Mirror,
    Tree,
    make_room,
    measure,
    mirror_of,
    refuse_without_conditions,
    write_conditional,
)

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


class BucketHome:
    """The working files of a home in a bucket; used by one run at a time on this machine, which holds the lock."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._tree = Tree()
        self._sent = set[TableAndPart]()
        self._measured = self._load_measured()

    def read_head(self) -> None:
        """Note what HEAD names now; the next commit replaces just that."""
        self._tree = self.mirror.tree(HEAD)

    def pull(self, *, whole: bool, is_tolerant: bool = False) -> None:
        """Make the working files of the mirror those of the bucket, with `whole` also vectors and answers of models.

        Files that are missing or damaged in the bucket raise a BucketError, or are left out, for repair.
        """
        self.read_head()
        for path in set(self._local()) - set(self._tree.entries):
            (self.mirror.folder / path).unlink(missing_ok=True)
        wanted = {
            path: entry
            for path, entry in self._tree.entries.items()
            if whole or not path.startswith("vectors/") or path.endswith("/sealed.json")
        }
        stale = {path: entry for path, entry in wanted.items() if self._measure(path) != entry}
        for path in stale:
            (self.mirror.folder / path).unlink(missing_ok=True)
        self.mirror.fetch_all(stale, self.mirror.folder, is_tolerant=is_tolerant)
        if whole:
            _pull_answers(self.mirror, is_tolerant=is_tolerant)
        self._save_measured()

    def fetch(self, path: Path) -> None:
        """Fetch a part that is not on this machine; a StoreError if the bucket has none, or a damaged one."""
        if path.exists():
            return
        key = path.relative_to(self.mirror.folder).as_posix()
        try:
            self.mirror.fetch(key, path, (-1, path.stem[-24:]), 12)
        except BucketError as error:
            if "is missing" in str(error) or "is damaged" in str(error):
                raise StoreError(str(error)) from None
            raise

    def probe(self) -> None:
        """Refuse a server that does not keep conditions, with a BucketError; asked once for each mirror."""
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
        _push_answers(self.mirror)
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

    def collect(self, parts: Iterable[TableAndPart]) -> int:
        """Delete parts in the bucket that the ledger does not name and that are older than a day; their number."""
        oldest, named = datetime.now(UTC) - timedelta(hours=_HOURS_UNUSED), set(map(_key_of, parts))
        found = self.mirror.files.list("tables/")
        gone = [each.key for each in found if each.key not in named and each.modified <= oldest]
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


def _key_of(part: TableAndPart) -> str:
    return f"tables/{part[0]}/{part[1]}.parquet"


LEASE: Final = "LEASE"
_LAPSES: Final = 30.0
"""Seconds after which a lease that was not renewed belongs to nobody: its run was killed."""
_POLL: Final = 0.5
_HOLDER: Final = ".holder"
_log = logging.getLogger(__name__)


@contextmanager
def lease(mirror: Mirror, patience: float = 600, lapses: float = _LAPSES) -> Iterator[None]:
    """Let no run on another machine write meanwhile.

    Clocks of machines are not compared: a lease lapses when its tag has not changed for `lapses` seconds of this
    machine's clock. As the mirror is locked on this machine, a lease of its own is one of a run that was killed.

    Raises:
        SourceError: If another run still writes after `patience` seconds.
        BucketError: If the bucket cannot be read or written.
    """
    tag: str | None = _taken(mirror, patience, lapses)
    stop = Event()

    def write(holder: str) -> None:
        """Replace it, unless another run took it over."""
        nonlocal tag
        if tag is not None:
            tag = write_conditional(mirror.files, LEASE, _lease_of(holder), tag)

    def renew() -> None:
        while not stop.wait(lapses / 3):
            with suppress(BucketError):  # tried again
                write(_holder(mirror.folder))

    thread = Thread(target=renew, name="sag-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        with suppress(BucketError):  # it lapses
            write("")


def _taken(mirror: Mirror, patience: float, lapses: float) -> str:
    """Take the lease as soon as nobody has it; its tag."""
    own, started = _holder(mirror.folder), time.monotonic()
    seen, since, is_told = "", started, False
    while True:
        found = mirror.read(LEASE)
        tag, now = "" if found is None else found[1], time.monotonic()
        if tag != seen:
            seen, since = tag, now
        if found is None or _holder_in(found[0]) in ("", own) or now - since >= lapses:
            taken = write_conditional(mirror.files, LEASE, _lease_of(own), tag or None)
            if taken is not None:
                return taken
        elif now - started >= patience:
            raise SourceError(
                f"another run has been writing to {mirror.url} for {patience:.0f} s; `sag status` shows what is done"
            )
        elif not is_told:
            _log.warning("another run writes to %s; this one waits for it", mirror.url)
            is_told = True
        time.sleep(_POLL)


def _lease_of(holder: str) -> bytes:
    return json.dumps({"holder": holder, "writer": uuid4().hex}).encode()


def _holder_in(body: bytes) -> str:
    """Who has a lease; nobody, if it cannot be read."""
    with suppress(ValueError, TypeError, KeyError):
        return str(json.loads(body)["holder"])
    return ""


def _holder(folder: Path) -> str:
    """The name of this mirror, made up once."""
    path = folder / _HOLDER
    if not path.exists():
        durable.write_text(path, uuid4().hex)
    return path.read_text(encoding="ascii")


_ANSWERS_BELOW: Final = "answers/"
_ANSWERS_SCHEMA: Final = (
    "create table if not exists shared (call_id text primary key) without rowid;"
    "create table if not exists fetched (key text primary key) without rowid;"
)
_FIND_ANSWERS: Final = f"select {columns_of()}, digest from answers where call_id not in (select call_id from shared)"
_KEEP_ANSWERS: Final = f"insert into answers ({columns_of()}, digest) values ({{}}) on conflict do nothing"


def _push_answers(mirror: Mirror) -> None:
    """Send the answers that were given on this machine and are not in the bucket yet."""
    path = mirror.folder / ANSWERS
    if not path.is_file():
        return
    with _opened(path) as connection:
        rows = connection.execute(f"{_FIND_ANSWERS} order by call_id").fetchall()
        if not rows:
            return
        names, packed = [*columns_of().split(", "), "digest"], pa.BufferOutputStream()
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), packed, compression="zstd")
        body = packed.getvalue().to_pybytes()
        key = f"{_ANSWERS_BELOW}{blake2b(body, digest_size=12).hexdigest()}.parquet"
        mirror.files.put(key, body)
        with connection:
            connection.executemany("insert or ignore into shared values (?)", [(row[0],) for row in rows])
            connection.execute("insert or ignore into fetched values (?)", (key,))


def _pull_answers(mirror: Mirror, *, is_tolerant: bool) -> None:
    """Store the answers that other machines sent; of damaged files nothing, which `is_tolerant` deletes."""
    keys = [each.key for each in mirror.files.list(_ANSWERS_BELOW)]
    path = mirror.folder / ANSWERS
    if not keys:
        return
    AnswerCache(path).close()  # makes the file
    with _opened(path) as connection:
        known = {key for (key,) in connection.execute("select key from fetched")}
        for key in (each for each in keys if each not in known):
            try:
                rows = _answers_of(mirror, key)
            except BucketError:
                if not is_tolerant:
                    raise
                mirror.files.delete([key])
                continue
            with connection:
                if rows:
                    connection.executemany(_KEEP_ANSWERS.format(", ".join("?" * len(rows[0]))), rows)
                connection.executemany("insert or ignore into shared values (?)", [(row[0],) for row in rows])
                connection.execute("insert into fetched values (?)", (key,))


def _answers_of(mirror: Mirror, key: str) -> list[tuple[object, ...]]:
    place = mirror.folder / ".answers" / Path(key).name
    mirror.fetch(key, place, (-1, Path(key).stem), 12)
    try:
        table = pq.read_table(place, partitioning=None)
    finally:
        place.unlink(missing_ok=True)
    return [tuple(row.values()) for row in table.to_pylist()]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The answers, with the lists of those that are in the bucket; an error of SQLite names the file."""
    try:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.executescript(_ANSWERS_SCHEMA)
            yield connection
    except sqlite3.Error as error:
        raise CacheError(f"{path} cannot be used ({error}); `sag repair` keeps what can be read") from error
