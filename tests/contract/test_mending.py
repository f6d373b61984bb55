"""Each message that names a command of ours is brought about on a real home, and the command it names mends it."""

import ast
import fcntl
import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sag_pipeline.jobs import run_report
from sag_pipeline.publish.links import Resolution
from sag_pipeline.store.store import Store
from sag_retrieval import SagError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import MEND
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache
from sag_retrieval.release.releases import Releases
from tests.support.chat_server import ChatServer
from tests.support.kept_home import edit_manifest
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SEARCH = ("search", "Who built the Heron buoy?")
FILES = {
    "heron.md": "# The Heron buoy\n\nThe Heron buoy is built by Lumen Optics in Port Ansel.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。\n",
    "broken.md": "",
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


def one(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


def shorten(path: Path) -> None:
    np.save(path, np.load(path)[:-1])


def of_0_1(damage: Callable[[Path], object]) -> Callable[[Home], None]:
    """The release names no files, as those of version 0.1, and then is damaged."""

    def bring(home: Home) -> None:
        edit_manifest(in_force(home), files={}, manifest_hash="")
        damage(in_force(home))

    return bring


def lock_is_a_folder(home: Home) -> None:
    (home / "lock").unlink()
    (home / "lock").mkdir()


def change_answer(home: Home) -> None:
    with closing(sqlite3.connect(home / ANSWERS)) as connection, connection:
        connection.execute("update answers set answer = answer || ' '")


def spoil_answers(home: Home) -> None:
    with closing(sqlite3.connect(home / ANSWERS)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    data = (home / ANSWERS).read_bytes()
    (home / ANSWERS).write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))


def read_answers(home: Home) -> str:
    try:
        with AnswerCache(home / ANSWERS) as answers:
            for table in Store(home).scan("calls", ["call_id"]):
                for call_id in table["call_id"].to_pylist():
                    answers.find(call_id)
    except SagError as error:
        return str(error)
    return ""


def read_keys(home: Home) -> str:
    try:
        list(Store(home).scan("keys"))
    except SagError as error:
        return str(error)
    return ""


def follow_another(home: Home) -> None:
    (home.parent / "other.md").write_text("# The Egret\n\nThe Egret left Port Ansel.\n", encoding="utf-8")
    assert run("ingest", "inbox", "other.md").exit_code == 0


def link_out(home: Home) -> None:
    (home.parent / "out.md").write_text("# The Egret\n\nThe Egret left Port Ansel.\n", encoding="utf-8")
    (home.parent / "inbox" / "link.md").symlink_to(home.parent / "out.md")
    assert run("ingest").exit_code == 0


def no_tables_of_links(home: Home) -> None:
    store = Store(home)
    (entry,) = store.ledger.entries("step = 'distinct_keys'")
    store.ledger.commit([replace(entry, status="removed")])


def build(home: Home) -> str:
    try:
        Resolution.read(Store(home))
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
    """How a message comes about, and what its commands promise."""

    message: str
    """A part of the message as it stands in the code; the commands stand in it or behind it."""
    bring: Callable[[Home], object] = lambda _: None
    shown_by: tuple[str, ...] | Callable[[Home], str] = SEARCH
    shows: str = ""
    """What the last of the named commands shows; empty: they mend, and what showed the fault says it no longer."""
    says: str = ""
    """What is said before it: one text may stand behind several faults."""


MANIFEST = "manifest.json"
BY_SQL = (*SEARCH, "--sql", "language = 'en'")
VERIFY = ("verify", "--deep")
DAMAGED_RELEASES = {
    "a file of a release is gone": Fault(
        MEND, lambda h: (in_force(h) / "arrays/graph/event_chunk.npy").unlink(), says="is damaged: it cannot be read"
    ),
    "a byte of a file has changed": Fault(
        MEND, lambda h: flip(in_force(h) / "rows/chunks.arrow"), says="are not as published"
    ),
    "a table that a restriction reads has changed": Fault(
        MEND, lambda h: flip(in_force(h) / "rows/documents.arrow"), BY_SQL, says="rows/documents.arrow"
    ),
    "a manifest was edited": Fault(MEND, lambda h: edit_manifest(in_force(h), dimension=7), says="another hash"),
    "an array is gone, nothing told": Fault(
        MEND, of_0_1(lambda r: (r / "arrays/graph/event_chunk.npy").unlink()), says=".npy is missing"
    ),
    "an array is cut short, nothing told": Fault(
        MEND, of_0_1(lambda r: cut(r / "arrays/graph/event_chunk.npy")), says=".npy is damaged ("
    ),
    "an array is shorter, nothing told": Fault(
        MEND, of_0_1(lambda r: shorten(r / "arrays/graph/event_chunk.npy")), says="arrays of release"
    ),
    "rows are garbage, nothing told": Fault(
        MEND, of_0_1(lambda r: (r / "rows/events.arrow").write_bytes(b"none")), says="missing or damaged"
    ),
    "the fit is gone, nothing told": Fault(
        "; rebuild the release with `sag ingest`", of_0_1(lambda r: (r / "embedder/hashing.npy").unlink())
    ),
    "the fit has another shape, nothing told": Fault(
        "rebuild it with `sag ingest`", of_0_1(lambda r: np.save(r / "embedder/hashing.npy", np.zeros(3, np.float32)))
    ),
    "of a newer version": Fault(
        "publish again with `sag ingest`", lambda h: edit_manifest(in_force(h), schema_version=99)
    ),
    "a manifest of garbage": Fault(
        "`sag releases list` shows what is there",
        lambda h: (in_force(h) / MANIFEST).write_bytes(b"\xff{"),
        shows="cannot be opened",
    ),
}
"""Of a release that names no files, as those of version 0.1, a damage is seen where a file is opened."""
NO_RELEASE = {
    "no release": Fault("yet; make one with `sag ingest`", without_release),
    "an empty list": Fault("no release yet; make one with `sag ingest`", without_release, ("releases", "list")),
    "a pointer to nothing": Fault(
        "; publish again with `sag ingest`", lambda h: (h / "CURRENT").write_text("r000000000000\n")
    ),
    "a pointer that is a folder": Fault("; publish again with `sag ingest`", pointer_is_a_folder),
    "an unknown release": Fault(
        "`sag releases list` shows what is", shown_by=("releases", "promote", "../x\n"), shows="hashing"
    ),
}
MENDS = "; `sag repair` mends it"
SAVES = "`sag repair` keeps every answer that can be read"
DAMAGED_STORES = {
    "tables of links not made": Fault("does not exist yet; make it with `sag ingest`", no_tables_of_links, build),
    "a commit is damaged": Fault(MENDS, lambda h: flip(one(h, "ledger/*2-*")), ("status",), says="ledger is damaged"),
    "a part is gone": Fault(MENDS, lambda h: one(h, "tables/keys/*").unlink(), read_keys, says="is missing"),
    "a part is cut short": Fault(MENDS, lambda h: cut(one(h, "tables/keys/*")), read_keys, says="is damaged ("),
    "the fit is gone": Fault(
        MENDS, lambda h: (h / "embedder/hashing.npy").unlink(), ("ingest",), says="hashing.npy is missing"
    ),
    "the fit has another shape": Fault(
        MENDS, lambda h: np.save(h / "embedder/hashing.npy", np.zeros(3)), ("ingest",), says="is damaged ("
    ),
    "the fit is another": Fault(
        MENDS, lambda h: flip(h / "embedder/hashing.npy"), ("ingest",), says="no vectors were made with"
    ),
    "the answers are none": Fault(
        SAVES, lambda h: (h / ANSWERS).write_bytes(b"none" * 5000), read_answers, says="cannot be used"
    ),
    "an answer has changed": Fault(SAVES, change_answer, read_answers, says="differs from the one that was stored"),
    "a page of the answers is none": Fault(SAVES, spoil_answers, read_answers, says="is damaged ("),
}
AS_VERIFIED = {
    "the list of sources": Fault(
        "removed by `sag repair`: sources are known", lambda h: (h / "sources.json").write_bytes(b"["), VERIFY
    ),
    "a commit": Fault("`sag repair` keeps the other commits", lambda h: flip(one(h, "ledger/*2-*")), VERIFY),
    "a part": Fault("made again by `sag repair` and `sag ingest`", lambda h: flip(one(h, "tables/chunks/*")), VERIFY),
    "a file of vectors": Fault(
        "embedded again by `sag repair` and `sag ingest`", lambda h: flip(one(h, "vectors/*/*/data/*")), VERIFY
    ),
    "no vectors": Fault(
        "embedded again by `sag repair` and `sag ingest`",
        lambda h: [path.unlink() for path in h.glob("vectors/*/sealed.json")],
        VERIFY,
    ),
    "the fit": Fault("`sag repair` takes it from a release", lambda h: flip(h / "embedder/hashing.npy"), VERIFY),
    "no answers": Fault("`sag repair` saves what can be read; the rest", lambda h: (h / ANSWERS).unlink(), VERIFY),
    "a release": Fault("removed by `sag repair`; published", lambda h: flip(in_force(h) / "rows/keys.arrow"), VERIFY),
    "communities": Fault(
        "removed by `sag repair`; made again by `sag ingest`",
        lambda h: flip(one(h, "releases/*/communities/*")),
        VERIFY,
    ),
    "communities that a search reads": Fault(
        "run `sag ingest`, which makes ",
        lambda h: flip(in_force(h) / "communities/community_events.parquet"),
        search_by("tiers"),
    ),
    "communities, mended": Fault(
        "removed; `sag ingest` makes them again", lambda h: flip(one(h, "releases/*/communities/*")), ("repair",)
    ),
    "the pointer": Fault("`sag repair` names the newest good release", lambda h: (h / "CURRENT").unlink(), VERIFY),
    "the lock": Fault("moved away by `sag repair`", lock_is_a_folder, VERIFY),
    "a report": Fault(
        "removed by `sag repair`; `sag report` writes",
        lambda h: one(h, "reports/*/*/report.json").write_bytes(b"{"),
        VERIFY,
    ),
    "any": Fault("; `sag repair` mends them", lambda h: flip(one(h, "tables/chunks/*")), VERIFY),
    "a report, mended": Fault(
        "removed; `sag report` writes the next one",
        lambda h: one(h, "reports/*/*/report.json").write_bytes(b"{"),
        ("repair",),
    ),
    "answers that are paid again": Fault(
        "(`sag ingest --estimate` shows how much)",
        lambda h: [(h / ANSWERS).unlink(), one(h, "tables/events/*").unlink()],
        ("repair",),
        shows="events",
    ),
    "no home": Fault("; `sag ingest` makes one", shutil.rmtree, VERIFY),
    "a repair that cannot ask": Fault(
        "`sag verify --deep` only checks", shown_by=("repair", "--json"), shows="nothing is wrong below"
    ),
}
SOURCES = {
    "put aside": Fault("skipped with errors; `sag status` shows why", shown_by=("ingest",), shows="broken.md"),
    "a source in another's place": Fault(
        " is already a source; `sag sources forget`", follow_another, ("sources", "move", "inbox", "other.md")
    ),
    "a source forgotten": Fault(
        "; `sag ingest` publishes without them, `sag releases prune`",
        follow_another,
        ("sources", "forget", "other.md"),
        shows="pruned 0",
    ),
    "a source moved": Fault(
        " documents; `sag ingest ",
        lambda h: (h.parent / "inbox").rename(h.parent / "archive"),
        ("sources", "move", "inbox", "archive"),
        shows="is current",
    ),
    "no such source": Fault("See `sag sources list`", shown_by=("sources", "forget", "nowhere"), shows="inbox"),
    "everything gone": Fault(
        "`sag ingest --allow-removals` with this source",
        lambda h: [path.unlink() for path in (h.parent / "inbox").iterdir()],
        ("ingest",),
    ),
    "a link that leads out": Fault("; `sag ingest --follow-links` reads it", link_out, ("status",)),
    "another writer": Fault("`sag status` shows what is done", shown_by=write_while_another_does, shows="documents"),
}
RETYPED = ("keys", "retype", "Lumen Optics", "work")


def decided(line: str) -> Callable[[Home], object]:
    return lambda home: (home / "aliases.csv").write_text(f"{line}\n", encoding="utf-8")


WRONG_CALLS = {
    "an option without a value": Fault(
        " is not NAME=VALUE; `sag settings --options ", shown_by=("ingest", "--set", "size"), shows="en_size"
    ),
    "nothing to keep": Fault(
        "; `sag settings --options ", shown_by=("ingest", "--set", "keep_runs=0"), shows="keep_releases"
    ),
    "an empty query": Fault("as in `sag search 'who …'`", shown_by=("search", " "), shows="Heron"),
    "an unknown name": Fault("; `sag keys list` shows", shown_by=("keys", "merge", "Hern", "Heron"), shows="Heron"),
    "a decision again": Fault(
        " says so already; `sag ingest`", decided("retype,Lumen Optics,work"), RETYPED, shows="is current"
    ),
    "another decision": Fault(
        "remove one of them, as by `sag keys undo ", decided("retype,Lumen Optics,product"), RETYPED
    ),
    "an unknown method": Fault("; see `sag search --help`", shown_by=search_by("guess"), shows="think-on-graph"),
    "a wrong setting": Fault("`sag settings` shows every setting", shows="klingon"),
}
FAULTS = DAMAGED_RELEASES | NO_RELEASE | DAMAGED_STORES | AS_VERIFIED | SOURCES | WRONG_CALLS
"""By what is wrong."""
FILLED_IN = {"search 'who …'": "search 'who built the Heron?'", "sources forget": "sources forget other.md"}
"""Commands that leave something to the reader, as a reader would call them."""
TOLD_ELSEWHERE = (
    "`sag ingest --accept-recall`",
    " is kept beside the current one: `sag evaluate ",
    " measures it, `sag releases promote ",
    "`sag settings --options ingest` lists all options",
    "; a scan needs OCR: `sag ingest --set ocr=eng`",
    "; pictures need OCR: `sag ingest --set ocr=rapidocr`",
    "; `sag watch SOURCE --every 3600` reads it once an hour",
    "`sag documents ",
    " {}: nobody finds them any more, and the next `sag ingest` ",
    "enabled {}: what the release still has is found again, the next `sag ingest` publishes all of them",
    ", and what may be seen here is restricted or was disabled since, which `sag ingest` follows",
    "The module by which the pipeline lets `sag serve` decide on names.",
    "this key does not decide on names; `decides: true` in the file of keys lets it, or use `sag keys`",
    "Next: `sag search",
    "An option, see `sag settings",
    "the release has no themes to answer from: too few events; see `sag status`",
    "there is no release yet; `sag ingest` makes one",
    "`sag serve --new-key NAME` ",
    "; `sag serve --allow-host NAME` lets it",
    "`sag sources move ",
    " NEW`, or `sag sources forget ",
    "no source yet; add one with `sag ingest FOLDER`",
    "`sag status` shows why files were skipped",
    " missing or incomplete in the release; `sag status` shows why",
    "no report yet; write one with `sag report`",
    "`--include` and `--exclude`, then run `sag ingest FOLDER` again",
    "; see `sag settings --options pipeline`.",
    "`sag settings --options pipeline` lists stages and options",
    "Options of `sag ask`.",
    "`sag retrieve` is now `sag search --method tiers --messages FILE`",
    "`sag export duckdb` goes: each release has release.duckdb (`sag status` tells where)",
    "`sag aliases` is now `sag keys close`",
    "decide them: `sag keys merge NAME OTHER` or `sag keys split NAME OTHER`",
    ": write confirm or refuse, and the id that `sag changes` shows",
    "by people (`sag changes confirm`), or empty; what they refused is left out",
    "; `sag changes` shows them with their ids",
    "; `sag ingest` applies it",
    "`sag keys undo ",
    "One of the methods of `sag search`.",
    "Which measures `sag evaluate --pipeline` prints.",
    "Check of a release whose figures `sag releases` shows",
    " holds no file, so nothing of it was changed; correct the url, or remove its documents with `sag sources forget`",
    " is damaged; `sag repair` mends the home",
    "; `sag repair` mends the home",
    " meanwhile; run `sag ingest` again, which goes on from there",
    "; run `sag report` again",
    "); `sag repair` keeps what can be read",
    ", or raise the bound: `sag ingest --set ",
    ": no such document is stored; `sag status` counts them",
    "`sag schema write` writes the default to edit",
    "edit it, then run `sag ingest` again: only keys that it touches are extracted again",
    ", else the default (`sag schema`)",
    "file of decisions on names (`sag keys`); without one, `aliases.csv` in the home",
    "); make it writable for this user, or name another home by SAG_HOME (`sag verify`",
    "no space is left on the disk; free some (`df` shows which disk, `sag releases prune` deletes old releases)",
)
"""One ends the demo, six are help and lists of options: no faults. Two need files that are slow to read:
`test_hostile_files.py`. The first three are tried in `tests/pipeline/test_gate.py`, those of buckets in `tests/remote`,
those of workers in `tests/pipeline/engines`, that of `sag retrieve` in `tests/api/test_retrieve.py`, that of `sag export` in `tests/pipeline/test_exports.py`, those of themes in `tests/retrieval/ask/test_global.py`, that of a report's
condition in `tests/pipeline/test_report_definitions.py`, that of a key schema in `tests/pipeline/test_reprocess.py`, those of `sag serve` and `sag documents` in
`tests/serve`, that of `sag watch` in `tests/cli/test_watch.py`, that of pictures in `tests/pipeline/test_own_kinds.py`,
the last two in `tests/contract/test_disks.py`, the others in `tests/cli/test_outcomes.py`."""


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

    told = messages()

    assert len(told) > 15
    assert [text for text in told if not any(part in text for part in known)] == []
    assert [part for part in known if not any(part in text for text in told)] == []


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Iterator[tuple[Path, ChatServer]]:
    """A folder with a home after an ingest and a report; the model that was asked."""
    folder = tmp_path_factory.mktemp("made")
    with ChatServer(read_well) as server, pytest.MonkeyPatch.context() as patch:
        settings(patch, folder / "home", server)
        (folder / "inbox").mkdir()
        for name, text in FILES.items():
            (folder / "inbox" / name).write_text(text, encoding="utf-8")
        assert run("ingest", "inbox").exit_code == 0
        patch.setenv("SAG_CHAT_MODEL", "offline")
        run_report()
        yield folder, server


def settings(patch: pytest.MonkeyPatch, home: Path, server: ChatServer) -> None:
    patch.setenv("SAG_HOME", str(home))
    patch.setenv("SAG_SOURCE", "inbox")
    patch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    patch.setenv("OPENAI_API_KEY", "none")
    patch.setenv("OPENAI_BASE_URL", server.base_url)
    patch.chdir(home.parent)


@pytest.mark.parametrize("name", FAULTS)
def test_the_commands_that_a_message_names_do_what_it_promises(name, made, home, tmp_path, monkeypatch):
    fault = FAULTS[name]
    folder, server = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (home / "sources.json").unlink()  # names the folder of the home that was copied
    settings(monkeypatch, home, server)
    fault.bring(home)
    if name == "a wrong setting":
        monkeypatch.setenv("SAG_LANGUAGE", "klingon")

    shown = show(fault, home)
    line = next((line for line in shown.splitlines() if fault.message in line and fault.says in line), "")
    commands = re.findall(r"`sag ([^`]+)`", line[line.find(fault.message) :])

    assert commands, shown
    done = [call(FILLED_IN.get(command, command)) for command in commands]
    if fault.shows:
        assert fault.shows in done[-1].output
    else:
        assert [said(each) for each in done if each.exit_code] == []
        assert fault.message not in show(fault, home)
        assert run(*SEARCH).exit_code == 0


def call(command: str) -> Result:
    return CliRunner().invoke(main, shlex.split(command), input="y\n")


def show(fault: Fault, home: Home) -> str:
    return fault.shown_by(home) if callable(fault.shown_by) else said(call(shlex.join(fault.shown_by)))
