"""Homes by url: which urls name a bucket, and the folder on this machine that mirrors it."""

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from sag_retrieval.core import durable
from sag_retrieval.core.errors import SettingsError, shown

SCHEMES: Final = ("s3", "gs", "az", "file")
MARK: Final = "bucket.json"
"""In a folder that mirrors a bucket: the url."""


def is_url(given: object) -> bool:
    """Whether a home is given as a url and not as a folder."""
    return isinstance(given, str) and "://" in given


def names_bucket(given: str) -> bool:
    """Whether a source is given as the url of a bucket."""
    return given.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))


def names_web(given: str) -> bool:
    """Whether a source is given as the address of a page, a sitemap or a feed."""
    return given.startswith(("http://", "https://"))


def checked_url(given: str) -> str:
    """The url of a home in one spelling.

    Example:
        >>> checked_url("s3://bucket/team/home/")
        's3://bucket/team/home'

    Raises:
        SettingsError: If it names no bucket, or holds what does not belong into it, such as a password.
    """
    parts = urlsplit(given)
    if parts.scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise SettingsError(
            f"home {parts.scheme + '://…'!r} starts with none of {known}; write it like s3://bucket/prefix"
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise SettingsError(
            f"the home on {parts.scheme}:// holds a user, a password, `?` or `#`; write it like s3://bucket/prefix, "
            "and give the credentials by the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    path = parts.path.strip("/")
    if not (path if parts.scheme == "file" else parts.netloc):
        raise SettingsError(f"home {shown(given)} names no bucket; write it like {parts.scheme}://bucket/prefix")
    if any(step in ("", ".", "..") for step in path.split("/")) and path:
        raise SettingsError(f"home {shown(given)} has an empty step, `.` or `..` in its path; write it without")
    return f"{parts.scheme}://{parts.netloc}/{path}".rstrip("/")


def local_path(url: str) -> Path:
    """The folder that a url of the scheme `file` names."""
    return Path("/", unquote(urlsplit(url).path).strip("/"))


def mirror_folder(url: str, cache: Path) -> Path:
    """The folder that mirrors a bucket: one for each url and server, below SAG_CACHE."""
    server = os.environ.get("AWS_ENDPOINT_URL", "") if url.startswith("s3:") else ""
    name = blake2b(f"{server} {url}".encode(), digest_size=10).hexdigest()
    return Path(os.path.abspath(cache.expanduser())) / name  # noqa: PTH100  links stay


def mark(folder: Path, url: str) -> None:
    """Make the folder that mirrors a bucket, unless it is there; private, as documents are."""
    if url_of(folder) != url:
        durable.make_folder(folder, 0o700)
        durable.write_text(folder / MARK, json.dumps({"url": url}) + "\n")


def url_of(folder: Path) -> str | None:
    """The url of the bucket that a folder mirrors; None for a home of its own."""
    try:
        return str(json.loads((folder / MARK).read_text(encoding="utf-8"))["url"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def shown_home(folder: Path) -> str:
    """A home as messages name it: its url where it lies in a bucket, else its folder."""
    return url_of(folder) or str(folder)
