"""Buckets of every kind that can be had on this machine."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sag_retrieval.remote.mirror import open_files
from tests.support.buckets import environment_of, new_bucket, s3_server


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server."""
    with s3_server() as address:
        yield address


@pytest.fixture
def at_s3(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The url of a home in a new bucket on the server, which the environment names."""
    for name, value in environment_of(s3).items():
        monkeypatch.setenv(name, value)
    open_files.cache_clear()  # the environment is read when a bucket is opened
    yield f"s3://{new_bucket(s3)}/team/home"
    open_files.cache_clear()


@pytest.fixture(params=["file", "s3"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The url of an empty home, of each kind."""
    kinds: dict[str, Callable[[], str]] = {
        "file": lambda: f"file://{tmp_path}/shared",
        "s3": lambda: str(request.getfixturevalue("at_s3")),
    }
    return kinds[request.param]()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty SAG_CACHE."""
    monkeypatch.setenv("SAG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
