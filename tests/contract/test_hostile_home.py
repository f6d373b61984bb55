"""Whatever the files of a home hold: every command does its work or says in a sentence what is wrong; nothing is lost."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sag_retrieval.cli.main import main
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

SAID = "# Heron\n\nLumen Optics of Oslo built the sensors of the Heron buoy in 2021.\n"
QUESTION = '{"question": "Who built the Heron?", "gold_documents": ["heron.md"]'
CONTENTS = {
    "bytes": bytes(range(256)) * 400,
    "utf16": 'merge,a,b\nSAG_LANGUAGE=en\n{"question": "a"}\n'.encode("utf-16"),
    "long-line": b"a" * 2_000_000,
    "deep": b'{"question": ' + b"[" * 200_000,
    "digits": b'{"question": "a", "id": ' + b"9" * 100_000 + b"}",
    "types": b'{"question": {"a": 1}, "gold_documents": 3, "entities": 7, "relations": "x", "triples": [1, null]}',
    "surrogate": b'{"question": "a\\ud800", "gold_documents": ["\\udfff"], "entities": {"a": ["\\ud800"]}}',
    "question": (QUESTION + ', "keys": [{"type": 1}]}\n' + QUESTION + ', "gold_documents": {"a": NaN}}').encode(),
    "own": b"SAG_HOME=\x00\nSAG_LANGUAGE=klingon\nSAG_NOTHING=${PATH}\nSAG_EMBEDDING_MODEL='",
}


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _gone(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


PLACES: dict[str, Callable[[Path], None]] = {
    "folder": _folder, "loop": _loop, "device": _device, "gone": _gone,
}  # fmt: skip
COMMANDS = {
    "aliases.csv": (("ingest", "inbox"),),
    "questions.jsonl": (("evaluate", "{}"),),
    ".env": (("settings",), ("search", "Who built the Heron?")),
    "kg_output.json": (("import", "kg", "{}", "--out", "out.jsonl"), ("import", "openie", "{}", "--out", "out.jsonl")),
    "kg_output.jsonl": (("import", "kg", "{}", "--out", "out.jsonl"), ("import", "events", "{}", "--out", "out.jsonl")),
}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("work")
    (folder / "inbox").mkdir()
    (folder / "inbox" / "heron.md").write_text(SAID, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("SAG_", "OPENAI_"))]:
            patch.delenv(name)
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        bare_ingest(["inbox"])
        yield folder


def told(arguments: tuple[str, ...], file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What a command prints, and its exit code."""
    with pytest.raises(SystemExit) as end:
        main([each.format(file) for each in arguments])
    written = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, written.out + written.err


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("content", [*CONTENTS, *PLACES])
def test_a_hostile_file_is_read_or_told_of(work: Path, capsys: pytest.CaptureFixture[str], name: str, content: str):
    current = (work / "home" / "CURRENT").read_bytes()
    file = work / name if name.startswith((".", "kg")) else work / "home" / name
    if content in CONTENTS:
        file.write_bytes(CONTENTS[content])
    else:
        PLACES[content](file)
    try:
        for arguments in COMMANDS[name]:
            code, said = told(arguments, file, capsys)
            assert code in {0, 1, 2}, said
            assert "a bug in sag" not in said
            assert "Traceback" not in said
            assert len(said) < 10_000  # characters: a message, not the file
            assert code == 0 or name in said, said
    finally:
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
        (work / "out.jsonl").unlink(missing_ok=True)

    assert (work / "home" / "CURRENT").read_bytes() == current


def test_a_pipe_in_the_place_of_the_decisions_is_not_waited_for(work: Path, capsys: pytest.CaptureFixture[str]):
    file = work / "home" / "aliases.csv"
    os.mkfifo(file)
    try:
        code, said = told(("ingest", "inbox"), file, capsys)
    finally:
        file.unlink()

    assert (code, said.count("aliases.csv is a pipe")) == (1, 1)
    code, said = told(("search", "Who built the Heron?"), file, capsys)
    assert (code, "Lumen Optics" in said) == (0, True)
