"""Whether an ingest would find everything as the last one left it: then it has nothing to do, and starts no run.

As `make` tells it: from the size, times and number of each file of the home, of the sources and of the code, and from
all settings and options. Whatever differs, in doubt too, leads to a run, which looks at what the files hold.
"""

import json
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from sag_pipeline.store.source_list import FILE as SOURCES
from sag_pipeline.store.source_list import SourceList
from sag_retrieval.core import durable
from sag_retrieval.core.home_urls import is_url, url_of
from sag_retrieval.core.settings import HASHING, OFFLINE, Settings
from sag_retrieval.release.folders import write_lock

FILE: Final = "ingested.json"
HISTORY: Final = ".dagster"
CONFIG: Final = "dagster.yaml"
_NO_INPUT: Final = frozenset({FILE, SOURCES, HISTORY, "lock", "reports"})
"""Of a home: an ingest and readers write them, and no ingest reads them. Of a source everything counts."""
_TICK_NS, _COARSE_NS, _SECOND_NS = 50_000_000, 2_000_000_000, 1_000_000_000
"""A file that changed less than a tick of its clock before it was looked at may change again and look the same: 4 to 10
ms on Linux, two seconds where times are whole seconds (FAT)."""


def keeps_history(home: Path) -> bool:
    """Whether records of runs are kept: by `DAGSTER_HOME`, the `dagster.yaml` of this folder, or in the home."""
    return bool(os.environ.get("DAGSTER_HOME")) or Path(CONFIG).is_file() or (home.resolve() / HISTORY).is_dir()


class Inputs:
    """What an ingest is made from, looked at before it: `report` tells of one that would do nothing."""

    def __init__(self, settings: Settings, sources: Sequence[str], asked: Mapping[str, Any]) -> None:
        """Look at settings, options, sources and code, not at what files hold."""
        self._home, self._read = settings.home, tuple(sources or (settings.source,))
        is_plain = settings.chat_model == OFFLINE and settings.embedding_model == HASHING
        is_here = not any(map(is_url, self._read)) and url_of(settings.home) is None
        self._state = ""
        if is_plain and is_here and not asked.get("reprocess"):
            others = [each for each in (settings.aliases, settings.schema) if each]
            code = [str(Path(__file__).parents[1]), str(Path(durable.__file__).parents[1])]
            installed = [each for each in sys.path if each.endswith("site-packages")]
            chosen = (settings, self._read, sorted(asked.items()), os.environ.get("DAGSTER_HOME"))
            try:
                found = [*_states([*self._read, *others], is_source=True), *_states(code, frozenset({"__pycache__"}))]
                found += [str(Path(each).stat().st_mtime_ns) for each in installed]
            except OSError:
                return
            self._state = _digest([repr(chosen), str(keeps_history(settings.home)), *found])

    def report(self) -> dict[str, Any] | None:
        """What a run would report, if it would do nothing: nothing has changed since the last one; else None."""
        file = self._home / FILE
        if not self._state or not file.is_file():
            return None
        with write_lock(self._home), suppress(OSError, ValueError, KeyError, TypeError):  # damaged: a run looks
            kept: dict[str, Any] = json.loads(file.read_bytes())
            if (kept["inputs"], kept["home"]) == (self._state, self._home_state()):
                for given in self._read:
                    SourceList(self._home).note_ingest(given, datetime.now(UTC).isoformat(timespec="seconds"))
                return dict(kept["report"])
        return None

    def keep(self, report: Mapping[str, Any], releases: int) -> None:
        """Keep what a run reported, unless a next one has something to do: read again, or delete a release."""
        is_due = report["put_aside"] or report["unread_sources"] or report["failed_documents"]
        if not self._state or is_due or len(os.listdir(self._home / "releases")) > releases:  # noqa: PTH208
            return
        steps = {name: _nothing(row) for name, row in report["steps"].items()}
        with write_lock(self._home), suppress(OSError):
            done = {**report, "is_new": False, "steps": steps}
            kept = {"inputs": self._state, "home": self._home_state(), "report": done}
            durable.write_text(self._home / FILE, json.dumps(kept))

    def _home_state(self) -> str:
        return _digest(_states([str(self._home)], _NO_INPUT))


def _nothing(row: Mapping[str, float]) -> dict[str, float]:
    """The counts of a step that had nothing to do, after those of one that may have had."""
    if "skipped" not in row:
        return {**row, "seconds": 0.0}
    done = row["skipped"] + row["new"] + row["changed"]
    return {**dict.fromkeys(row, 0), "skipped": done, "seconds": 0.0}


def _digest(lines: Sequence[str]) -> str:
    return blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _states(paths: Sequence[str], without: frozenset[str] = frozenset(), *, is_source: bool = False) -> list[str]:
    """A line for each file at or below some paths, without those of some names: its name, size, times and number.

    Raises:
        OSError: If one is gone; in a source also if one is a link to a folder, or has only just changed.
    """
    now, found = time.time_ns(), list[str]()
    rest = [(path, Path(path).stat(), False) for path in paths]
    while rest:
        path, told, is_link = rest.pop()
        if stat.S_ISDIR(told.st_mode):
            if is_source and is_link:
                raise OSError(path)
            with os.scandir(path) as entries:
                rest += ((each.path, each.stat(), each.is_symlink()) for each in entries if each.name not in without)
            continue
        newest = max(told.st_mtime_ns, told.st_ctime_ns)
        if is_source and now - newest < (_TICK_NS if newest % _SECOND_NS else _COARSE_NS):
            raise OSError(path)
        found.append(f"{path}|{told.st_size}|{told.st_mtime_ns}|{told.st_ctime_ns}|{told.st_ino}")
    return sorted(found)
