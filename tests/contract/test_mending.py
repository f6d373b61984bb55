"""Each message that names a command of ours is brought about on a real home, and the command it names mends it."""

import ast
import fcntl
import re
import shlex
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sag_pipeline.publish.relational import build_tables
from sag_pipeline.store.store import Store
from sag_retrieval import SagError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.release.files import Releases
from tests.support.kept_home import edit_manifest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SEARCH = ("search", "Who built the Heron buoy?")
FILES = {
    "heron.md": "# The Heron buoy\n\nThe Heron buoy is built by Lumen Optics in Port Ansel.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。\n",
    "broken.pdf": "%PDF-1.7 this is no page",
}
Home = Path


def run(*command: str) -> Result:
    return CliRunner().invoke(main, list(command))


def said(result: Result) -> str:
    return result.output + str(result.exception or "")


def in_force(home: Home) -> Path:
    return Releases(home).path()


def cut(path: Path, share: float = 0.5) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def without_release(home: Home) -> None:
    shutil.rmtree(home / "releases")
    (home / "CURRENT").unlink()


def pointer_is_a_folder(home: Home) -> None:
    (home / "CURRENT").unlink()
    (home / "CURRENT").mkdir()


def wrong_fit(home: Home) -> None:
    np.save(in_force(home) / "embedder" / "hashing.npy", np.zeros(3, np.float32))


def no_tables_of_links(home: Home) -> None:
    store = Store(home)
    (entry,) = store.ledger.entries("step = 'distinct_keys'")
    store.ledger.commit([replace(entry, status="removed")])


def build(home: Home) -> str:
    try:
        build_tables(Store(home))
    except SagError as error:
        return str(error)
    return ""


def write_while_another_does(home: Home) -> str:
    with (home / "lock").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        try:
            with Store.locked(home, patience=0):
                return ""
        except SagError as error:
            return str(error)


def search_by(method: str) -> Callable[[Home], str]:
    def search(home: Home) -> str:
        try:
            with open_release(home) as release:
                release.search("Heron", method=method)
        except SagError as error:
            return str(error)
        return ""

    return search


@dataclass(frozen=True)
class Fault:
    """How a message comes about, and what its command promises."""

    message: str
    """A part of the message as it stands in the code."""
    bring: Callable[[Home], None] = lambda _: None
    shown_by: tuple[str, ...] | Callable[[Home], str] = SEARCH
    shows: str = ""
    """What the named command shows; empty: it mends, and the command that showed the fault succeeds."""


MANIFEST = "manifest.json"
FAULTS = {
    "an array is gone": Fault(
        "is missing; rebuild the release with", lambda h: (in_force(h) / "arrays/graph/event_chunk.npy").unlink()
    ),
    "an array is cut short": Fault(
        "is damaged; rebuild the release with", lambda h: cut(in_force(h) / "arrays/graph/event_chunk.npy")
    ),
    "the fit is gone": Fault(
        "; rebuild the release with `sag ingest`", lambda h: (in_force(h) / "embedder/hashing.npy").unlink()
    ),
    "the fit has another shape": Fault("rebuild it with `sag ingest`", wrong_fit),
    "the database is gone": Fault(
        "; run `sag ingest`",
        lambda h: (in_force(h) / "sag.duckdb").unlink(),
        (*SEARCH, "--sql", "language = 'en'"),
    ),
    "the database is none": Fault(
        "; rebuild it with `sag ingest`",
        lambda h: (in_force(h) / "sag.duckdb").write_bytes(b"no database" * 2000),
        (*SEARCH, "--sql", "language = 'en'"),
    ),
    "of an older version": Fault(
        "publish again with `sag ingest`", lambda h: edit_manifest(in_force(h), schema_version=1)
    ),
    "of a newer version": Fault(
        "publish again with `sag ingest`", lambda h: edit_manifest(in_force(h), schema_version=99)
    ),
    "no release": Fault("yet; make one with `sag ingest`", without_release),
    "an empty list": Fault("no release yet; make one with `sag ingest`", without_release, ("releases", "list")),
    "a pointer to nothing": Fault(
        "; publish again with `sag ingest`", lambda h: (h / "CURRENT").write_text("r000000000000\n")
    ),
    "a pointer of bytes": Fault(
        "; publish again with `sag ingest`", lambda h: (h / "CURRENT").write_bytes(b"\x00\xff" * 3000)
    ),
    "a pointer that is a folder": Fault("; publish again with `sag ingest`", pointer_is_a_folder),
    "an empty pointer": Fault("; publish again with `sag ingest`", lambda h: (h / "CURRENT").write_bytes(b"")),
    "tables of links not made": Fault("is not made yet; make it with `sag ingest`", no_tables_of_links, build),
    "a manifest of garbage": Fault(
        "`sag releases list` shows what is there",
        lambda h: (in_force(h) / MANIFEST).write_bytes(b"\xff{"),
        shows="cannot be opened",
    ),
    "an unknown release": Fault(
        "`sag releases list` shows what is", shown_by=("releases", "promote", "../x\n"), shows="hashing"
    ),
    "another writer": Fault("`sag status` shows what is done", shown_by=write_while_another_does, shows="documents"),
    "put aside": Fault("put aside; `sag status` says why", shown_by=("ingest",), shows="broken.pdf"),
    "an option without a value": Fault(
        "`sag ingest --help` shows the names", shown_by=("ingest", "--set", "size"), shows="en_size"
    ),
    "nothing to keep": Fault(
        "; see `sag ingest --help`", shown_by=("ingest", "--set", "keep_runs=0"), shows="keep_releases"
    ),
    "an empty query": Fault("as in `sag search 'who …'`", shown_by=("search", " "), shows="Heron"),
    "an unknown method": Fault("; see `sag search --help`", shown_by=search_by("guess"), shows="think-on-graph"),
    "a wrong setting": Fault("`sag settings` shows every setting", shows="klingon"),
}
"""By what is wrong."""
TOLD_ELSEWHERE = ("Next: `sag search",)
"""Ends the demo: no fault."""


def messages() -> set[str]:
    """Every text in the code, docstrings aside, that names a command of ours."""
    found = set()
    for package in ("sag_pipeline", "sag_retrieval"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docstrings = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and isinstance(node.body[0], ast.Expr)
            }
            found |= {
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in docstrings
                and re.search(r"`sag \w", node.value)
            }
    return found


def test_each_message_that_names_a_command_is_tried_below():
    known = [fault.message for fault in FAULTS.values()] + list(TOLD_ELSEWHERE)

    assert len(messages()) > 15
    assert [text for text in messages() if not any(part in text for part in known)] == []
    assert [part for part in known if not any(part in text for text in messages())] == []


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A home after an ingest, as an archive."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        (folder / "inbox").mkdir()
        for name, text in FILES.items():
            (folder / "inbox" / name).write_text(text, encoding="utf-8")
        assert run("ingest", "inbox").exit_code == 0
    archive = folder / "made.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(folder / "home", "home")
        packed.add(folder / "inbox", "inbox")
    return archive


@pytest.mark.parametrize("name", FAULTS)
def test_the_command_that_a_message_names_does_what_it_promises(name, made, home, tmp_path, monkeypatch):
    fault = FAULTS[name]
    with tarfile.open(made) as packed:
        packed.extractall(tmp_path, filter="data")
    monkeypatch.setenv("SAG_SOURCE", "inbox")
    fault.bring(home)
    if name == "a wrong setting":
        monkeypatch.setenv("SAG_LANGUAGE", "klingon")

    shown = show(fault, home)
    command = re.search(r"`sag ([^`]+)`", shown[shown.find(fault.message.split("`")[0]) :])

    assert fault.message in shown.replace("\n", " "), shown
    assert command is not None
    mended = run(*shlex.split(command[1].replace("who …", "who built the Heron?")))
    if fault.shows:
        assert fault.shows in mended.output
    else:
        assert mended.exit_code == 0, said(mended)
        assert fault.message not in show(fault, home)
        assert run(*SEARCH).exit_code == 0


def show(fault: Fault, home: Home) -> str:
    return fault.shown_by(home) if callable(fault.shown_by) else said(run(*fault.shown_by))
