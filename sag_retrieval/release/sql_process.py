"""Outside SQL in processes of its own: what a query takes of memory and time ends the process, not the program.

A release hands each table that a query names to the process once, as a file in memory; results come back the same way.
DuckDB's own bounds stay, and the system keeps what they miss: memory by `RLIMIT_DATA`, time by a kill.
"""

import json
import mmap
import os
import re
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from threading import Lock, Semaphore, Timer
from typing import Any, Final

import duckdb
import pyarrow as pa

_resource: Final[Any] = import_module("resource") if find_spec("resource") else None
"""None on Windows."""
_PROCESSES: Final = 2
"""Of one release: two queries at a time, as each has one thread."""
_GRACE: Final = 1.0
"""Seconds after which a query that DuckDB does not interrupt is killed."""
_START: Final = 120.0
"""Seconds that a process may take to start on a busy machine."""
_SPARE: Final = 128 * 1024 * 1024
"""Bytes besides the memory of a query: reading its tables and writing its result."""
_BATCH: Final = 10_000
_KEPT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "HOME", "SYSTEMROOT")
"""The process gets no other variable: it needs no key and no address."""
_BYTES: Final = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def named_in(query: str, tables: Iterable[str]) -> set[str]:
    """The tables whose names stand in a query, wherever they do."""
    return set(_WORD.findall(query.lower())).intersection(tables)


class QueryEnded(Exception):  # noqa: N818  it says what became of a query
    """A query gave no rows: `kind` is time, memory, size or error, the text what DuckDB said."""

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(text)
        self.kind = kind


class SqlProcesses:
    """Runs checked queries over the tables of a release; safe to share between threads."""

    def __init__(self, tables: Mapping[str, pa.Table], bounds: Mapping[str, Any]) -> None:
        """Hold tables, and bounds by their names in `SandboxOptions`; a process is started by the first query."""
        self._tables, self._bounds = tables, bounds
        self._places = Semaphore(_PROCESSES)
        self._lock = Lock()
        self._files: dict[str, int] = {}
        self._idle: list[_Process] = []
        self._close = weakref.finalize(self, _end_all, self._idle, self._files)

    def run(self, query: str) -> pa.Table:
        """The rows of a query.

        Raises:
            QueryEnded: If it took too much, or DuckDB refuses it.
            ReleaseError: If a table that it names is damaged.
        """
        named = sorted(named_in(query, self._tables))
        if _resource is None:
            return self._run_here(query, named)
        with self._places:
            process, is_sound = self._taken(), False
            try:
                rows = process.ask(query, {name: self._file(name) for name in named}, self._bounds["seconds"] + _GRACE)
                is_sound = True
            except QueryEnded as ended:
                is_sound = ended.kind not in {"time", "memory"}  # else its memory is not given back
                raise
            finally:
                self._give_back(process) if is_sound else process.end()
            return rows

    def _run_here(self, query: str, named: list[str]) -> pa.Table:
        """The rows of a query where files cannot be handed to a process: in this one, with DuckDB's bounds alone."""
        with locked_connection(str(self._bounds["memory"])) as connection:
            views = [connection.from_arrow(self._tables[name]) for name in named]
            for name, view in zip(named, views, strict=True):
                view.create_view(name)
            return _rows_of(connection, query, self._bounds)

    def close(self) -> None:
        """End the processes."""
        self._close()

    def _taken(self) -> "_Process":
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_ours:
                    return process
        return _Process(self._bounds)

    def _give_back(self, process: "_Process") -> None:
        with self._lock:
            self._idle.append(process)

    def _file(self, name: str) -> int:
        """A file in memory with the rows of a table, written once."""
        with self._lock:
            if name not in self._files:
                self._files[name] = _written(self._tables[name])
            return self._files[name]


def _end_all(idle: "list[_Process]", files: dict[str, int]) -> None:
    while idle:
        idle.pop().end()
    while files:
        os.close(files.popitem()[1])


class _Process:
    def __init__(self, bounds: Mapping[str, Any]) -> None:
        self._channel, theirs = Pipe()
        self._has = set[str]()
        self._pid = os.getpid()
        code = f"from sag_retrieval.release.sql_process import serve; serve({theirs.fileno()})"
        paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]))
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {"PYTHONPATH": paths}
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                [sys.executable, "-c", code],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the program, which ends this with its socket
            )
        try:
            self._answer({"bounds": dict(bounds)}, [], _START)
        except BaseException:
            self.end()
            raise

    @property
    def is_ours(self) -> bool:
        """Whether this process started it: a fork shares the socket, and two readers would mix up answers."""
        return self._pid == os.getpid()

    def ask(self, query: str, files: Mapping[str, int], seconds: float) -> pa.Table:
        """The rows of a query over tables in files."""
        new = [name for name in files if name not in self._has]
        found = self._answer({"query": query, "tables": new}, [files[name] for name in new], seconds)
        self._has.update(new)
        if found is None:
            raise QueryEnded("memory")
        return found

    def _answer(self, request: Mapping[str, Any], files: list[int], seconds: float) -> pa.Table | None:
        try:
            _send(self._channel, request, files)
            if not self._channel.poll(seconds):
                raise QueryEnded("time")
            said, received = _receive(self._channel)
        except (OSError, EOFError) as error:  # the system ended it for its memory, or DuckDB did
            raise QueryEnded("memory", str(error)) from None
        if said.get("kind"):
            raise QueryEnded(said["kind"], said["text"])
        return _mapped(received[0]) if received else None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._channel.close()
        if self.is_ours:
            self._process.kill()
            self._process.wait()


def _send(channel: Connection, said: Mapping[str, Any], files: Sequence[int] = ()) -> None:
    channel.send_bytes(json.dumps({**said, "files": len(files)}).encode())
    for file in files:
        send_handle(channel, file, None)


def _receive(channel: Connection) -> tuple[dict[str, Any], list[int]]:
    said = json.loads(channel.recv_bytes())
    return said, [recv_handle(channel) for _ in range(said["files"])]


def _written(rows: pa.Table) -> int:
    """A file in memory with the rows; the caller closes it."""
    number = os.memfd_create("sag-sql") if hasattr(os, "memfd_create") else os.dup(tempfile.TemporaryFile().fileno())  # noqa: SIM115
    with os.fdopen(os.dup(number), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return number


def _mapped(number: int) -> pa.Table:
    """The rows of a file, which is closed and stays mapped as long as they are used."""
    try:
        bytes_ = mmap.mmap(number, 0, prot=mmap.PROT_READ)
    finally:
        os.close(number)
    return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(bytes_))).read_all()


# ── in the process ───────────────────────────────────────────────────────────────────────────────────────────────


def serve(number: int) -> None:
    """Answer queries until the other side of the socket is closed."""
    with Connection(number) as channel:
        asked, _ = _receive(channel)
        bounds = asked["bounds"]
        connection = locked_connection(bounds["memory"])
        views: list[duckdb.DuckDBPyRelation] = []
        _limit_memory(bounds["memory"])
        _send(channel, {})
        while True:
            try:
                asked, files = _receive(channel)
            except (EOFError, OSError):
                return
            for name, file in zip(asked["tables"], files, strict=True):
                views.append(connection.from_arrow(_mapped(file)))
                views[-1].create_view(name)
            try:
                made = _written(_rows_of(connection, asked["query"], bounds))
            except QueryEnded as ended:
                _send(channel, {"kind": ended.kind, "text": str(ended)})
            else:
                _send(channel, {}, [made])
                os.close(made)


def _rows_of(connection: duckdb.DuckDBPyConnection, query: str, bounds: Mapping[str, Any]) -> pa.Table:
    """The rows of a query; it ends as soon as they exceed the bounds."""
    found: list[pa.RecordBatch] = []
    rows = size = 0
    try:
        with interrupted_after(connection, bounds["seconds"]) as cursor:
            reader = cursor.sql(query).to_arrow_reader(_BATCH)
            for batch in reader:
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows > bounds["rows"] or size > bounds["size"]:
                    raise QueryEnded("size")
                found.append(batch)
            return pa.Table.from_batches(found, schema=reader.schema)
    except (duckdb.Error, OSError, MemoryError) as error:  # Arrow's reader gives DuckDB's errors as an OSError
        raise QueryEnded(kind_of(error), str(error)) from error


def kind_of(error: Exception) -> str:
    """What an error of DuckDB or of Arrow, which reads its rows, says of a query: time, memory or error."""
    said = str(error).lower()
    if isinstance(error, duckdb.InterruptException) or said.startswith("interrupt"):
        return "time"
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or "out of memory" in said or "bad_alloc" in said:
        return "memory"
    return "error"


@contextmanager
def interrupted_after(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor that is interrupted when the time of its query is up."""
    cursor = connection.cursor()
    timer = Timer(seconds, cursor.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield cursor
    finally:
        timer.cancel()
        cursor.close()


def locked_connection(memory: str) -> duckdb.DuckDBPyConnection:
    """A connection to an empty database that reads no file and loads nothing."""
    locked: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",
        "memory_limit": memory,
        "threads": "1",
    }
    connection = duckdb.connect(":memory:", config=locked)
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def _limit_memory(memory: str) -> None:
    """Let the system refuse memory of its own beyond the bound; mapped files do not count."""
    number = memory.rstrip("BGIKMbgikm ")  # DuckDB has read it
    bound = _own_memory() + int(float(number) * _BYTES[memory[len(number) :].strip().upper()]) + _SPARE
    _resource.setrlimit(_resource.RLIMIT_DATA, (bound, bound))


def _own_memory() -> int:
    """Bytes of private memory that the process has asked for so far, used or not, which is what the limit counts."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return int(_resource.getrusage(_resource.RUSAGE_SELF).ru_maxrss) * 1024
    return int(status.partition("VmData:")[2].split()[0]) * 1024


_WORD: Final = re.compile(r"\w+")
