"""Whatever a command is given, it ends in one line that says what was wrong, never in a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sag_retrieval.cli.main import main
from scripts.write_docs import walk
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

COMMANDS = {
    path: command
    for path, command in walk("sag", main)
    if not isinstance(command, click.Group) or (command.params and command is not main)
}
VALID: dict[str, list[str]] = {
    "sag demo": [],
    "sag ingest": ["docs"],
    "sag watch": ["missing/file"],  # with a folder it would never end
    "sag status": [],
    "sag changes": [],
    "sag changes confirm": ["v0"],
    "sag changes refuse": ["v0"],
    "sag keys": [],
    "sag keys list": [],
    "sag keys close": [],
    "sag keys merge": ["Lumen Optics", "Heron"],
    "sag keys split": ["Lumen Optics", "Heron"],
    "sag keys rename": ["Heron", "Grey Heron"],
    "sag keys retype": ["Lumen Optics", "organisation"],
    "sag keys undo": [],
    "sag aliases": [],
    "sag documents": [],
    "sag documents list": ["--where", "language=en"],
    "sag documents disable": ["--where", "language=en", "--yes"],
    "sag documents delete": ["--where", "language=en", "--yes"],
    "sag documents enable": ["--where", "language=en", "--yes"],
    "sag sources": [],
    "sag sources list": [],
    "sag sources move": ["docs", "folder"],
    "sag sources forget": ["docs"],
    "sag verify": [],
    "sag repair": ["--yes"],
    "sag settings": [],
    "sag schema": [],
    "sag schema check": ["schema.yaml"],
    "sag schema write": ["new.yaml"],
    "sag search": ["Heron"],
    "sag ask": ["Heron"],
    "sag chat": [],
    "sag serve": ["--new-key", "sales"],
    "sag mcp": [],
    "sag retrieve": ["Heron"],
    "sag report": [],
    "sag open": ["--json"],
    "sag evaluate": ["questions.jsonl"],
    "sag releases": [],
    "sag releases list": [],
    "sag releases promote": ["r"],
    "sag releases prune": [],
    "sag import": ["events", "questions.jsonl", "--out", "out.jsonl"],
    "sag export": ["kg", "--out", "kg_output.json"],
}
"""Arguments with which each command gets as far as its work."""
WORK_OF_DAGSTER = {"sag demo", "sag ingest"}
ALWAYS = ("sag search", "sag status")
"""With whatever is broken; each of the other commands, with every third thing that is."""
TEXTS = ["", "\ud800", "[/b]", "x" * 5000, "missing/file", "binary"]
"""One text of each kind."""
ANY_TEXT = {"sources": TEXTS, "include": TEXTS[::2], "exclude": TEXTS[1::2]}
"""Parameters of an ingest that take any text, so that each value is a whole run: both kinds of pattern share them."""
RENAMED = ("Warning: `sag retrieve` is now ", "Warning: `sag aliases` is now ")
"""What commands that go with the next version say before their work."""
FILES = {"binary": bytes(range(256)) * 8, "empty": b"", "text.md": b"# Text", "list.json": b"[1, [2]]"}
WRONG = [
    *("", " ", "-1", "0", "9" * 300, "1e400", "nan", "foo", "\ud800", "\x1b]0;x\x07", "[/b]", "{}", "'; DROP", "..x.."),
    *("x" * 5000, "2,,5", "NAME=", "=1", "concurrency=0", "prices=a", "zh_size=-1", "header=[1]", "max_cost=nan"),
    *("folder", "missing/file", *FILES),
]
SHARED = 3
"""Options of one command or two share the values by threes too: most of them mean nothing to most options."""


def _commands_with(option: click.Parameter) -> list[str]:
    """The commands that have an option of this name: they share the values, so that each is given it once."""
    return [path for path, command in COMMANDS.items() if option.name in {p.name for p in command.params}]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A home with one small release."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "docs").mkdir()
    (folder / "docs" / "heron.md").write_text("# Heron\n\nLumen Optics built the Heron buoy in 2021.\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("SAG_", "OPENAI_"))]:
            patch.delenv(name)
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        bare_ingest(["docs"])
    return folder


@pytest.fixture
def here(made, home, tmp_path) -> Path:
    """A working directory with that release, a question and files of the wrong kind."""
    shutil.copytree(made / "home", home)
    shutil.copytree(made / "docs", tmp_path / "docs")
    (tmp_path / "folder").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "schema.yaml").write_text("types: [person]")
    question = {"question": "Who built the Heron buoy?", "gold_documents": ["heron.md"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question))
    return tmp_path


def call(path: str, arguments: list[str]) -> Result:
    return CliRunner().invoke(main, [*path.split()[1:], *arguments])


def faults(path: str, arguments: list[str]) -> list[str]:
    """What is wrong with how a call ended."""
    result = call(path, arguments)
    complaints = [line for line in result.stderr.splitlines() if not line.startswith(("left out: ", *RENAMED))]
    told = f"{path} {[a[:40] for a in arguments]} → {result.exit_code}: {result.stderr[-300:]}"
    if "Traceback" in result.output or "(a bug in sag" in result.output or result.exit_code not in (0, 1, 2):
        return [f"{told} {result.exception!r}"]
    is_told = len(complaints) == 1 and complaints[0].startswith("Error: ") and len(complaints[0]) > len("Error: ")
    return [] if result.exit_code == 0 or is_told else [told]


def calls_with(path: str, option: click.Parameter) -> list[list[str]]:
    """The command's valid call with each wrong value in this parameter's place."""
    sharing = _commands_with(option)
    is_work = path in WORK_OF_DAGSTER and option.name in ANY_TEXT
    first, step = (
        (sharing.index(path), len(sharing)) if len(sharing) > SHARED else (len(option.opts[0]) % SHARED, SHARED)
    )
    values = ANY_TEXT[option.name] if is_work else WRONG[first::step]
    valid = VALID[path]
    if path == "sag watch" and option.name == "sources":
        values = [value for value in values if not os.path.lexists(value)]  # or it watches for good
    if isinstance(option, click.Argument):
        arguments = [p for p in COMMANDS[path].params if isinstance(p, click.Argument)]
        place = arguments.index(option)
        return [[*valid[:place], *(["--"] if len(valid) == 1 else []), value, *valid[place + 1 :]] for value in values]
    if isinstance(option, click.Option) and option.is_flag:
        return [[option.opts[0], *valid]] if path not in WORK_OF_DAGSTER else [[f"{option.opts[0]}=1", *valid]]
    return [[*valid, option.opts[0], value] for value in values]


def test_every_command_has_a_valid_call_to_begin_with():
    assert VALID.keys() == COMMANDS.keys()


@pytest.mark.parametrize("path", COMMANDS)
def test_no_value_of_any_parameter_ends_in_a_traceback(here, path):
    calls = [arguments for option in COMMANDS[path].params for arguments in calls_with(path, option)]

    found = [fault for arguments in calls for fault in faults(path, arguments)]

    assert not found, "\n".join(found)


def _file_for_home(here: Path) -> None:
    shutil.rmtree(here / "home")
    (here / "home").write_bytes(b"no folder")


def _pointer(content: bytes) -> None:
    Path("home/CURRENT").write_bytes(content)


def _release() -> Path:
    return next(Path("home/releases").iterdir())


BROKEN = {
    "home is a file": _file_for_home,
    "CURRENT is binary": lambda _: _pointer(bytes(range(256))),
    "CURRENT leads elsewhere": lambda _: _pointer(b"../.."),
    "CURRENT names what is not there": lambda _: _pointer(b"r0"),
    "CURRENT is a folder": lambda _: (Path("home/CURRENT").unlink(), Path("home/CURRENT").mkdir()),
    ".env is binary": lambda here: (here / ".env").write_bytes(bytes(range(256))),
    ".env has a wrong setting": lambda here: (here / ".env").write_text("SAG_LANGUAGE=xx\n"),
    ".env refers to a variable": lambda here: (here / ".env").write_text("SAG_CHAT_MODEL=openai:${HOME}\n"),
    "the manifest is binary": lambda _: (_release() / "manifest.json").write_bytes(bytes(range(256))),
    "the manifest is a list": lambda _: (_release() / "manifest.json").write_text("[]"),
    "rows are gone": lambda _: shutil.rmtree(_release() / "rows"),
    "rows are garbage": lambda _: [p.write_bytes(b"garbage") for p in (_release() / "rows").iterdir()],
    "arrays are gone": lambda _: shutil.rmtree(_release() / "arrays"),
    "the ledger is garbage": lambda _: [
        p.write_bytes(b"garbage") for p in Path("home/ledger").rglob("*") if p.is_file()
    ],
    "tables are garbage": lambda _: [p.write_bytes(b"garbage") for p in Path("home/tables").rglob("*") if p.is_file()],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_no_broken_home_or_setting_ends_in_a_traceback(here, broken):
    BROKEN[broken](here)
    others = [path for path in VALID if path not in ("sag demo", *ALWAYS)]
    paths = [*ALWAYS, *others[list(BROKEN).index(broken) % 3 :: 3]]

    found = [fault for path in paths for fault in faults(path, VALID[path])]

    assert not found, "\n".join(found)


def test_a_bug_is_one_line_and_its_traceback_a_variable_away(here, monkeypatch):
    monkeypatch.setattr(COMMANDS["sag status"], "callback", lambda **_: 1 / 0)

    result = call("sag status", [])

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: ZeroDivisionError: division by zero (a bug in sag; SAG_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("SAG_DEBUG", "1")
    assert isinstance(call("sag status", []).exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([b"search", b"\xff\xfe"], 2),
        ([b"search", b"\xe6\xb5\xb7", b"--json"], 0),
        ([b"nope\x1b[31m"], 2),
    ],
)
def test_a_process_prints_what_its_terminal_can(here, arguments, code):
    command = [os.fsencode(sys.executable), b"-m", b"sag_retrieval.cli.main", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(command, capture_output=True, env=environment, check=False, cwd=here)

    assert (done.returncode, b"Traceback" in done.stderr, b"\x1b" in done.stderr) == (code, False, False)
    assert done.stdout if code == 0 else done.stderr.startswith(b"Error: ")
