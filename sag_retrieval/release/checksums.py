"""The checksums of a release's files by block: of small files together, of each large one in a file of its own.

A release shares the checksums of a large file with the release before, as it shares the file.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.types import Words64
from sag_retrieval.release.folders import block_count, digest_of

CHECKSUMS: Final = "checksums.npy"
"""File with the checksums of all small files, in the order of their names."""
OF_LARGE: Final = "checksums/"
"""Folder of the checksums of large files."""
_LARGE: Final = 64
"""A file of more blocks is large: 4 MB."""


def sums_file(name: str, length: int) -> str:
    """The file that has the checksums of a file of this name and length in bytes."""
    return f"{OF_LARGE}{name}.npy" if block_count(length) > _LARGE else CHECKSUMS


def has_sums(name: str) -> bool:
    """Whether a file has checksums; those that hold checksums are compared as a whole."""
    return name != CHECKSUMS and not name.startswith(OF_LARGE)


def read_sums(
    folder: Path, files: Mapping[str, tuple[int, str]], damaged: Callable[[str, str], ReleaseError]
) -> tuple[Words64, Mapping[str, int]]:
    """The checksums of all blocks, and where those of each file start.

    Raises:
        ReleaseError: If a file of checksums is missing, or not as it was published.

    """

    def read(name: str) -> Words64:
        if name not in files or digest_of(folder / name) != files[name][1]:
            raise damaged(name, "it is not as published")
        found: Words64 = np.load(folder / name)
        return found

    together, first, parts, at, total = read(CHECKSUMS), {}, [np.zeros(0, np.uint64)], 0, 0
    for name in sorted(filter(has_sums, files)):
        length = files[name][0]
        own, count = sums_file(name, length), block_count(length)
        parts.append(together[at : at + count] if own == CHECKSUMS else read(own))
        at += count if own == CHECKSUMS else 0
        first[name] = total
        total += count
        if len(parts[-1]) != count:
            raise damaged(own, f"it has {len(parts[-1])} checksums of {name}, not {count}")
    return np.concatenate(parts), first
