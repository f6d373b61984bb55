"""Files of a bucket by name: read, written, and replaced on the condition that nobody else did."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


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


class Files(Protocol):
    """Files by key, `/` between folders. A file is there whole or not at all, and what was written is seen at once."""

    url: str

    def get(self, key: str, known: str = "") -> Blob | None:
        """A file; None if there is none. Of one that still has a known tag, the tag without the bytes."""

    def ranges(self, key: str, spans: Sequence[tuple[int, int]]) -> Sequence[bytes] | None:
        """Bytes of a file from and up to some places each; None if there is no such file."""

    def put(self, key: str, body: bytes | Path) -> None:
        """Write a file, whatever is there."""

    def create(self, key: str, body: bytes) -> str | None:
        """Write a file that must not be there and return its tag; None if another one is there."""

    def swap(self, key: str, body: bytes, tag: str) -> str | None:
        """Replace the file of this tag and return the new one; None if it is not there any more."""

    def list(self, below: str = "") -> Iterator[Listed]:
        """Every file whose key starts with `below`, a folder with `/` at its end, by key."""

    def delete(self, keys: Sequence[str]) -> None:
        """Delete files; one that is not there is no error."""
