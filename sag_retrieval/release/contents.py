"""The files of a release, each checked against its manifest before a byte of it is used."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import MEND, ReleaseError, SettingsError
from sag_retrieval.core.types import Words64
from sag_retrieval.release.folders import BLOCK, block_count, digest_of, sums_of
from sag_retrieval.release.manifest import Manifest

Verify = Literal["lazy", "full", "off"]
"""When bytes are compared with their checksums: when they are first used, all while opening, or never."""

CHECKSUMS: Final = "checksums.npy"
_SPAN: Final = 256
"""Blocks that one thread checks at a time: 16 MB."""
_AT_ONCE: Final = 4
_MANY: Final = 1 / 3
"""With a larger share of a file's blocks to check, reading it in one go is faster than block by block."""


class Contents:
    """What the manifest says of each file; safe to share between threads.

    Nothing of a file is parsed or mapped before its blocks were found to be as they were published: a reader that
    trusts row numbers of a damaged file answers wrongly or dies in a library. A block is checked once a process.
    """

    def __init__(self, folder: Path, manifest: Manifest, verify: Verify = "lazy") -> None:
        """Compare the lengths of all files; with `full` their bytes as well.

        Raises:
            ReleaseError: If a file is missing, has another length, or, with `full`, cannot be or is not as published.
            SettingsError: If `verify` is something else.

        """
        if verify not in get_args(Verify):
            raise SettingsError(f"verify {verify!r} is none of {', '.join(get_args(Verify))}")
        self.folder = folder
        self.release_id = manifest.release_id
        self.files = manifest.files
        self.is_checked = verify != "off" and bool(self.files)
        if verify == "full" and not self.files:
            raise ReleaseError(f"release {self.release_id} names no files, so it cannot be verified; {MEND}")
        for name, what in wrong_lengths(folder, self.files):
            raise self.damaged(name, what)
        if self.is_checked:
            self._sums, self._first = self._read_sums()
            self._is_good = np.zeros(len(self._sums), np.bool_)
        if verify == "full":
            self.check("")

    def names(self, below: str, suffix: str) -> list[str]:
        """Names, without the suffix, of the release's files directly below a folder such as `rows/`."""
        known = self.files or [f"{below}{path.name}" for path in (self.folder / below).glob(f"*{suffix}")]
        inside = [name.removeprefix(below) for name in known if name.startswith(below) and name.endswith(suffix)]
        return sorted(name.removesuffix(suffix) for name in inside if "/" not in name)

    def check(self, *wanted: str) -> None:
        """Compare files with their checksums: files by name, all below a folder by its name with `/`, all by "".

        Raises:
            ReleaseError: If one is not as it was published.

        """
        if not self.is_checked:
            return
        names = [name for name in self._first if any(_is_meant(name, each) for each in wanted)]
        spans = [span for name in names for span in self._open_spans(name)]
        if len(spans) <= 1 or sum(last - first for _, first, last in spans) <= _SPAN:
            for span in spans:
                self._check_span(*span)
        else:
            with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
                for _ in pool.map(lambda span: self._check_span(*span), spans):
                    pass

    def check_blocks(self, name: str, blocks: npt.NDArray[np.int64]) -> None:
        """Compare some blocks of a file with their checksums.

        Raises:
            ReleaseError: If one is not as it was published.

        """
        if not self.is_checked:
            return
        start = self._first[name]
        unseen = np.zeros(block_count(self.files[name][0]), np.bool_)
        unseen[blocks[~self._is_good[start + blocks]]] = True
        if np.count_nonzero(unseen) > _MANY * len(unseen):
            self.check(name)
            return
        for first, last in _runs(unseen):
            self._check_span(name, first, last)

    def damaged(self, name: str, what: str) -> ReleaseError:
        """The error to raise about a file."""
        return ReleaseError(f"{name} of release {self.release_id} is damaged: {what}; {MEND}")

    def _open_spans(self, name: str) -> Iterator[tuple[str, int, int]]:
        count, start = block_count(self.files[name][0]), self._first[name]
        for first, last in _runs(~self._is_good[start : start + count]):
            for at in range(first, last, _SPAN):
                yield name, at, min(at + _SPAN, last)

    def _check_span(self, name: str, first: int, last: int) -> None:
        start = self._first[name]
        try:
            found = sums_of(self.folder / name, first, last)
        except OSError as error:
            raise self.damaged(name, f"it cannot be read ({error.strerror})") from error
        wanted = self._sums[start + first : start + last]
        if len(found) != len(wanted):
            raise self.damaged(name, "it became shorter while it was open")
        if wrong := np.flatnonzero(found != wanted).tolist():
            raise self.damaged(name, f"the {BLOCK} bytes from {(first + wrong[0]) * BLOCK} on are not as published")
        self._is_good[start + first : start + last] = True

    def _read_sums(self) -> tuple[Words64, Mapping[str, int]]:
        """The checksums of all blocks, and where those of each file start."""
        if CHECKSUMS not in self.files or digest_of(self.folder / CHECKSUMS) != self.files[CHECKSUMS][1]:
            raise self.damaged(CHECKSUMS, "it is not as published")
        first, total = {}, 0
        for name in summed(self.files):
            first[name] = total
            total += block_count(self.files[name][0])
        return np.load(self.folder / CHECKSUMS), first


def summed(files: Iterable[str]) -> list[str]:
    """The files whose blocks have checksums, in the order in which these stand in their file."""
    return sorted(name for name in files if name != CHECKSUMS)


def wrong_lengths(folder: Path, files: Mapping[str, tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Files that are not there in the length of the manifest, and what is instead."""
    for name, (length, _) in files.items():
        try:
            found = (folder / name).stat()
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"
            continue
        if not stat.S_ISREG(found.st_mode):
            yield name, "it is no file"
        elif found.st_size != length:
            yield name, f"it has {found.st_size} bytes, not {length}"


def _is_meant(name: str, wanted: str) -> bool:
    return name.startswith(wanted) if wanted.endswith("/") or not wanted else name == wanted


def _runs(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where flags are set, as ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
