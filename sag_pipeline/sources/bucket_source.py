"""A source in a bucket: listed with tags, so that only what changed is read."""

from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

from sag_pipeline.sources.folders import BucketFile, Place, SourceOptions, is_ignored, matches, printable
from sag_retrieval.core.errors import BucketError, SourceError
from sag_retrieval.core.home_urls import mirror_folder
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.files import Listed
from sag_retrieval.remote.mirror import open_files

_BELOW: Final = "source"
_ATTEMPTS: Final = 3


def walk_bucket(url: str, options: SourceOptions) -> Iterator[Place]:
    """Every file below a url by key, without reading any; what a walk of a folder leaves out is left out.

    Raises:
        SourceError: If the bucket cannot be listed, or holds no file there: a wrong prefix looks the same as an empty
            one, and must not remove every document.
    """
    try:
        listed = list(open_files(url).list())
    except BucketError as error:
        raise SourceError(f"source {url!r}: {error}") from None
    if not listed:
        raise SourceError(
            f"source {url!r} holds no file, so nothing of it was changed; correct the url, or remove its documents "
            "with `sag sources forget`"
        )
    copies = mirror_folder(url, load_settings().cache) / _BELOW
    for each in listed:
        path = printable(each.key)
        if not each.key.endswith("/") and _is_wanted(path, options):
            file = copies / _name(each) / each.key.rpartition("/")[2]
            yield Place(path, file, remote=BucketFile(url, each.key, each.tag, each.size))


def state_of_bucket(url: str) -> str:
    """Hash of the names and tags of the files of a source; empty if it cannot be listed or is empty."""
    try:
        lines = [f"{each.key}\x1f{each.size}\x1f{each.tag}\n" for each in open_files(url).list()]
    except BucketError:
        return ""
    return blake2b("".join(lines).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if lines else ""


def version_of(remote: BucketFile) -> str:
    """The version of a file's bytes, by its tag: other bytes have another one."""
    return blake2b(f"{remote.tag}\x1f{remote.size}".encode(), digest_size=16).hexdigest()


def fetch(file: Path, remote: BucketFile) -> None:
    """Put the bytes of a listed file in its place on this machine, unless they are there."""
    if file.is_file() and file.stat().st_size == remote.size:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{uuid4().hex}")
    try:
        _download(remote, draft)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _download(remote: BucketFile, draft: Path) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            found = open_files(remote.url).get(remote.key)
            if found is None or found.tag != remote.tag:
                raise OSError("it is gone, or was replaced since it was listed; the next run reads it")
            with draft.open("wb") as out:
                out.writelines(found.chunks)
        except BucketError as error:
            if attempt == _ATTEMPTS - 1:
                raise OSError(str(error)) from None
        else:
            return


def drop(file: Path) -> None:
    """Delete a fetched file that is not needed again."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        file.parent.rmdir()


def _name(listed: Listed) -> str:
    return blake2b(f"{listed.key}\x1f{listed.tag}\x1f{listed.size}".encode(), digest_size=12).hexdigest()


def _is_wanted(path: str, options: SourceOptions) -> bool:
    steps = path.split("/")
    above = ["/".join(steps[: n + 1]) for n in range(len(steps))]
    if any(map(is_ignored, steps)) or any(matches(each, options.exclude) for each in above):
        return False
    if any(matches(f"{each}/", options.exclude) for each in above[:-1]):
        return False
    return not options.include or matches(path, options.include)
