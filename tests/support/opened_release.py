"""A release of a few files, open for the tests of a module."""

from collections.abc import Iterator, Mapping

import pytest

from sag_retrieval import Release, open_release
from tests.support.bare_ingest import bare_ingest


def opened_release(factory: pytest.TempPathFactory, files: Mapping[str, str]) -> Iterator[Release]:
    """The release of files, by name their text, in a home of its own."""
    home, folder = (factory.mktemp(name) for name in ("home", "files"))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(home))
        bare_ingest([str(folder)])
        with open_release(home) as opened:
            yield opened
