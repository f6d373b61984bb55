"""The manifest of a release, and its files, each compared with the manifest or the list of checksums before it is used.

Small files have their checksums together, each large one by itself: a release shares the checksums of a large file with
the release before, as it shares the file.
"""

import json
import os
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core import durable
from sag_retrieval.core.errors import MEND, ReleaseError, SettingsError
from sag_retrieval.core.public import public
from sag_retrieval.core.types import Words64
from sag_retrieval.release.folders import BLOCK, block_count, sums_of, wrong_lengths
from sag_retrieval.release.key_weights import Smoothing
from sag_retrieval.release.mapped_arrays import PACK, FilePlace, PackedPath, open_pack
from sag_retrieval.release.schema import SCHEMA_VERSION

CHECKSUMS: Final = "checksums.npy"
"""File with the checksums of all small files, in the order of their names."""
OF_LARGE: Final = "checksums/"
_LARGE: Final = 16
"""A file of more blocks is large: 1 MB."""


_MOST: Final = 1 << 30
"""Bytes that a list of files may have."""


def packed_list(files: Mapping[str, tuple[int, str]]) -> str:
    """A list of files with their lengths and hashes as a manifest holds it: else it were most of a small change."""
    listed = json.dumps(files, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return b64encode(zlib.compress(listed.encode("utf-8", "surrogatepass"), 9)).decode()


def unpacked_list(held: object) -> dict[str, tuple[int, str]]:
    """The list of files that a manifest holds; empty where it holds none, as in version 0.1."""
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


def _has_sums(name: str) -> bool:
    """Whether a file has checksums; those that hold checksums are compared as a whole."""
    return name != CHECKSUMS and not name.startswith(OF_LARGE)


def _read_sums(
    folder: Path, files: Mapping[str, tuple[int, str]], damaged: Callable[[str, str], ReleaseError]
) -> tuple[Words64, Mapping[str, int]]:
    """The checksums of all blocks, and where those of each file start."""

    def read(name: str) -> Words64:
        if name not in files or durable.digest_of(folder / name) != files[name][1]:
            raise damaged(name, "it is not as published")
        found: Words64 = np.load(folder / name)
        return found

    together, first, parts, at, total = read(CHECKSUMS), {}, [np.zeros(0, np.uint64)], 0, 0
    for name in sorted(filter(_has_sums, files)):
        length = files[name][0]
        own, count = sums_file(name, length), block_count(length)
        parts.append(together[at : at + count] if own == CHECKSUMS else read(own))
        at += count if own == CHECKSUMS else 0
        first[name] = total
        total += count
        if len(parts[-1]) != count:
            raise damaged(own, f"it has {len(parts[-1])} checksums of {name}, not {count}")
    return np.concatenate(parts), first


MANIFEST = "manifest.json"
ANSWERS: Final = "answers_do_not_fall"
"""Check of a release whose figures `sag releases` shows: how it answers the questions of the home."""
Verify = Literal["lazy", "full", "off"]
"""When bytes are compared with their checksums: when they are first used, all while opening, or never."""
_SPAN: Final = 256
"""Blocks that one thread checks at a time: 16 MB."""
RELEASES: Final = "releases"
_LAYERS: Final = "layers/"
_AT_ONCE: Final = 4
_MANY: Final = 1 / 3
"""With a larger share of a file's blocks to check, reading it in one go is faster than block by block."""


@public
@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a release: its id, versions, hashes, counts and files.

    `release_id` is `r` and the start of `content_hash`, which covers the rows and the embedder, not the clock.
    `input_hash` is the state of the tables it was made from. `counts` are rows by table.
    """

    release_id: str
    schema_version: int
    content_hash: str
    input_hash: str
    created_at: str
    embedding_model: str
    embedder_fingerprint: str
    dimension: int
    counts: Mapping[str, int]
    hashes: Mapping[str, str]
    checks: Mapping[str, Any]
    """By name: whether it passed, its message and its figures; that of the answers also those of earlier releases."""
    index: Mapping[str, Any]
    """By table of vectors: `none` (exact scan), or the kind of index, its reach and its measured recall."""

    layers: Sequence[Mapping[str, int]] = ()
    """Rows by table of each layer; empty for a release of one, whose rows are `counts`."""
    smoothing: Smoothing = "none"
    """How the idf of keys is smoothed."""
    key_schema: Mapping[str, Any] = field(default_factory=dict)
    """The key types, in the form of `schema.yaml`; empty: the default ones."""
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """By path below the release: length and hash of every file except this one and those added later. Empty in releases
    of version 0.1, which cannot be verified."""
    manifest_hash: str = ""
    """Hash of the manifest's own text with this value left empty; empty in releases of version 0.1."""

    @property
    def layer_counts(self) -> Sequence[Mapping[str, int]]:
        """Rows by table of each layer, at least one."""
        return self.layers or (self.counts,)

    def write(self, folder: Path) -> None:
        """Write `manifest.json` with its own hash, durably: a folder without one is not a release."""
        empty = _text(replace(self, manifest_hash=""))
        durable.write_text(folder / MANIFEST, _text(replace(self, manifest_hash=_hash(empty))))

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """The manifest of a release folder.

        Raises:
            ReleaseError: If it is missing, unreadable, or of another schema version.
        """
        try:
            text = (folder / MANIFEST).read_text(encoding="utf-8")
            values = json.loads(text)
            version = values["schema_version"]
            if version != SCHEMA_VERSION:  # checked first: another version has other fields
                raise ReleaseError(_other_version(folder.name, version))
            manifest = cls(**(values | {"files": unpacked_list(values.get("files"))}))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ReleaseError(
                f"{folder} is not a release ({error}); `sag releases list` shows what is there"
            ) from error
        if (manifest.files or manifest.manifest_hash) and not has_own_hash(text, manifest.manifest_hash or "none"):
            raise ReleaseError(
                f"{MANIFEST} of release {folder.name} is damaged: its text has another hash than it names; {MEND}"
            )
        is_placed = folder.parent.name == RELEASES and not folder.name.startswith(".")
        if is_placed and folder.name != manifest.release_id:
            raise ReleaseError(
                f"{folder} holds release {manifest.release_id}: a folder was renamed or exchanged; {MEND}"
            )
        return manifest


def _other_version(release_id: str, version: object) -> str:
    is_newer = isinstance(version, int) and version > SCHEMA_VERSION
    by = "a newer" if is_newer else "another"
    return (
        f"release {release_id} was made by {by} version of sag: its schema version is {version}, this one reads "
        f"{SCHEMA_VERSION}; "
        + ("install the newer version, or " if is_newer else "")
        + "publish again with `sag ingest`"
    )


def _text(manifest: Manifest) -> str:
    told = asdict(replace(manifest, files={})) | {"files": packed_list(manifest.files)}
    return json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True)


def has_own_hash(text: str, named: str) -> bool:
    """Whether the text of a manifest has the hash that it names; version 0.1 named none."""
    return not named or _hash(text.replace(f'"manifest_hash": "{named}"', '"manifest_hash": ""')) == named


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def layer_path(number: int) -> str:
    """Where a layer's files lie below a release: those of the first beside the manifest."""
    return f"{_LAYERS}{number}/" if number else ""


Fill = Callable[[str, Sequence[tuple[int, int]], bool], None]
"""Fetches blocks of a file that lies elsewhere: those that are not there, or, if the last is true, all of them."""


class Contents:
    """The files of a release, compared with its manifest; safe to share between threads.

    No part of a file is parsed or mapped before its blocks were compared with their checksums: a reader that trusts
    row numbers of a damaged file answers wrongly or crashes in a C library. A block is checked once per process.
    """

    def __init__(self, folder: Path, manifest: Manifest, verify: Verify = "lazy", fill: Fill | None = None) -> None:
        """Compare the lengths of all files; with `full` their bytes too; `fill` fetches what is about to be read."""
        if verify not in get_args(Verify):
            raise SettingsError(f"verify {verify!r} is none of {', '.join(get_args(Verify))}")
        self.folder = folder
        self._fill = fill
        self.release_id = manifest.release_id
        self.files = manifest.files
        self._packs: dict[str, PackedPath] = {}
        self.is_checked = verify != "off" and bool(self.files)
        if verify == "full" and not self.files:
            raise ReleaseError(f"release {self.release_id} names no files, so it cannot be verified; {MEND}")
        for name, what in wrong_lengths(folder, self.files):
            raise self.damaged(name, what)
        if self.is_checked:
            self._sums, self._first = _read_sums(folder, self.files, self.damaged)
            self._is_good = np.zeros(len(self._sums), np.bool_)
        if verify == "full":
            self.check("")

    def names(self, below: str, suffix: str) -> list[str]:
        """Names, without the suffix, of the release's files directly below a folder such as `rows/`."""
        place = self.place(below)
        if isinstance(place, PackedPath):
            return sorted(name.removesuffix(suffix) for name in place.files() if name.endswith(suffix))
        known = self.files or [f"{below}{path.name}" for path in place.glob(f"*{suffix}")]
        inside = [name.removeprefix(below) for name in known if name.startswith(below) and name.endswith(suffix)]
        return sorted(name.removesuffix(suffix) for name in inside if "/" not in name)

    def place(self, below: str) -> FilePlace:
        """Where a file or folder lies; a packed layer is checked and read when it is first asked for."""
        layer = "/".join(below.split("/")[:2])
        name = f"{layer}/{PACK}"
        if not below.startswith(_LAYERS) or (
            name not in self.files if self.files else not (self.folder / name).is_file()
        ):
            return self.folder / below
        if name not in self._packs:
            self.check(name)
            try:
                self._packs[name] = open_pack(self.folder / name)
            except (OSError, pa.ArrowException, KeyError) as error:
                raise self.damaged(name, str(error)) from error
        return self._packs[name] / below.removeprefix(layer)

    def check(self, *wanted: str) -> None:
        """Compare files with their checksums: files by name, all below a folder by its name with `/`, all by ""."""
        if not self.is_checked:
            return
        names = [name for name in self._first if any(_is_meant(name, each) for each in wanted)]
        for name in names:
            self._fetch(name, [(first, last) for _, first, last in self._open_spans(name)])
        spans = [span for name in names for span in self._open_spans(name)]
        if len(spans) <= 1 or sum(last - first for _, first, last in spans) <= _SPAN:
            for span in spans:
                self._check_span(*span)
        else:
            with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
                for _ in pool.map(lambda span: self._check_span(*span), spans):
                    pass

    def check_blocks(self, name: str, blocks: npt.NDArray[np.int64]) -> None:
        """Compare some blocks of a file with their checksums."""
        if not self.is_checked:
            return
        start = self._first[name]
        unseen = np.zeros(block_count(self.files[name][0]), np.bool_)
        unseen[blocks[~self._is_good[start + blocks]]] = True
        if self._fill is None and np.count_nonzero(unseen) > _MANY * len(unseen):
            self.check(name)
            return
        runs = [*_runs(unseen)]
        self._fetch(name, runs)
        for first, last in runs:
            self._check_span(name, first, last)

    def sums(self, name: str) -> Words64:
        """The checksums of a file's blocks, as they were published."""
        first = self._first[name]
        return self._sums[first : first + block_count(self.files[name][0])]

    def damaged(self, name: str, what: str) -> ReleaseError:
        """The error to raise about a file."""
        return ReleaseError(f"{name} of release {self.release_id} is damaged: {what}; {MEND}")

    def _open_spans(self, name: str) -> Iterator[tuple[str, int, int]]:
        count, start = block_count(self.files[name][0]), self._first[name]
        for first, last in _runs(~self._is_good[start : start + count]):
            for at in range(first, last, _SPAN):
                yield name, at, min(at + _SPAN, last)

    def _fetch(self, name: str, spans: Sequence[tuple[int, int]]) -> None:
        if self._fill and spans:
            self._fill(name, spans, False)  # noqa: FBT003  it is called by place

    def _check_span(self, name: str, first: int, last: int) -> None:
        start = self._first[name]
        wanted = self._sums[start + first : start + last]
        try:
            found = sums_of(self.folder / name, first, last)
            if self._fill and not np.array_equal(found, wanted):
                self._fill(name, [(first, last)], True)  # noqa: FBT003
                found = sums_of(self.folder / name, first, last)
        except OSError as error:
            raise self.damaged(name, f"it cannot be read ({error.strerror})") from error
        if len(found) != len(wanted):
            raise self.damaged(name, "it became shorter while it was open")
        if wrong := np.flatnonzero(found != wanted).tolist():
            raise self.damaged(name, f"the {BLOCK} bytes from {(first + wrong[0]) * BLOCK} on are not as published")
        self._is_good[start + first : start + last] = True


def _is_meant(name: str, wanted: str) -> bool:
    return name.startswith(wanted) if wanted.endswith("/") or not wanted else name == wanted


def _runs(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where flags are set, as ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
