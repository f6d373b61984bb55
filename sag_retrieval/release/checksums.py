"""The list of a release's files, and their checksums by block: of small files together, of each large one by itself.

A release shares the checksums of a large file with the release before, as it shares the file.
"""

import json
import zlib
from base64 import b64decode, b64encode
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
_LARGE: Final = 16
"""A file of more blocks is large: 1 MB."""


_MOST: Final = 1 << 30
"""Bytes that a list of files may have."""


def packed_list(files: Mapping[str, tuple[int, str]]) -> str:
    """A list of files with their lengths and hashes as a manifest holds it: else it were most of a small change."""
    listed = json.dumps(files, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return b64encode(zlib.compress(listed.encode("utf-8", "surrogatepass"), 9)).decode()


def unpacked_list(held: object) -> dict[str, tuple[int, str]]:
    """The list of files that a manifest holds; empty where it holds none, as in version 0.1.

    Raises:
        ValueError: If it is none that `packed_list` made.
        TypeError: If it is no text.

    """
    if not held:
        return {}
    if not isinstance(held, str):
        raise TypeError(f"files is {type(held).__name__}, not a packed list")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(b64decode(held, validate=True), _MOST)
        if not unpacking.eof:
            raise ValueError("its list of files ends early, or is too long")
        listed = json.loads(text.decode("utf-8", "surrogatepass"))
        return {str(name): (int(length), str(digest)) for name, (length, digest) in listed.items()}
    except (zlib.error, TypeError, AttributeError) as error:
        raise ValueError(f"its list of files cannot be read: {error}") from error


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
