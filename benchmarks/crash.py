"""Everything that writes, killed (`kill -9`) at random moments and at its system calls: is anything lost or left over?

    python benchmarks/crash.py            200 kills
    python benchmarks/crash.py --small     10 kills
    python benchmarks/crash.py 60 30       60 kills, 30 a round

Rounds: the source changes; ingest, report, prune and promote are killed; then each runs once undisturbed, and the home
must equal one that was never disturbed: the release, every table's hash, no call of the language model paid twice, no
litter, and no wrong answer to a reader that searched all the while.
"""

# ruff: noqa: PLC0415  children import what they need after the fork, as some libraries start threads

import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import dagster as dg  # what a child would load anyway is loaded once; nothing that starts threads
import duckdb  # noqa: F401
import igraph  # noqa: F401
import leidenalg  # noqa: F401
import openai  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow.parquet as pq  # noqa: F401

ROOT = Path(__file__).parents[1]
ADDED = 6
"""Documents that come with a round."""
PLACES = ("Port Ansel", "Mill Haven", "Grey Harbour", "South Quay", "Low Ferry")
FIRMS = ("Lumen Optics", "Quill Instruments", "Heron Works", "Ansel Freight", "North Cable")
ZH_PLACES = ("安塞港", "磨坊湾", "灰港", "南码头", "下渡口")
ZH_FIRMS = ("光澜公司", "翎羽公司", "海鹭公司", "安塞公司", "北缆公司")
QUESTIONS = ("Who sold buoys in Port Ansel?", "谁在灰港售出浮标？", "Fleet Number 4")
CALLS = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "shutil.rmtree", "shutil.copytree"})
"""Audit events of calls that change names on disk; an `open` for writing is the other one."""


def text_of(number: int, version: int = 0) -> str:
    """One document, in English or Chinese; another version says another number."""
    firm, place, year = number % 5, (number // 5) % 5, 1990 + number % 40
    count = 3 + number + 1000 * version
    if number % 2:
        one, where = ZH_FIRMS[firm], ZH_PLACES[place]
        return f"# 第{number}号记录\n\n{one}于{year}年在{where}售出{count}个浮标。{one}由第{number}号船队供货。\n"
    one, where = FIRMS[firm], PLACES[place]
    return (
        f"# Record {number}\n\n{one} sold {count} buoys in {where} in {year}. "
        f"{one} is served by Fleet Number {number}. The fleet sails from {where}.\n"
    )


def versions(name: str) -> list[str]:
    """All texts that a document of this name has in the first hundred rounds."""
    return [text_of(int(name[len("record-") : -len(".md")]), version) for version in range(100)]


def change(inbox: Path, which: int) -> None:
    for number in range(which * ADDED, (which + 1) * ADDED):
        (inbox / f"record-{number}.md").write_text(text_of(number), encoding="utf-8")
    for number in (which * ADDED - 1, which * ADDED // 2):
        path = inbox / f"record-{number}.md"
        if number > 0 and path.exists():
            path.write_text(text_of(number, which), encoding="utf-8")
    (inbox / f"record-{which * ADDED // 3}.md").unlink(missing_ok=True)


def is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    if event != "open":
        return event in CALLS
    path, mode, _ = arguments
    return isinstance(mode, str) and bool(set(mode) & set("wxa+")) and "/dev" not in str(path)


def fork(work: Callable[[], object], log: Path, kill_at: int = 0, counted: Path | None = None) -> int:
    """Do work in a separate process; with `kill_at` it kills itself before that change of the disk."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        with log.open("a") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        seen = Counter[str]()

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if is_change(event, arguments):
                seen["changes"] += 1
                if seen["changes"] == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        work()
        if counted:
            counted.write_text(str(seen["changes"]))
        code = 0
    except BaseException as error:  # noqa: BLE001  the log has it, the parent sees the exit code
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def ingest(home: Path) -> None:
    from sag_pipeline.jobs import run_ingest

    os.environ["SAG_HOME"] = str(home)
    run_ingest(["inbox"], {"keep_runs": 20, "keep_releases": 2, "grace_hours": 0})


def report(home: Path) -> None:
    from sag_pipeline.jobs import run_report

    os.environ |= {"SAG_HOME": str(home), "SAG_CHAT_MODEL": "offline"}
    run_report()


def prune(home: Path) -> None:
    from sag_retrieval.release.releases import prune_releases
    from sag_retrieval.reports.series import prune_reports

    prune_releases(home, keep=2, grace_hours=0)
    prune_reports(home, keep=2, grace_hours=0)


def promote(home: Path) -> None:
    from sag_retrieval.release.releases import Releases

    below = Releases(home)
    found = below.manifests()
    for manifest in (found[0], found[-1]):
        with contextlib.suppress(Exception):  # pruned meanwhile
            below.promote(manifest.release_id)


def read(home: Path, pipe: int) -> None:
    """Search until the parent closes its end; every hit must be the text of a version that was written."""
    from sag_retrieval import open_release

    figures = {"reads": 0, "bad_reads": 0}
    while not select.select([pipe], [], [], 0)[0]:
        try:
            with open_release(home) as release:
                for question in QUESTIONS:
                    hits = release.search(question).hits
                    good = bool(hits) and all(
                        any(text[hit.start : hit.end] == hit.text for text in versions(hit.document_id)) for hit in hits
                    )
                    figures["reads"] += 1
                    figures["bad_reads"] += not good
                    if not good:
                        print("bad read", [hit.document_id for hit in hits], flush=True)
        except Exception as error:  # noqa: BLE001  counted
            figures["bad_reads"] += 1
            print("bad read", type(error).__name__, error, flush=True)
        time.sleep(0.05)
    (home.parent / "reads.json").write_text(json.dumps(figures))


def serve() -> None:
    """The scripted language model in a separate process; a line on standard input asks for its counts."""
    from tests.support.chat_server import ChatServer
    from tests.support.scripted_answers import read_well

    with ChatServer(read_well, delay=0.02) as server:
        print(server.base_url, flush=True)
        for _ in sys.stdin:
            asked = Counter(json.dumps(call.request["messages"]) for call in server.finished)
            print(json.dumps({"calls": len(server.calls), "twice": sum(n - 1 for n in asked.values())}), flush=True)
            server.calls.clear()


OPERATIONS: dict[str, Callable[[Path], None]] = {each.__name__: each for each in (ingest, report, prune, promote)}
WEIGHTS = (8, 4, 3, 2)


class Trial:
    """Two homes that follow one source: one is killed at, the other never."""

    def __init__(self, folder: Path, server: "subprocess.Popen[str]") -> None:
        self.folder, self.server = folder, server
        self.inbox, self.log = folder / "inbox", folder / "log.txt"
        self.killed, self.calm = folder / "killed" / "home", folder / "calm" / "home"
        self.draw = random.Random(7)
        self.costs: dict[str, tuple[float, int]] = {}

    def whole(self, name: str, home: Path) -> None:
        counted, started = self.folder / "counted", time.perf_counter()
        os.chdir(home.parent)  # where its own `dagster.yaml` lies
        _, status = os.waitpid(fork(partial(OPERATIONS[name], home), self.log, counted=counted), 0)
        if status:
            sys.exit(f"{name} failed below {home}:\n{self.log.read_text()[-3000:]}")
        if home == self.calm:
            self.costs[name] = (time.perf_counter() - started, int(counted.read_text()))

    def kill(self, name: str) -> str:
        """Start an operation and kill it; how."""
        os.chdir(self.killed.parent)
        seconds, changes = self.costs[name]
        at = self.draw.randint(1, max(1, changes)) if self.draw.random() < 0.5 else 0
        pid = fork(partial(OPERATIONS[name], self.killed), self.log, kill_at=at)
        if not at:
            time.sleep(self.draw.uniform(0.2, 1) * seconds)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            return f"{name} at a {'call' if at else 'moment'}"
        return f"{name} ended before" if status == 0 else f"{name} failed"

    def counts(self) -> dict[str, int]:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        print("counts", file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())  # type: ignore[no-any-return]


def state(home: Path) -> dict[str, Any]:
    release = (home / "CURRENT").read_text().strip()
    manifest = json.loads((home / "releases" / release / "manifest.json").read_text())
    return {"release": release, "hashes": manifest["hashes"], "counts": manifest["counts"] | {"calls": 0}}


def litter(folder: Path) -> list[str]:
    marks, home = (".draft-", ".gone-", ".CURRENT.", ".communities-"), folder / "killed" / "home"
    left = [p for p in home.rglob(".*") if p.name.startswith(marks) or ".parquet." in p.name]
    left += [p for p in (home / "releases").iterdir() if not (p / "manifest.json").is_file()]
    left += list((folder / "tmp").iterdir())
    return [str(path.relative_to(folder)) for path in left]


def lost_runs(folder: Path) -> int:
    """Runs that Dagster takes for running though nobody runs."""
    os.chdir(folder / "killed")
    with dg.DagsterInstance.from_config(".") as instance:
        return len(instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])))


def prepare(folder: Path, base_url: str) -> None:
    for name in ("killed", "calm", "tmp", "inbox"):
        (folder / name).mkdir()
    for name in ("killed", "calm"):
        shutil.copy(ROOT / "dagster.yaml", folder / name)
        (folder / name / "inbox").symlink_to(folder / "inbox")
    os.environ |= {
        "TMPDIR": str(folder / "tmp"),
        "SAG_CHAT_MODEL": "openai:scripted",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
    }


def run(kills: int, a_round: int) -> dict[str, Any]:
    started = time.perf_counter()
    command = [sys.executable, __file__, "--serve"]
    with (
        TemporaryDirectory() as name,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        folder = Path(name)
        trial = Trial(folder, server)
        prepare(folder, server.stdout.readline().strip())
        try:
            figures = rounds(trial, kills, a_round)
        finally:
            assert server.stdin is not None
            server.stdin.close()
    return figures | {"seconds": round(time.perf_counter() - started)}


def rounds(trial: Trial, kills: int, a_round: int) -> dict[str, Any]:
    """Round after round: change, kill, run to the end, compare."""
    told, unequal, left = Counter[str](), 0, list[str]()
    paid = Counter[str]()
    reader, end = 0, -1
    for number in range(-1, kills // a_round):
        change(trial.inbox, number + 2)
        for name in OPERATIONS:
            trial.whole(name, trial.calm)
        needed = trial.counts()["calls"]
        if reader:
            for name in trial.draw.choices(list(OPERATIONS), WEIGHTS, k=a_round):
                told[trial.kill(name)] += 1
        for name in ("ingest", "report", "prune"):
            trial.whole(name, trial.killed)
        seen = trial.counts()
        paid.update(needed=needed, seen=seen["calls"], finished_seen_twice=seen["twice"])
        unequal += state(trial.killed) != state(trial.calm)
        left += litter(trial.folder)
        if not reader:
            wake, end = os.pipe()
            reader = fork(partial(read, trial.killed, wake), trial.folder / "reader.txt")
            os.close(wake)
    os.write(end, b".")
    os.waitpid(reader, 0)
    reads = json.loads((trial.killed.parent / "reads.json").read_text())
    return {
        "kills": sum(told.values()),
        "how": dict(sorted(told.items())),
        "rounds": kills // a_round,
        "unequal_states": unequal,
        "litter": left,
        "runs_left_running": lost_runs(trial.folder),
        **reads,
        "said_by_reader": (trial.folder / "reader.txt").read_text().splitlines()[:5],
        "calls": dict(paid),
        "failures": [line for line in trial.log.read_text().splitlines() if "Error" in line][:5],
    }


def main() -> None:
    if "--serve" in sys.argv:
        serve()
        return
    given = [int(value) for value in sys.argv[1:3] if value.isdigit()]
    figures = run(*(given if len(given) == 2 else (10, 10) if "--small" in sys.argv else (200, 20)))
    print(json.dumps(figures, ensure_ascii=False, indent=1))
    if figures["unequal_states"] or figures["litter"] or figures["bad_reads"] or figures["runs_left_running"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
