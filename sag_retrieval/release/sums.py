"""What a file's bytes were when it was published: its length, its hash, and a checksum of each block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
import xxhash

from sag_retrieval.core.types import Words64

BLOCK: Final = 1 << 16
"""Bytes a checksum covers: about what the system reads from disk at once for one page."""
_READ: Final = 16 * BLOCK


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A file in numbers."""

    length: int
    digest: str
    """BLAKE2b, 16 bytes, in hex."""
    sums: Words64


def block_count(length: int) -> int:
    """How many blocks a file of so many bytes has."""
    return -(-length // BLOCK)


def measure(path: Path) -> Measure:
    """Read a file once and say what is in it."""
    digest, length, sums = blake2b(digest_size=16), 0, list[int]()
    for part in _parts(path, 0, None):
        digest.update(part)
        length += len(part)
        sums += _sums_of(part)
    return Measure(length, digest.hexdigest(), np.array(sums, np.uint64))


def digest_of(path: Path) -> str:
    """The hash of a file's bytes as `Measure` has it."""
    digest = blake2b(digest_size=16)
    for part in _parts(path, 0, None):
        digest.update(part)
    return digest.hexdigest()


def sums_of(path: Path, first: int, last: int) -> Words64:
    """Checksums of the blocks `first` to `last`, that one not included; fewer where the file ends before."""
    found = [number for part in _parts(path, first * BLOCK, last * BLOCK) for number in _sums_of(part)]
    return np.array(found, np.uint64)


def _parts(path: Path, start: int, stop: int | None) -> Iterator[memoryview]:
    """A file's bytes in whole blocks but for its last; read, not mapped: a map dies with a file cut meanwhile."""
    buffer = memoryview(bytearray(_READ))
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while stop is None or start < stop:
            wanted = _READ if stop is None else min(_READ, stop - start)
            read = _fill(file.readinto, buffer[:wanted])
            if read:
                yield buffer[:read]
            if read < wanted:
                return
            start += read


def _fill(readinto: Callable[[memoryview], int | None], buffer: memoryview) -> int:
    """Read until the buffer is full or the file ends; how many bytes."""
    done = 0
    while done < len(buffer) and (read := readinto(buffer[done:])):
        done += read
    return done


def _sums_of(part: memoryview) -> list[int]:
    return [xxhash.xxh3_64_intdigest(part[start : start + BLOCK]) for start in range(0, len(part), BLOCK)]
