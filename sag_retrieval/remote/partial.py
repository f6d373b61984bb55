"""Fetched files of which only the blocks that are read are there: the others are holes, filled when they are needed.

files/<hash>             has its whole length from the beginning, so that it can be mapped
files/.<hash>.blocks     a byte for each block, 1 once it is there; without this file, all are

A file is filled in place and never replaced, as processes have it mapped. Who reads a block compares it with its
checksum.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import BucketError
from sag_retrieval.remote.files import Files

BLOCK: Final = 1 << 16
"""Bytes, as those of the checksums of a release."""
_GAP: Final = 2
"""Wanted blocks at most this far apart are fetched by one request."""
_AT_ONCE: Final = 512
"""Blocks fetched before they are written: 32 MB."""
BlockRange = tuple[int, int]
"""Blocks from the first up to, not including, the last."""


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
        """Fetch those of some blocks that are not there.

        Args:
            path: The file where it is mapped.
            spans: The blocks.
            again: Fetch also what seems to be there.

        Raises:
            BucketError: If it is no longer in the bucket, or cannot be read.

        """
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
        """Fetch all that is missing.

        Raises:
            BucketError: If it cannot be read, or other bytes are there.

        """
        for again in (False, True):
            self.fill(self.own, [(0, self._count)], again=again)
            if self._digest() == self.own.name:
                self.marks.unlink(missing_ok=True)
                return
        raise BucketError(f"{self._key} in {self.files.url} is damaged; `sag repair` mends the home")

    def _digest(self) -> str:
        digest = blake2b(digest_size=len(self.own.name) // 2)
        with self.own.open("rb") as file:
            while part := file.read(BLOCK * _AT_ONCE):
                digest.update(part)
        return digest.hexdigest()

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
            yield from ((start, min(start + _AT_ONCE, last)) for start in range(first, last, _AT_ONCE))


def _groups(spans: Iterator[BlockRange]) -> Iterator[list[BlockRange]]:
    """As many as are held in memory at a time."""
    group, size = list[BlockRange](), 0
    for first, last in spans:
        if group and size + last - first > _AT_ONCE:
            yield group
            group, size = [], 0
        group.append((first, last))
        size += last - first
    if group:
        yield group
