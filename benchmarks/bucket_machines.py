"""Machines around one bucket, for `object_store.py`: a cache each, a proxy that counts, and what the checks said."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.buckets import open_files
from tests.support.buckets import Proxy, environment_of, new_bucket

ROOT: Final = Path(__file__).parents[1]


class Bench:
    """A bucket behind a proxy, machines with a cache each, and what the checks said."""

    def __init__(self, folder: Path, proxy: Proxy, server: str) -> None:
        """Make a bucket."""
        self.folder, self.proxy, self.failed = folder, proxy, 0
        self.url = f"s3://{new_bucket(server)}/home"
        self.inbox = folder / "inbox"
        self.inbox.mkdir(exist_ok=True)
        self._variables = environment_of(proxy.address) | {"SAG_HOME": self.url, "PYTHONPATH": str(ROOT)}
        os.environ.update(self._variables)
        os.environ.pop("DAGSTER_HOME", None)
        open_files.cache_clear()

    def environment(self, machine: str) -> dict[str, str]:
        """The variables of a machine."""
        return {**os.environ, "SAG_CACHE": str(self.folder / machine)}

    def become(self, machine: str) -> Path:
        """Let this process be a machine; returns its mirror of the home."""
        os.environ["SAG_CACHE"] = str(self.folder / machine)
        return Path(load_settings().home)

    def start(self, machine: str, *command: str) -> subprocess.Popen[str]:
        """Start Python on a machine."""
        return subprocess.Popen(
            [sys.executable, *command], env=self.environment(machine), cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, machine: str, *command: str) -> str:
        """Run Python on a machine; what it printed, also where it failed."""
        out, errors = self.start(machine, *command).communicate()
        return out.strip() + errors.strip()

    def sag(self, machine: str, *arguments: str) -> str:
        """Run a command on a machine."""
        return self.run(machine, "-m", "sag_retrieval.cli.main", *arguments)

    def release(self) -> str:
        """The current release."""
        found = open_files(self.url).get("CURRENT")
        return str(json.loads(found.read())["release"]) if found else ""

    def check(self, what: str, holds: bool, seen: object = "") -> None:  # noqa: FBT001  reads as a sentence
        """Print a check and count it where it fails."""
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {what} {seen}".rstrip(), flush=True)

    @contextmanager
    def counted(self, what: str) -> Iterator[dict[str, int]]:
        """Print the bytes and requests of what is done."""
        proxy, found, started = self.proxy, dict[str, int](), time.perf_counter()
        before = proxy.received, proxy.sent, proxy.requests
        yield found
        up, down, requests = proxy.received - before[0], proxy.sent - before[1], proxy.requests - before[2]
        found |= {"up": up, "down": down, "moved": up + down}
        seconds = time.perf_counter() - started
        print(f"{what:34} {up:>12,} B up {down:>12,} B down {requests:>5} requests {seconds:6.1f} s", flush=True)
