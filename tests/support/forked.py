"""Commands of `sag` as processes of their own that need not import what another one has imported already.

A process that has the modules is forked for each command: a second of processor time where a new interpreter takes
five. Tests whose subject is the start of a process, or a process that is killed, begin one by themselves.
"""

import atexit
import gc
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from sag_pipeline.table import StepInput
from sag_retrieval.core.plugins import every_entry_point
from sag_retrieval.core.records import Document
from sag_retrieval.language.detection import detect_language

LOADED = """
dagster._core.storage.event_log.in_memory duckdb pandas pyarrow.parquet scipy.special sag_pipeline.cli.commands
sag_pipeline.definitions sag_pipeline.embed.embed sag_pipeline.integrity.verify sag_pipeline.jobs
sag_pipeline.publish.publish sag_pipeline.runs.status sag_pipeline.sync.sync sag_pipeline.table_rules
sag_retrieval.api sag_retrieval.ask.fast sag_retrieval.cli.main sag_retrieval.reports.report sag_retrieval.topics.stored
""".split()
TEXTS = {
    "en": "# Heron\n\nLumen Optics of Oslo sold 120 buoys for 3.5 million dollars on 4 May 2021. Mara Voss led the firm.",
    "zh": "# 海鹭\n\n光澜公司由陈雨于2015年5月4日在上海创建，2021年售出120个浮标，收入3.5亿元。",
}
"""What is read once, so that tables, expressions and dictionaries of both languages are there."""


def sag(
    *command: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    sites: Sequence[Path] = (),
    seconds: float = 300,
) -> subprocess.CompletedProcess[str]:
    """What a command of `sag` wrote and how it ended; it sees the packages in `sites` too."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        wanted = {
            "command": command,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "sites": [str(site) for site in sites],
        }
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(_server())
            line.settimeout(seconds)
            socket.send_fds(line, [json.dumps(wanted).encode()], [out.fileno(), err.fileno()])
            line.shutdown(socket.SHUT_WR)
            code = int(line.makefile().read())
        written = []
        for file in (out, err):
            file.seek(0)
            written.append(file.read().decode())
    return subprocess.CompletedProcess(command, code, *written)


@cache
def _server() -> str:
    """Where the process that is forked listens; it ends with this one, whose end closes its standard input."""
    place = f"{tempfile.mkdtemp(prefix='sag-')}/s"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked", place],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(process.__exit__, None, None, None)  # closes what it reads, and waits for it
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return place


def load() -> None:
    """Import what commands need, and read what they read of it; no thread is left, as only the one that forks goes on."""
    for name in LOADED:
        import_module(name)
    rules = import_module("sag_pipeline.table_rules")
    options = import_module("sag_pipeline.options").IngestOptions()
    for language, text in TEXTS.items():
        assert detect_language(text) == language
        made = StepInput("a", {"documents": [Document("a", "a", "A", text, language)]})
        for table in ("summaries", "sections", "chunks", "events", "keys", "triples"):
            made.tables[table] = getattr(rules, table)(made, options)
    load_lance()
    gc.freeze()


def load_lance() -> None:
    """Import Lance without its thread: it begins another one in each process that is forked, and warns of it once."""
    lance = import_module("lancedb.background_loop")
    lance.LOOP.loop.call_soon_threadsafe(lance.LOOP.loop.stop)
    lance.LOOP.thread.join()
    lance._FORK_WARNED = True


def _serve(place: str) -> None:
    """Fork for each command that is asked for, until the process that began this one is gone."""
    load()
    assert threading.active_count() == 1, threading.enumerate()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            with listening.accept()[0] as line:
                wanted, files, _, _ = socket.recv_fds(line, 1 << 20, 2)
                child = os.fork()
                if not child:
                    _run(json.loads(wanted), files)  # does not return
                for file in files:
                    os.close(file)
                _, status = os.waitpid(child, 0)
                line.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    shutil.rmtree(Path(place).parent)
    os._exit(0)


def _run(wanted: dict[str, Any], files: Sequence[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, *files)):
        os.dup2(file, number)
        os.close(file)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.argv = ["sag", *wanted["command"]]
    sys.path[:0] = wanted["sites"]
    every_entry_point.cache_clear()
    try:
        code = import_module("sag_retrieval.cli.main").main()
    except SystemExit as ended:
        code = ended.code
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)  # to take a million objects apart copies the memory that both processes have


if __name__ == "__main__":
    _serve(sys.argv[1]) if sys.argv[1:] else load()
