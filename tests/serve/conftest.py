"""A small home with two departments, and a server over it in a thread."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.conftest import json_lines
from tests.support.bare_ingest import kept_ingest

SECRET = "Quarkfeather"
"""A word that stands in documents of the other department alone, in whatever place they have."""
DOCUMENTS = [
    {
        "id": "notes/heron.md",
        "title": "Heron buoy",
        "text": "Lumen Optics built the Heron buoy in 2021. Ada Brandt leads Lumen Optics. The buoy costs 40,000 euros.",
        "metadata": {"department": "sales", "date": "2021-05-01"},
    },
    {
        "id": "notes/price.md",
        "title": "Price list",
        "text": "The price of the Heron buoy is 40,000 euros. Ada Brandt set the price in 2023.",
        "metadata": {"department": "sales", "date": "2023-02-01"},
    },
    {
        "id": f"legal/{SECRET}.md",
        "title": f"{SECRET} case <script>alert(1)</script> [x](http://evil.example)",
        "text": f"Lumen Optics sued {SECRET} Ltd over the Heron buoy in 2022. Ada Brandt met {SECRET} Ltd in Berlin. "
        f"{SECRET} Ltd paid Lumen Optics 90,000 euros for the Heron buoy.",
        "metadata": {"department": "legal", "date": "2022-03-01"},
    },
]


@pytest.fixture(scope="module")
def served_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the documents above."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SOURCE", "CHAT_MODEL", "EMBEDDING_MODEL", "LANGUAGE"):
            patch.delenv(f"SAG_{name}", raising=False)
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        (folder / "documents.jsonl").write_text(json_lines(DOCUMENTS), encoding="utf-8")
        kept_ingest(["documents.jsonl"])
        yield folder / "home"


@contextlib.contextmanager
def serving(app: Callable[..., object]) -> Iterator[str]:
    """The address of a server of this application, in a thread of its own."""
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))  # type: ignore[arg-type]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def served(served_home: Path) -> Iterator[httpx.Client]:
    """A client of a server without keys."""
    pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
    from sag_retrieval.serve.access import LOOPBACK, CurrentRelease, Service
    from sag_retrieval.serve.http import build_app

    service = Service(CurrentRelease(served_home))
    with serving(build_app(service, LOOPBACK)) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client
