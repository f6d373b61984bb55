"""The files of a url, which are written on conditions that the server was seen to keep."""

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from sag_retrieval.core.errors import BucketError, SettingsError
from sag_retrieval.core.home_urls import checked_url, local_path
from sag_retrieval.remote.files import LocalFiles

if TYPE_CHECKING:
    from sag_retrieval.remote.object_files import ObjectFiles

Files: TypeAlias = "LocalFiles | ObjectFiles"
"""Files of a shared folder or of an object store: both have the same methods."""


@lru_cache(maxsize=64)
def open_files(url: str) -> Files:
    """The files of a url; nothing is asked of a server before the first use.

    Raises:
        SettingsError: If the url names no bucket, or the package that reads it is not installed.
    """
    url = checked_url(url)
    if url.startswith("file:"):
        return LocalFiles(local_path(url), url)
    try:
        from sag_retrieval.remote.object_files import ObjectFiles  # noqa: PLC0415  local homes do not load obstore
    except ModuleNotFoundError:
        raise SettingsError(f'the home {url} needs obstore: pip install "sag[object-store]"') from None
    return ObjectFiles(url)


def write_conditional(files: Files, key: str, body: bytes, tag: str | None) -> str | None:
    """Write a file whose tag was seen (None: it was not there) and return the new tag; None if it changed meanwhile.

    A reply may be lost after the server wrote, and the repeated request is then refused: so a refusal counts only if
    other bytes are there. The bytes must therefore differ from what any other process writes under this key.
    """
    done = files.create(key, body) if tag is None else files.swap(key, body, tag)
    if done is None:
        found = files.get(key)
        if found is not None and found.read() == body:
            return found.tag
    return done


def refuse_without_conditions(files: Files) -> None:
    """Write two small files to see whether the server keeps conditions: without them, two runs overwrite each other.

    Raises:
        BucketError: If it does not.
    """
    key = f".probe/{uuid4().hex}"
    try:
        tag = files.create(key, b"first")
        has_created_twice = files.create(key, b"second") is not None
        has_swapped_blindly = tag is None or files.swap(key, b"third", '"00000000000000000000000000000000"') is not None
        has_swapped = tag is not None and files.swap(key, b"fourth", tag) is not None
    finally:
        with suppress(BucketError):
            files.delete([key])
    if has_created_twice or has_swapped_blindly or not has_swapped:
        raise BucketError(
            f"the server of {files.url} does not keep the conditions of writes (If-None-Match, If-Match), so two runs "
            "could overwrite each other unnoticed; use a server that does, such as Amazon S3, or a folder as SAG_HOME"
        )
