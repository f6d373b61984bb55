"""Whether a release on disk is what was published."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.release.arrays import open_arrays
from sag_retrieval.release.folders import digest_of, wrong_lengths
from sag_retrieval.release.manifest import MANIFEST, Contents, Manifest
from sag_retrieval.release.tables import RowTables, VectorTables, check_arrays

_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file of a release, by its path below it, and what is wrong with it."""

    file: str
    what: str


def verify_release(folder: Path, *, deep: bool = True, below: str = "") -> list[FileFault]:
    """What is wrong with a release, by file; empty if it is as it was published.

    Args:
        folder: The release's folder.
        deep: Compare the hash of every file; else only the lengths, and whether tables and arrays fit one another.
        below: Only files below this folder of the release, such as `lance`; empty: all.

    """
    try:
        manifest = Manifest.read(folder)
    except ReleaseError as error:
        return [FileFault(MANIFEST, str(error))]
    if not manifest.files:
        return [FileFault(MANIFEST, "it names no files, as those of version 0.1; nothing can be verified")]
    files = {name: told for name, told in manifest.files.items() if name.startswith(f"{below}/" if below else "")}
    found = [FileFault(*each) for each in wrong_lengths(folder, files)]
    if deep:
        known = {fault.file for fault in found}
        found += _changed(folder, {name: told[1] for name, told in files.items() if name not in known})
    if not found and not below:
        found = [*_misfits(folder, manifest)]
    return sorted(found, key=lambda fault: fault.file)


def _changed(folder: Path, digests: dict[str, str]) -> Iterator[FileFault]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = pool.map(lambda name: _fault_of(folder / name, digests[name]), digests)
        yield from (FileFault(name, what) for name, what in zip(digests, told, strict=True) if what)


def _fault_of(path: Path, wanted: str) -> str:
    try:
        return "" if digest_of(path) == wanted else "its bytes are not as published"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _misfits(folder: Path, manifest: Manifest) -> Iterator[FileFault]:
    """Tables and arrays that do not fit one another or the counts of the manifest."""
    contents = Contents(folder, manifest, "off")
    for name, tables in (("rows", RowTables(contents, manifest)), ("arrays/vectors", VectorTables(contents, manifest))):
        for table in tables:
            try:
                tables[table]
            except ReleaseError as error:
                yield FileFault(f"{name}/{table}", str(error))
    try:
        check_arrays(open_arrays(folder / "arrays", {}), manifest, is_trusted=False)
    except ReleaseError as error:
        yield FileFault("arrays", str(error))
