"""A home on a disk that is full or read-only: nothing is lost, and every command says what to do."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.mounted import mounted

pytestmark = pytest.mark.slow

NEXT = "no space is left on the disk; free some"
LINE = "Heron {0} was sold by Teal Marine to Mara Holt in {0}.\n\n"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "inbox").mkdir()
    for year in range(1990, 2010):
        text = "".join(LINE.format(f"{year}{line:03}") for line in range(30))
        (tmp_path / "inbox" / f"{year}.md").write_text(f"# 苍鹭 {year}\n\n{text}", encoding="utf-8")
    with mounted(tmp_path / "disk", "size=200m") as place:
        yield place


def sag(disk: Path, *command: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, "SAG_HOME": str(disk / "home")}
    settings.pop("DAGSTER_HOME", None)
    return forked.sag(*command, cwd=disk.parent, env=settings)


def leave(disk: Path, free: int) -> None:
    """Fill the disk but for some bytes."""
    fill = disk / "fill"
    fill.unlink(missing_ok=True)
    with fill.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(disk).free - free))


def test_a_disk_that_fills_at_any_step_ends_an_ingest_with_a_next_step_and_loses_nothing(disk):
    outcomes = []
    for exponent in range(16, 27, 2):
        leave(disk, 1 << exponent)
        outcomes.append(sag(disk, "ingest", "inbox"))
        if not outcomes[-1].returncode:
            break

    failed = outcomes[:-1]
    assert outcomes[-1].returncode == 0
    assert len(failed) > 3
    assert [each.stderr for each in failed if each.returncode != 1 or NEXT not in each.stderr] == []
    assert "nothing is wrong" in sag(disk, "verify", "--deep").stdout
    assert "20 " in sag(disk, "releases", "list").stdout


def test_commands_on_a_full_or_a_read_only_disk_say_what_to_do_and_searches_go_on(disk):
    assert sag(disk, "ingest", "inbox").returncode == 0
    leave(disk, 0)

    for command in ("report", "sources forget inbox", "export kg --out disk/x.json"):
        refused = sag(disk, *command.split())
        assert (refused.returncode, refused.stdout) == (1, ""), command
        assert NEXT in refused.stderr, command
    assert sag(disk, "search", "Heron 1990001").returncode == 0

    (disk / "fill").unlink()
    assert sag(disk, "repair", "--yes").returncode == 0  # half of a report is left
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for command in ("verify", "verify --deep", "repair --yes", "search Heron", "status", "sources"):
        done = sag(disk, *command.split())
        assert (done.returncode, done.stderr) == (0, ""), command
    for command in ("ingest inbox", "report", "sources forget inbox", "releases prune"):
        done = sag(disk, *command.split())
        assert done.returncode == 1
        assert "Errno" not in done.stderr
        assert "by SAG_HOME" in done.stderr, command
