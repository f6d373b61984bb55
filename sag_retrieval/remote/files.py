"""Files of a bucket by name, and those of a folder that several machines share, such as one on a file server.

They are read, written, and replaced on the condition that nobody else did.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from sag_retrieval.core import durable
from sag_retrieval.core.durable import take_lock
from sag_retrieval.core.errors import BucketError

_BLOCK: Final = 1 << 20
_LOCK: Final = ".lock"
_DRAFT: Final = ".draft-"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a bucket as a list names it."""

    key: str
    size: int
    tag: str
    """Another one whenever the bytes were written again."""
    modified: datetime


@dataclass(frozen=True, slots=True)
class Blob:
    """The bytes of a file, read once from start to end, and the tag of just these bytes."""

    tag: str
    modified: datetime
    chunks: Iterator[bytes]

    def read(self) -> bytes:
        """All bytes."""
        return b"".join(self.chunks)


class LocalFiles:
    """Files below one folder by key, `/` between folders, on conditions that this machine keeps by a lock.

    A file is there whole or not at all. Its tag is made of the inode, the time and the length, as each write makes a
    new inode.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self._folder = folder

    def get(self, key: str, known: str = "") -> Blob | None:
        """A file; None if there is none. Of one that still has a known tag, the tag without the bytes."""
        found = self._get(key)
        return Blob(known, found.modified, iter(())) if found and found.tag == known else found

    def _get(self, key: str) -> Blob | None:
        try:
            with (self._folder / key).open("rb") as file:
                seen, start = os.fstat(file.fileno()), file.read(_BLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error("read", key, error) from None

        def chunks() -> Iterator[bytes]:
            yield start
            if len(start) == seen.st_size:
                return
            try:
                with (self._folder / key).open("rb") as file:
                    if _tag(os.fstat(file.fileno())) != _tag(seen):
                        raise BucketError(f"{key} in {self.url} was replaced while it was read; try again")
                    file.seek(len(start))
                    while block := file.read(_BLOCK):
                        yield block
            except OSError as error:
                raise self._error("read", key, error) from None

        return Blob(_tag(seen), datetime.fromtimestamp(seen.st_mtime, UTC), chunks())

    def ranges(self, key: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Bytes of a file from and up to some places each; None if there is no such file."""
        try:
            with (self._folder / key).open("rb") as file:
                return [os.pread(file.fileno(), end - start, start) for start, end in spans]
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error("read", key, error) from None

    def put(self, key: str, body: bytes | Path) -> None:
        """Write a file, whatever is there."""
        with self._draft(key, body) as draft:
            durable.rename(draft, self._folder / key)

    def create(self, key: str, body: bytes) -> str | None:
        """Write a file that must not be there and return its tag; None if another one is there."""
        with self._draft(key, body) as draft:
            try:
                os.link(draft, self._folder / key)
            except FileExistsError:
                return None
            tag = _tag(draft.stat())
            durable.sync((self._folder / key).parent)
            return tag

    def swap(self, key: str, body: bytes, tag: str) -> str | None:
        """Replace the file of this tag and return the new one; None if it is not there any more."""
        with self._draft(key, body) as draft, (self._folder / _LOCK).open("ab") as held:
            take_lock(held.fileno(), waits=True)
            try:
                if _tag((self._folder / key).stat()) != tag:
                    return None
            except FileNotFoundError:
                return None
            new = _tag(draft.stat())
            durable.rename(draft, self._folder / key)
            return new

    def list(self, below: str = "") -> Iterator[Listed]:
        """Every file whose key starts with `below`, by key."""
        found = []
        for folder, _, names in os.walk(self._folder / below):
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(self._folder).as_posix()
                if name.startswith(_DRAFT) or key == _LOCK:
                    continue
                try:
                    seen = path.stat()
                except FileNotFoundError:
                    continue
                found.append(Listed(key, seen.st_size, _tag(seen), datetime.fromtimestamp(seen.st_mtime, UTC)))
        return iter(sorted(found, key=lambda each: each.key))

    def delete(self, keys: Sequence[str]) -> None:
        """Delete files; one that is not there is no error."""
        for key in keys:
            (self._folder / key).unlink(missing_ok=True)

    @contextmanager
    def _draft(self, key: str, body: bytes | Path) -> Iterator[Path]:
        """The new file under a name of its own, synced; deleted unless it was renamed."""
        place = self._folder / key
        try:
            durable.make_folder(place.parent)
            draft = place.with_name(f"{_DRAFT}{uuid4().hex}")
            if isinstance(body, Path):
                shutil.copyfile(body, draft)
            else:
                draft.write_bytes(body)
            durable.sync(draft)
        except OSError as error:
            raise self._error("write", key, error) from None
        try:
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    def _error(self, doing: str, key: str, error: OSError) -> BucketError:
        return BucketError(f"cannot {doing} {key} in {self.url}: {error.strerror or error}")


def _tag(seen: os.stat_result) -> str:
    return f'"{seen.st_ino:x}-{seen.st_mtime_ns:x}-{seen.st_size:x}"'
