"""The services of `deploy/compose.yaml`, or of one machine, as plain processes on free ports of 127.0.0.1."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import psutil
import yaml

ROOT = Path(__file__).parents[2]
SECONDS = 600
"""Longest wait for anything; it only keeps a test that cannot pass from hanging."""
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


def free_port() -> int:
    """A port for a server that starts later: one that the system gives no connection meanwhile, as it does from 32768 on."""
    drawn = random.SystemRandom()
    while True:
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", drawn.randrange(10_000, 32_768)))
            except OSError:
                continue
            return int(one.getsockname()[1])


def program(command: Sequence[str]) -> list[str]:
    """A command by the interpreter of the tests: what its installed script calls, whatever PATH says."""
    name, *words = command
    scripts = entry_points(group="console_scripts", name=name)
    if not scripts:
        return [name, *words]
    (script,) = {(one.module, one.attr) for one in scripts}
    module, attribute = script
    code = f"import sys; from {module} import {attribute}; sys.argv[0] = {name!r}; sys.exit({attribute}())"
    return [sys.executable, "-c", code, *words]


def until(seen: Callable[[], Any], what: str, seconds: float = SECONDS, pause: float = 0.3) -> Any:
    """Wait until something is seen, and look again after a pause; what was seen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = seen()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"{what}: not within {seconds} seconds")


def compose() -> dict[str, Any]:
    """The services of the compose file."""
    return dict(yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))["services"])


def filled(text: str, given: Mapping[str, str]) -> str:
    """A value of a compose file with its variables replaced."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if name in given:
            return given[name]
        assert kind == "-", f"{name} has no default"
        return rest

    return _VARIABLE.sub(value, text)


@dataclass
class Services:
    """Processes of services; all are ended by `stop`."""

    folder: Path
    environment: dict[str, str]
    commands: dict[str, list[str]]
    page: str
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        for name in names:
            with (self.folder / f"{name}.log").open("ab") as log:
                self.running[name] = subprocess.Popen(
                    program(self.commands[name]),
                    env=self.environment,
                    cwd=self.folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )

    def run(self, *command: str) -> int:
        """The exit code of a command with the environment of the services."""
        return subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, check=False
        ).returncode

    def kill(self, name: str, *, with_children: bool) -> None:
        """`kill -9` of a service, alone or with all that it started, as when a container ends."""
        process = self.running.pop(name)
        below = psutil.Process(process.pid).children(recursive=True) if with_children else []
        for one in (process, *below):
            try:
                os.kill(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()

    def stop(self) -> None:
        for name in list(self.running):
            self.kill(name, with_children=True)
        for one in self.left_over():
            one.kill()

    def left_over(self) -> list[psutil.Process]:
        """Processes that outlived the service that started them: they work in this folder."""
        place = str(self.folder)
        return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == place and one.pid != os.getpid()]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def asked(self, query: str, **variables: Any) -> dict[str, Any]:
        """What the page answers."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.page}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            found = json.load(reply)
        assert "errors" not in found, found["errors"]
        return dict(found["data"])

    def is_up(self) -> bool:
        """Whether the page answers and has loaded the code location."""
        try:
            with urllib.request.urlopen(f"{self.page}/server_info", timeout=60) as reply:
                json.load(reply)
            return "ingest" in self.jobs()
        except (OSError, HTTPException, ValueError, AssertionError):  # also what answers before it is ready
            return False

    def jobs(self) -> list[str]:
        found = self.asked("{repositoriesOrError{... on RepositoryConnection{nodes{jobs{name}}}}}")
        return [job["name"] for node in found["repositoriesOrError"].get("nodes", []) for job in node["jobs"]]

    def healthy_daemons(self) -> set[str]:
        query = "{instance{daemonHealth{allDaemonStatuses{daemonType healthy}}}}"
        found = self.asked(query)["instance"]["daemonHealth"]["allDaemonStatuses"]
        return {each["daemonType"] for each in found if each["healthy"]}

    def launch(self, job: str = "ingest") -> str:
        """Start a job as the button of the page does, as soon as the page has the code location; the id of the run."""
        return str(until(lambda: self._launched(job), f"the page with the job {job}"))

    def _launched(self, job: str) -> str:
        """The id of the run, or nothing while the page reloads the code location: it has no jobs then."""
        query = """mutation($p: ExecutionParams!) {launchRun(executionParams: $p) {
            __typename ... on LaunchRunSuccess {run {runId}} ... on PythonError {message}}}"""
        selector = {"repositoryLocationName": "sag", "repositoryName": "__repository__", "jobName": job}
        found = self.asked(query, p={"selector": selector, "runConfigData": {}, "mode": "default"})["launchRun"]
        is_away = "UserCodeUnreachable" in found.get("message", "")
        if found["__typename"] == "PipelineNotFoundError" or is_away:
            return ""
        assert found["__typename"] == "LaunchRunSuccess", found
        return str(found["run"]["runId"])

    def status(self, run: str) -> str:
        """What the page shows of a run."""
        query = "query($id: ID!) {runOrError(runId: $id) {... on Run {status}}}"
        return str(self.asked(query, id=run)["runOrError"]["status"])

    def messages(self, run: str) -> str:
        """The messages of a run, as its log on the page has them."""
        query = """query($id: ID!) {logsForRun(runId: $id) {... on EventConnection {
            events {... on MessageEvent {message}}}}}"""
        return "\n".join(each.get("message", "") for each in self.asked(query, id=run)["logsForRun"]["events"])

    def ended(self, run: str) -> str:
        """Wait for the end of a run; its status."""
        return str(until(lambda: self._end(run), f"end of {run}"))

    def _end(self, run: str) -> str:
        found = self.status(run)
        return found if found in {"SUCCESS", "FAILURE", "CANCELED"} else ""

    def worker(self) -> psutil.Process:
        """The process that does the run under way."""
        ours = [one for one in self.left_over() if "multiprocessing.spawn" in " ".join(one.cmdline())]
        return max(ours, key=lambda one: one.create_time())


def composed(folder: Path, database: str, poll_seconds: int = 2, **variables: str) -> Services:
    """The three services of our image as the compose file has them, with another database, places and ports."""
    described, ports = compose(), {"4000": str(free_port()), "3000": str(free_port())}
    dagster_home, data = folder / "dagster", folder / "srv"
    for place in (dagster_home / "storage", data / "home", data / "cache", data / "inbox"):
        place.mkdir(parents=True)
    shutil.copy(ROOT / "deploy/postgres/workspace.yaml", dagster_home)
    _with_poll(ROOT / "deploy/postgres/dagster.yaml", dagster_home, poll_seconds)
    places = {"/srv/dagster": str(dagster_home), "/srv/sag": str(data), "0.0.0.0": "127.0.0.1"}

    def here(text: str) -> str:
        for there, place in places.items():
            text = text.replace(there, place)
        return ports.get(text, text)

    variables |= {"POSTGRES_PASSWORD": "-"}
    given = {
        name: variables.get(name, "") if value is None else filled(value, variables)
        for name, value in described["code"]["environment"].items()
    }
    ours = {name: here(value) for name, value in given.items() if value}
    ours |= {"SAG_DAGSTER_PG_URL": database, "SAG_CODE_HOST": "127.0.0.1", "DAGSTER_HOME": str(dagster_home)}
    commands = {name: [here(word) for word in described[name]["command"]] for name in ("code", "webserver", "daemon")}
    return Services(folder, _environment(ours), commands, f"http://127.0.0.1:{ports['3000']}")


def one_machine(folder: Path, poll_seconds: int = 2) -> Services:
    """The two processes of one machine, with runs in SQLite whose tables are made first, as docs/deployment.md has it."""
    port = str(free_port())
    shutil.copy(ROOT / "workspace.yaml", folder)
    _with_poll(ROOT / "dagster.yaml", folder, poll_seconds)
    for place in (folder / "srv/home", folder / "srv/inbox"):
        place.mkdir(parents=True)
    ours = {"SAG_HOME": f"{folder}/srv/home", "SAG_SOURCE": f"{folder}/srv/inbox", "DAGSTER_HOME": str(folder)}
    commands = {
        "webserver": ["dagster-webserver", "-w", "workspace.yaml", "--host", "127.0.0.1", "--port", port],
        "daemon": ["dagster-daemon", "run", "-w", "workspace.yaml"],
    }
    made = Services(folder, _environment(ours), commands, f"http://127.0.0.1:{port}")
    assert made.run(*program(["dagster", "instance", "info"])) == 0
    return made


def _with_poll(config: Path, folder: Path, poll_seconds: int) -> None:
    """Copy a configuration, with run monitoring that looks more often."""
    text = config.read_text(encoding="utf-8")
    assert "poll_interval_seconds: 30" in text
    changed = text.replace("poll_interval_seconds: 30", f"poll_interval_seconds: {poll_seconds}")
    (folder / config.name).write_text(changed, encoding="utf-8")


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SAG_", "OTEL_", "OPENAI_"))}
    return {**inherited, "PYTHONPATH": str(ROOT), **ours}
