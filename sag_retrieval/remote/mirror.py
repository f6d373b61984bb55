"""The folder on this machine that mirrors a bucket: files are fetched once, compared with their hash, and shared.

<SAG_CACHE>/<hash of the url>/bucket.json             the url; the rest has the layout of a local home
                              files/<hash>            what was fetched, linked from where it belongs
                              files/.<hash>.blocks    a byte for each block, 1 once it is there; without it, all are

In the bucket `files/<hash>` holds the bytes of every file that is listed by path: of releases, vectors, reports. Equal
files of two releases are therefore stored, sent and fetched once.

A large file has its whole length from the beginning, so that it can be mapped, and only the blocks that are read: the
others are holes, filled in place when they are needed. Who reads a block compares it with its checksum.

SAG_CACHE has a bound: the releases and files used longest ago are deleted, never what a process has open.
"""

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from sag_retrieval.core import durable
from sag_retrieval.core.durable import take_lock
from sag_retrieval.core.errors import BucketError, SettingsError
from sag_retrieval.core.home_urls import checked_url, local_path, url_of
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.files import LocalFiles

if TYPE_CHECKING:
    from sag_retrieval.remote.object_files import ObjectFiles

Files: TypeAlias = "LocalFiles | ObjectFiles"
"""Files of a shared folder or of an object store: both have the same methods."""


@lru_cache(maxsize=64)
def open_files(url: str) -> Files:
    """The files of a url; nothing is asked of a server before the first use."""
    url = checked_url(url)
    if url.startswith("file:"):
        return LocalFiles(local_path(url), url)
    try:
        from sag_retrieval.remote.object_files import ObjectFiles  # noqa: PLC0415  local homes do not load obstore
    except ModuleNotFoundError:
        raise SettingsError(f'the home {url} needs obstore: pip install "sag[object-store]"') from None
    return ObjectFiles(url)


def write_conditional(files: Files, key: str, body: bytes, tag: str | None) -> str | None:
    """Write a file whose tag was seen (None: it was not there) and return the new tag; None if it changed meanwhile.

    A reply may be lost after the server wrote, and the repeated request is then refused: so a refusal counts only if
    other bytes are there. The bytes must therefore differ from what any other process writes under this key.
    """
    done = files.create(key, body) if tag is None else files.swap(key, body, tag)
    if done is None:
        found = files.get(key)
        if found is not None and found.read() == body:
            return found.tag
    return done


def refuse_without_conditions(files: Files) -> None:
    """Write two small files to see whether the server keeps conditions: without them, two runs overwrite each other."""
    key = f".probe/{uuid4().hex}"
    try:
        tag = files.create(key, b"first")
        has_created_twice = files.create(key, b"second") is not None
        has_swapped_blindly = tag is None or files.swap(key, b"third", '"00000000000000000000000000000000"') is not None
        has_swapped = tag is not None and files.swap(key, b"fourth", tag) is not None
    finally:
        with suppress(BucketError):
            files.delete([key])
    if has_created_twice or has_swapped_blindly or not has_swapped:
        raise BucketError(
            f"the server of {files.url} does not keep the conditions of writes (If-None-Match, If-Match), so two runs "
            "could overwrite each other unnoticed; use a server that does, such as Amazon S3, or a folder as SAG_HOME"
        )


BLOCK: Final = 1 << 16
"""Bytes, as those of the checksums of a release."""
_GAP: Final = 2
"""Wanted blocks at most this far apart are fetched by one request."""
_BLOCKS_AT_ONCE: Final = 512
"""Blocks fetched before they are written: 32 MB."""
BlockRange = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PartialFile:
    """A file of a bucket, fetched by block."""

    files: Files
    own: Path
    """Its place on this machine, named by its hash."""
    length: int

    @property
    def marks(self) -> Path:
        """Which blocks are there; missing where all are."""
        return self.own.with_name(f".{self.own.name}.blocks")

    def make(self) -> None:
        """Make a file of holes, unless the file is there."""
        if self.own.exists():
            return
        for path, size in ((self.marks, self._count), (self.own, self.length)):  # without marks, it would be whole
            with path.open("ab") as file:
                file.truncate(size)

    def fill(self, path: Path, spans: Sequence[BlockRange], *, again: bool = False) -> None:
        """Fetch those of some blocks that are not there, with `again` all, to where the file is mapped."""
        try:
            marks = np.memmap(self.marks, np.uint8, "r+", shape=(self._count,))
        except FileNotFoundError:
            return
        wanted = np.zeros(len(marks), np.bool_)
        for first, last in spans:
            wanted[first:last] = True
        if not again:
            wanted &= marks == 0
        for some in _groups(_spans(wanted)):
            self._write(path, some)
            for first, last in some:
                marks[first:last] = 1

    def complete(self) -> None:
        """Fetch all that is missing."""
        for again in (False, True):
            self.fill(self.own, [(0, self._count)], again=again)
            if durable.digest_of(self.own, len(self.own.name) // 2) == self.own.name:
                self.marks.unlink(missing_ok=True)
                return
        raise BucketError(f"{self._key} in {self.files.url} is damaged; `sag repair` mends the home")

    @property
    def _key(self) -> str:
        return f"{self.own.parent.name}/{self.own.name}"

    @property
    def _count(self) -> int:
        return -(-self.length // BLOCK)

    def _write(self, path: Path, spans: Sequence[BlockRange]) -> None:
        places = [(first * BLOCK, min(last * BLOCK, self.length)) for first, last in spans]
        found = self.files.ranges(self._key, places)
        if found is None:
            raise BucketError(
                f"{self._key} is no longer in {self.files.url}: its release was deleted there while it was open; "
                "open the current one"
            )
        handle = os.open(path, os.O_WRONLY)
        try:
            for (start, _), body in zip(places, found, strict=True):
                os.pwrite(handle, body, start)
        finally:
            os.close(handle)


def _spans(wanted: npt.NDArray[np.bool_]) -> Iterator[BlockRange]:
    """Runs of wanted blocks; near ones as one, long ones in pieces."""
    places = np.flatnonzero(wanted)
    for run in np.split(places, np.flatnonzero(np.diff(places) > _GAP) + 1):
        if len(run):
            first, last = int(run[0]), int(run[-1]) + 1
            yield from ((start, min(start + _BLOCKS_AT_ONCE, last)) for start in range(first, last, _BLOCKS_AT_ONCE))


def _groups(spans: Iterator[BlockRange]) -> Iterator[list[BlockRange]]:
    """As many as are held in memory at a time."""
    group, size = list[BlockRange](), 0
    for first, last in spans:
        if group and size + last - first > _BLOCKS_AT_ONCE:
            yield group
            group, size = [], 0
        group.append((first, last))
        size += last - first
    if group:
        yield group


FILES: Final = "files"
_AT_ONCE: Final = 8
_ATTEMPTS: Final = 4
_UPDATES: Final = 10
"""Times that a list of files is written again because another machine wrote it meanwhile."""
_READ: Final = 1 << 22
RepliedT = TypeVar("RepliedT")
Entries = Mapping[str, tuple[int, str]]
"""By path: length and hash (BLAKE2b, 16 bytes, in hex) of a file, as in the manifest of a release."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A list of files by path as it lies in the bucket, and its tag there; None before it was written."""

    entries: Entries = field(default_factory=dict)
    tag: str | None = None


def _with_patience(ask: Callable[[], RepliedT]) -> RepliedT:
    """What the bucket replies, asked again where it fails."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(BucketError):
            return ask()
    return ask()


class Mirror:
    """A bucket and the folder that mirrors it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self._trees = dict[str, Tree]()
        """Lists as they were read or written last."""

    @property
    def files(self) -> Files:
        """The files of the bucket."""
        return open_files(self.url)

    def read(self, key: str, known: str = "") -> tuple[bytes, str] | None:
        """The bytes of a small file and its tag; None if there is none; no bytes if it still has a known tag."""

        def ask() -> tuple[bytes, str] | None:
            found = self.files.get(key, known)
            return None if found is None else (found.read(), found.tag)

        return _with_patience(ask)

    def fetch(self, key: str, path: Path, wanted: tuple[int, str] | None = None, size: int = 16) -> None:
        """Put a file of the bucket in its place, whole and with the bytes that were written, or leave it absent.

        Args:
            key: Of the file in the bucket.
            path: Its place on this machine.
            wanted: Its length and hash; of the length -1, the hash alone is compared.
            size: Bytes of the hash.
        """
        durable.make_folder(path.parent)
        draft = path.with_name(f".{path.name}.{uuid4().hex}")
        what = ""
        try:
            for _ in range(_ATTEMPTS):
                what = _with_patience(lambda: self._download(key, draft, wanted, size))
                if not what:
                    draft.replace(path)
                    return
                if what == _MISSING:
                    break
        finally:
            draft.unlink(missing_ok=True)
        raise BucketError(f"{key} in {self.url} {what}; `sag repair` mends the home")

    def _download(self, key: str, draft: Path, wanted: tuple[int, str] | None, size: int) -> str:
        found = self.files.get(key)
        if found is None:
            return _MISSING
        digest, length = blake2b(digest_size=size), 0
        with draft.open("wb") as file:
            for chunk in found.chunks:
                digest.update(chunk)
                length += len(chunk)
                file.write(chunk)
        os.utime(draft, (found.modified.timestamp(),) * 2)  # when it was written, not when it came here
        if wanted is None or (wanted[0] in (-1, length) and digest.hexdigest() == wanted[1]):
            return ""
        return "is damaged: its bytes are not those that were written"

    def fetch_all(self, entries: Entries, below: Path, *, is_tolerant: bool = False) -> None:
        """Put files that are listed by path in their places below a folder; those of the length stay.

        With `is_tolerant`, one that is missing or damaged is left out.
        """
        missing = {path: entry for path, entry in entries.items() if not self._is_whole(below / path, *entry)}

        def place(each: tuple[str, tuple[int, str]]) -> None:
            with suppress(*([BucketError] if is_tolerant else [])):
                self._place(below / each[0], *each[1])

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(place, sorted(missing.items())):
                pass

    def place_partial(self, path: Path, length: int, digest: str) -> None:
        """Put a file in its place whose blocks are fetched when they are read."""
        if _has_length(path, length):
            return
        durable.make_folder(self.folder / FILES)
        for _ in range(_ATTEMPTS):
            self.partial(length, digest).make()
            with suppress(FileNotFoundError):  # another process may delete it to make room
                link(self.folder / FILES / digest, path)
                if not path.samefile(self.folder / FILES / digest):  # a copy would not be filled with it
                    self._place(path, length, digest)
                return

    def partial(self, length: int, digest: str) -> PartialFile:
        """A file that may be fetched by block."""
        return PartialFile(self.files, self.folder / FILES / digest, length)

    def _is_whole(self, path: Path, length: int, digest: str) -> bool:
        return _has_length(path, length) and not self.partial(length, digest).marks.exists()

    def _place(self, path: Path, length: int, digest: str) -> None:
        own = self.folder / FILES / digest
        for _ in range(_ATTEMPTS):
            if not _has_length(own, length):
                self.fetch(f"{FILES}/{digest}", own, (length, digest))
            elif not self._is_whole(own, length, digest):
                self.partial(length, digest).complete()
            with suppress(FileNotFoundError):  # another process may delete it to make room
                link(own, path)
                return
        raise BucketError(f"{path.name} does not stay in {own.parent}; raise SAG_CACHE_GB")

    def push_all(self, entries: Entries, below: Path, known: Iterable[str] = ()) -> None:
        """Send the files of a folder that are listed by path, but for the known hashes."""
        paths = {digest: below / path for path, (_, digest) in entries.items()}
        wanted = sorted(set(paths) - set(known))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(lambda digest: self.push(f"{FILES}/{digest}", paths[digest]), wanted):
                pass
        for digest in wanted:
            if not (self.folder / FILES / digest).exists():
                link(paths[digest], self.folder / FILES / digest)

    def push(self, key: str, path: Path) -> None:
        """Send one file; what is sent is known by its hash, so sending it again changes nothing."""
        length = path.stat().st_size
        self.files.put(key, path.read_bytes() if length <= _READ else path)

    def tree(self, key: str) -> Tree:
        """A list of files as it is in the bucket now."""
        last = self._trees.get(key, Tree())
        found = self.read(key, last.tag or "")
        if found is None:
            return Tree()
        if found[1] == last.tag:
            return last
        try:
            listed = json.loads(found[0])["files"]
            tree = Tree({str(path): (int(n), str(digest)) for path, (n, digest) in listed.items()}, found[1])
            self._trees[key] = tree
            return tree  # noqa: TRY300
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BucketError(f"{key} in {self.url} is damaged; `sag repair` mends the home") from None

    def write_tree(self, key: str, entries: Entries, before: Tree) -> Tree | None:
        """Replace a list of files and return it with its new tag; None if another process did since it was read."""
        told = {"files": dict(sorted(entries.items())), "writer": uuid4().hex}
        body = (json.dumps(told, separators=(",", ":")) + "\n").encode()
        tag = write_conditional(self.files, key, body, before.tag)
        if tag is None:
            return None
        self._trees[key] = Tree(dict(entries), tag)
        return self._trees[key]

    def update_tree(self, key: str, below: Path, own: Entries, is_own: Callable[[str], bool]) -> bool:
        """Send files of a folder and name them in a list, in place of those that were ours; of others nothing changes.

        Returns False if other machines keep writing the list.
        """
        known = set[str]()
        for _ in range(_UPDATES):
            tree = self.tree(key)
            entries = {path: entry for path, entry in tree.entries.items() if not is_own(path)} | dict(own)
            if entries == tree.entries:
                return True
            self.push_all(own, below, known | {digest for _, digest in tree.entries.values()})
            known |= {digest for _, digest in own.values()}
            if self.write_tree(key, entries, tree) is not None:
                return True
        return False


_MISSING: Final = "is missing"


_opened = lru_cache(maxsize=64)(Mirror)


def mirror_of(folder: Path) -> Mirror | None:
    """The mirror that a home's folder is; None for a home of its own."""
    url = url_of(folder)
    return None if url is None else _opened(folder, url)


def link(source: Path, path: Path) -> None:
    """Let a file be in a second place: by a hard link, so that it lies on disk once."""
    durable.make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        os.link(source, draft)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, or a file system without links
        shutil.copyfile(source, draft)
    draft.replace(path)
    draft.unlink(missing_ok=True)  # renaming a link to the same file leaves both


def measure(path: Path) -> tuple[int, str]:
    """Length and hash of a file."""
    return path.stat().st_size, durable.digest_of(path)


def listed_below(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder by path, without hidden ones and locks."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and _is_content(path.relative_to(folder)))
    return {path.relative_to(folder).as_posix(): measure(path) for path in paths}


def _is_content(path: Path) -> bool:
    return path.name != "lock" and not any(step.startswith(".") for step in path.parts)


def _has_length(path: Path, length: int) -> bool:
    try:
        return path.stat().st_size == length
    except OSError:
        return False


_log = logging.getLogger(__name__)
_MANIFEST: Final = "manifest.json"
_GB: Final = 1_000_000_000
_DISK_BLOCK: Final = 512
"""Bytes of which `st_blocks` counts."""


def make_room(mirror: Mirror, used: Path | None = None, most: int | None = None) -> list[Path]:
    """Delete copies until the cache of all buckets is within its bound, SAG_CACHE_GB; returns what was deleted.

    What a reader has open stays, as does `used`, which is about to be opened. A file that is mapped stays readable.
    """
    bound = round(load_settings(home=mirror.folder).cache_gb * _GB) if most is None else most
    cache, gone = mirror.folder.parent, list[Path]()
    size = bytes_below(cache)
    for path in _candidates(cache, used):
        if size <= bound:
            break
        if _delete(path):
            gone.append(path)
            _drop_unlinked(path.parents[1])
            size = bytes_below(cache)
    if size > bound:
        _log.warning("%s holds %s MB, more than SAG_CACHE_GB allows, and all is in use", cache, size // 10**6)
    return gone


def bytes_below(folder: Path) -> int:
    """Bytes on disk below a folder; a file of several names counts once."""
    seen = {}
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if path.is_file():
            seen[found.st_ino] = min(found.st_size, found.st_blocks * _DISK_BLOCK)  # holes take no room
    return sum(seen.values())


def _candidates(cache: Path, used: Path | None) -> Iterator[Path]:
    kinds = ("releases", "tables", "vectors", "source")
    found = [path for kind in kinds for path in cache.glob(f"*/{kind}/[!.]*") if path.is_dir() and path != used]
    yield from sorted(found, key=_last_used)


def _last_used(path: Path) -> float:
    marker = path / _MANIFEST
    try:
        return (marker if marker.exists() else path).stat().st_atime
    except FileNotFoundError:
        return 0.0


def _delete(path: Path) -> bool:
    """Delete the copy of a release, of a table or of vectors, unless a process uses it."""
    lock = path / _MANIFEST if path.parent.name == "releases" else path.parents[1] / "lock"
    try:
        with lock.open("rb") as held:
            if not take_lock(held.fileno()):
                return False
            aside = path.with_name(f".gone-{path.name}-{uuid4().hex}")
            path.rename(aside)
    except FileNotFoundError:
        aside = path
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _drop_unlinked(mirror: Path) -> None:
    """Delete fetched files that belong nowhere any more."""
    for path in (mirror / FILES).glob("[!.]*"):
        if path.stat().st_nlink == 1:
            path.unlink(missing_ok=True)
            path.with_name(f".{path.name}.blocks").unlink(missing_ok=True)


def touch(release: Path) -> None:
    """Note that a release is used now: many file systems do not."""
    marker = release / _MANIFEST
    os.utime(marker, ns=(time.time_ns(), marker.stat().st_mtime_ns))
