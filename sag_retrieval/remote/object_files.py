"""Files of a bucket on Amazon S3, Google Cloud Storage, Azure or a compatible server, by obstore."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore import exceptions
from obstore.store import from_url

from sag_retrieval.core.errors import BucketError, SettingsError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.files import Blob, Listed

_Done = TypeVar("_Done")
WHOLE = 1 << 25
"""Bytes. A larger file is read by ranges of this length: one request has a bounded time."""
_MOST_RETRIES: Final = 6
_RANGES_AT_ONCE: Final = 16
"""Requests for parts of one file: each waits for the network most of the time."""
_AT_ONCE: Final = 1_000
_CODE: Final = re.compile(r"<Code>(\w{1,64})</Code>")
_STATUS: Final = re.compile(r"status code: (\d{3})")
_CREDENTIALS: Final = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}


class ObjectFiles:
    """Files of one bucket below a prefix. Refused and lost requests are repeated; messages never quote the server.

    What a server says may hold the name of a key of access, so a message has its status and code alone.
    """

    def __init__(self, url: str) -> None:
        """Open the bucket by the usual variables of the environment; no request is sent.

        Raises:
            SettingsError: If the environment does not say how, such as the account of Azure.
        """
        self.url = url
        self._scheme = urlsplit(url).scheme
        self._store = self._open()

    def _open(self) -> Any:  # noqa: ANN401  one class for each provider
        seconds = load_settings(home=Path()).bucket_seconds  # whichever SAG_HOME names
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        client: Any = {"timeout": f"{seconds / 2:g}s", "connect_timeout": "10s"}  # time for a second try
        if self._scheme == "s3" and endpoint.startswith("http://"):
            client["allow_http"] = True
        retry: Any = {"max_retries": _MOST_RETRIES, "retry_timeout": timedelta(seconds=seconds)}
        try:
            return from_url(self.url, client_options=client, retry_config=retry)
        except Exception:  # noqa: BLE001  what the environment holds must not be quoted
            raise SettingsError(
                f"{self.url} cannot be opened with the variables of the environment; set {_CREDENTIALS[self._scheme]}"
            ) from None

    def get(self, key: str, known: str = "") -> Blob | None:
        """A file; None if there is none. Of one that still has a known tag, the tag without the bytes."""
        options: Any = {"if_none_match": known} if known else None
        try:
            found: Any = self._try("read", key, lambda: obstore.get(self._store, key, options=options))
        except exceptions.NotModifiedError:
            return Blob(known, datetime.now(UTC), iter(()))
        if found is None:
            return None

        tag, size = str(found.meta["e_tag"]), int(found.meta["size"])
        whole = (bytes(self._try("read", key, found.bytes) or b"") for _ in range(1))
        return Blob(tag, found.meta["last_modified"], self._ranges(key, tag, size) if size > WHOLE else whole)

    def _ranges(self, key: str, tag: str, size: int) -> Iterator[bytes]:
        """The bytes of a large file, each range by a request of its own, whose time is bounded."""
        for start in range(0, size, WHOLE):
            options: Any = {"range": (start, min(start + WHOLE, size)), "if_match": tag}
            part = self._range(key, options)
            if part is None:
                raise BucketError(f"{key} in {self.url} was replaced while it was read; run the command again")
            yield part

    def _range(self, key: str, options: Any) -> bytes | None:  # noqa: ANN401  obstore's own type
        try:
            return self._try("read", key, lambda: bytes(obstore.get(self._store, key, options=options).bytes()))
        except exceptions.PreconditionError:
            return None

    def ranges(self, key: str, spans: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Bytes of a file from and up to some places each, by a request each; None if there is no such file.

        Not by `obstore.get_ranges`, which also fetches what lies between ranges that are less than a megabyte apart.
        """

        def read(span: tuple[int, int]) -> Any:  # noqa: ANN401  obstore's own type
            start, end = span
            return self._try("read", key, lambda: obstore.get_range(self._store, key, start=start, end=end))

        with ThreadPoolExecutor(_RANGES_AT_ONCE) as pool:
            found = [None if each is None else bytes(each) for each in pool.map(read, spans)]
        return None if None in found else [each for each in found if each is not None]

    def put(self, key: str, body: bytes | Path) -> None:
        """Write a file, whatever is there."""
        if self._try("write", key, lambda: obstore.put(self._store, key, body)) is None:
            raise self._no_bucket()

    def create(self, key: str, body: bytes) -> str | None:
        """Write a file that must not be there and return its tag; None if another one is there."""
        return self._write(key, body, "create")

    def swap(self, key: str, body: bytes, tag: str) -> str | None:
        """Replace the file of this tag and return the new one; None if it is not there any more."""
        return self._write(key, body, {"e_tag": tag})

    def _write(self, key: str, body: bytes, mode: Any) -> str | None:  # noqa: ANN401  obstore's own type
        try:
            done: Any = self._try(
                "write", key, lambda: obstore.put(self._store, key, body, mode=mode, use_multipart=False)
            )
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
            return None
        return None if done is None else str(done["e_tag"])

    def list(self, below: str = "") -> Iterator[Listed]:
        """Every file whose key starts with `below`, by key."""
        pages: Any = self._try("list", below, lambda: iter(obstore.list(self._store, below.rstrip("/") or None)))
        found = []
        while (page := self._try("list", below, lambda: next(pages, None))) is not None:
            found += [Listed(each["path"], each["size"], str(each["e_tag"]), each["last_modified"]) for each in page]
        return iter(sorted((each for each in found if each.key.startswith(below)), key=lambda each: each.key))

    def delete(self, keys: Sequence[str]) -> None:
        """Delete files; one that is not there is no error."""
        for start in range(0, len(keys), _AT_ONCE):
            some = list(keys[start : start + _AT_ONCE])
            self._try("delete", some[0], lambda some=some: obstore.delete(self._store, some))  # type: ignore[misc]

    def _try(self, doing: str, key: str, ask: Callable[[], _Done]) -> _Done | None:
        """The reply of the server; None where there is no such file, or, on deleting, nothing to say."""
        try:
            return ask()
        except exceptions.NotModifiedError:
            raise
        except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as refused:
            said = str(refused)
            if _CODE.search(said) and "NoSuchBucket" in said:
                raise self._no_bucket() from None
            raise
        except FileNotFoundError as missing:
            if "NoSuchBucket" in str(missing):
                raise self._no_bucket() from None
            return None
        except (exceptions.BaseError, OSError) as error:
            raise self._error(doing, key, error) from None

    def _no_bucket(self) -> BucketError:
        name = urlsplit(self.url).netloc
        return BucketError(f"there is no bucket {name!r} ({self.url}); create it or correct SAG_HOME")

    def _error(self, doing: str, key: str, error: Exception) -> BucketError:
        said = str(error)
        code, status = _CODE.search(said), _STATUS.search(said)
        name = code[1] if code else status[1] if status else type(error).__name__
        if name == "NoSuchBucket":
            return self._no_bucket()
        where = f"{key or 'files'} in {self.url}"
        if isinstance(error, exceptions.UnauthenticatedError) or name in _WRONG_KEY:
            return BucketError(
                f"cannot {doing} {where}: the credentials are wrong ({name}); correct {_CREDENTIALS.get(self._scheme)}"
            )
        if isinstance(error, exceptions.PermissionDeniedError) or name in ("AccessDenied", "403"):
            return BucketError(
                f"cannot {doing} {where}: the credentials do not allow it ({name}); ask for the right to {doing} there"
            )
        return BucketError(
            f"cannot {doing} {where}: the server did not answer as it should, also when asked again ({name}); "
            "check the network and the server, then run the command again"
        )


_WRONG_KEY: Final = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "401")
