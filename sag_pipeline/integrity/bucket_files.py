"""A whole home in a bucket: fetched before it is checked or repaired, compared with the bucket, sent afterwards."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sag_pipeline.integrity.damaged_files import open_anyway, parts_in_use
from sag_pipeline.store.bucket import BucketHome, bucket_home
from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError, ReleaseError, StoreError
from sag_retrieval.release.manifest import MANIFEST
from sag_retrieval.release.releases import POINTER, Releases
from sag_retrieval.release.remote import RemoteReleases
from sag_retrieval.remote.mirror import FILES, measure
from sag_retrieval.reports.series import IN_BUCKET, pull_reports, send_reports

_KINDS: Final = ("tables", FILES, "releases", "answers")


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """What a home needs of its bucket, and what is wrong with it there."""

    count: int
    missing: Sequence[str] = ()
    """Keys of files that are not there, or have another length."""
    unused: Sequence[str] = ()
    """Keys of files that nothing names: of runs that were killed or lost a race. They are deleted after a day."""


def fetch_home(home: Path) -> BucketFiles | None:
    """Fetch everything of a home in a bucket that can be read; None for a home of its own. The caller holds the lock.

    Raises:
        BucketError: If the bucket cannot be read.
    """
    bucket = bucket_home(home)
    if bucket is None:
        return None
    bucket.pull(whole=True, is_tolerant=True)
    store = open_anyway(home)
    for table, part in parts_in_use(store):
        with suppress(StoreError):
            bucket.fetch(store.parts.path(table, part))
    _fetch_releases(home)
    with suppress(BucketError):
        pull_reports(home)
    needed, there = _needed(home, bucket), _there(bucket)
    missing = [key for key, length in needed.items() if key not in there or length not in (-1, there[key])]
    return BucketFiles(len(needed), sorted(missing), sorted(set(there) - set(needed)))


def _fetch_releases(home: Path) -> None:
    releases = Releases(home)
    if releases.remote is None:
        return
    for release_id in releases.remote.pull_manifests():
        with suppress(BucketError, FileNotFoundError):
            releases.remote.pull(release_id, is_tolerant=True)
    if named := releases.remote.current():
        durable.write_text(home / POINTER, f"{named}\n")


def _needed(home: Path, bucket: BucketHome) -> Mapping[str, int]:
    """Keys of the files that the home needs, and their lengths; -1 where it is not known."""
    found = {f"{FILES}/{digest}": length for digest, length in RemoteReleases(bucket.mirror).named().items()}
    found |= {f"tables/{table}/{part}.parquet": -1 for table, part in parts_in_use(open_anyway(home))}
    return found | {each.key: -1 for each in bucket.mirror.files.list("releases/")}


def _there(bucket: BucketHome) -> dict[str, int]:
    return {
        each.key: each.size
        for kind in _KINDS
        for each in bucket.mirror.files.list(f"{kind}/")
        if kind != "answers"  # each of them counts, whoever sent it
    }


def send_home(home: Path, found: BucketFiles | None, *, is_changed: bool) -> list[tuple[str, str]]:
    """Make the bucket hold what the mirror holds after a repair; the caller holds the lock since `fetch_home`.

    Returns:
        What was missing in the bucket, and what became of it.

    Raises:
        BucketError: If another run wrote to it meanwhile, or it cannot be written.
    """
    bucket = bucket_home(home)
    if bucket is None or found is None or not (is_changed or found.missing):
        return []
    bucket.probe()
    bucket.read_head()
    for key in found.missing:
        own = home / key
        if key.startswith(f"{FILES}/") and own.is_file() and measure(own)[1] == own.name:
            bucket.mirror.push(key, own)
    releases = Releases(home)
    if releases.remote:
        _send_releases(releases)
    reports = home / "reports"
    series = [path for path in reports.glob("*/*") if path.is_dir() and not path.name.startswith(".")]
    known = {f"{path.parent.name}/{path.name}/" for path in series}
    gone = {
        "/".join(path.split("/")[:2]) + "/" for path in bucket.mirror.tree(IN_BUCKET).entries if path.count("/") > 1
    }
    latest = {f"{path.parent.name}/{path.name}" for path in reports.glob("*/LATEST")}
    send_reports(home, *sorted(known | gone | latest))
    bucket.commit(open_anyway(home).ledger.parts(), is_complete=True)
    return [(key, "sent again, or no longer named") for key in found.missing]


def _send_releases(releases: Releases) -> None:
    remote = releases.remote
    assert remote is not None
    here = {path.parent.name for path in releases.folder.glob(f"[!.]*/{MANIFEST}")}
    remote.delete(sorted(set(remote.ids()) - here))
    for release_id in sorted(here):
        with suppress(ReleaseError):
            remote.push(releases.folder / release_id)
            remote.push_beside(release_id)
