"""A release, and every commit, is on disk before anything names it: seen in the system calls of real runs."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.traced import Call, Disk, read, trace, why_not

pytestmark = pytest.mark.slow

FILES = {
    "heron.md": "# The Heron buoy\n\nThe Heron buoy is built by Lumen Optics in Port Ansel.\n",
    "zh/海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。\n",
}
KEEP = """
import os, sys
from pathlib import Path
from sag_retrieval.models.answer_cache import AnswerCache, Answered
AnswerCache(Path(sys.argv[1])).keep(Answered("c1", "yes", "d1", "events", "m", 1, 1, 0.5))
os._exit(0)
"""
needs_strace = pytest.mark.skipif(bool(why_not()), reason=f"NO POWER CUT IS SIMULATED: {why_not()}")


def replay(calls: list[Call], root: Path) -> Iterator[tuple[Call, Disk]]:
    """Before each call, the disk as the calls that ended before it began left it."""
    disk, done = Disk(str(root)), 0
    for call in sorted(calls, key=lambda each: each.begun):
        while done < len(calls) and calls[done].ended < call.begun:
            disk.do(calls[done])
            done += 1
        yield call, disk


@pytest.fixture(scope="module")
def ingested(tmp_path_factory) -> tuple[list[Call], Path]:
    folder = tmp_path_factory.mktemp("traced")
    for name, text in FILES.items():
        (folder / "inbox" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "inbox" / name).write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SAG_")}
    home = folder / "home"
    home.mkdir()
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", "inbox"]
    return trace(command, folder, environment | {"SAG_HOME": str(home)}), home


@needs_strace
def test_current_names_a_release_only_when_all_of_it_is_on_disk(ingested):
    calls, home = ingested
    switched = []

    for call, disk in replay(calls, home):
        if call.name.startswith("rename") and call.names[1] == f"{home}/CURRENT":
            switched.append(
                (disk.lost("releases"), [f for f in disk.files if "/releases/r" in f], call.names[0] in disk.dirty)
            )

    ((lost, files, is_draft_dirty),) = switched
    assert lost == []
    assert not is_draft_dirty
    paths = (path for path in (home / "releases").rglob("*") if path.is_file())
    written = {str(path) for path in paths if not {"communities", "communities.lance"} & {*path.parts}}  # made later
    assert written <= set(files), "the trace saw every file of the release being written"


@needs_strace
def test_a_release_gets_its_name_only_when_every_file_and_folder_in_it_is_on_disk(ingested):
    calls, home = ingested
    named = []

    for call, disk in replay(calls, home):
        if call.name.startswith("rename") and re.fullmatch(rf"{home}/releases/r\w+", call.names[1]):
            draft = call.names[0]
            named.append([path for path in (*disk.dirty, *disk.unnamed) if path.startswith(f"{draft}/")])

    assert named == [[]]


@needs_strace
def test_a_commit_stands_in_the_ledger_only_when_what_it_names_is_on_disk(ingested):
    calls, home = ingested
    lost = []

    commits = 0
    for call, disk in replay(calls, home):
        if call.name.startswith("rename") and call.names[1].startswith(f"{home}/ledger/"):
            commits += 1
            lost += [
                *disk.lost("tables"),
                *disk.lost("vectors"),
                *([call.names[0]] if call.names[0] in disk.dirty else []),
            ]

    assert commits >= 5
    assert lost == []


@needs_strace
def test_after_a_run_nothing_that_was_promised_would_be_lost(ingested):
    calls, home = ingested
    disk = Disk(str(home))

    for call in calls:
        disk.do(call)

    assert [path for name in ("tables", "ledger", "vectors", "releases", "CURRENT") for path in disk.lost(name)] == []


@needs_strace
def test_a_paid_answer_is_on_disk_when_it_is_kept(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    disk = Disk(str(home))

    for call in trace([sys.executable, "-c", KEEP, str(home / "answers.sqlite")], tmp_path, os.environ):
        disk.do(call)

    assert any(path.endswith("-wal") for path in disk.files)
    assert [path for path in disk.lost() if not path.endswith("-shm")] == []


LINES = [
    '1 mkdir("/h/a", 0777) = 0',
    '1 openat(AT_FDCWD, "/h/a/x", O_WRONLY|O_CREAT, 0666) = 3</h/a/x>',
    '1 write(3</h/a/x>, ""..., 5) = 5',
    "1 fsync(3</h/a/x>) = 0",
    '1 openat(AT_FDCWD, "/h/a", O_RDONLY) = 4</h/a>',
    "1 fsync(4</h/a>) = 0",
    '1 openat(AT_FDCWD, "/h", O_RDONLY) = 4</h>',
    "1 fsync(4</h>) = 0",
]


def after(lines: list[str]) -> list[str]:
    disk = Disk("/h")
    for call in read(lines):
        disk.do(call)
    return disk.lost()


def test_what_was_synced_outlasts_a_power_cut():
    assert after(LINES) == []


@pytest.mark.parametrize(
    ("without", "lost"), [(3, ["a/x"]), (5, ["a/x"]), (7, ["a"])], ids=["bytes", "name of a file", "name of a folder"]
)
def test_what_was_not_synced_is_lost(without, lost):
    assert after(LINES[:without] + LINES[without + 1 :]) == lost


def test_a_sync_that_began_before_a_write_ended_does_not_keep_it():
    begun, ended = "2 fsync(3</h/a/x> <unfinished ...>", "2 <... fsync resumed>) = 0"

    assert after([*LINES[:2], begun, LINES[2], ended, *LINES[4:]]) == ["a/x"]
