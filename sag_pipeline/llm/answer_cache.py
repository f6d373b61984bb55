"""Paid answers, kept on disk by the hash of what was asked, before anybody uses them."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Self

from sag_retrieval.core import durable
from sag_retrieval.core.errors import SagError

ANSWERS = "answers.sqlite"
"""File of the answers below SAG_HOME."""

_SCHEMA = """
create table if not exists answers (
    call_id text primary key, answer text not null, document_id text not null, step text not null, model
    text not null, input_tokens integer not null, output_tokens integer not null, seconds real not null,
    calls integer not null, cost real, expected_tokens integer not null, answered_at text not null default
    (datetime('now')), digest text not null default ''
) without rowid
"""
_MEND = "`sag repair` saves what can be read of it"


class CacheError(SagError):
    """The file of answers cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer and the call that was paid for it; `calls` counts the turns it took."""

    call_id: str
    answer: str
    document_id: str
    step: str
    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    calls: int = 1
    cost: float | None = None
    expected_tokens: int = 0
    """What one turn was expected to send: measures the estimate (`estimate_tokens`) against the server."""


_NAMES = tuple(one.name for one in fields(Answered))
_COLUMNS = ", ".join(_NAMES)
_FIND = f"select {_COLUMNS}, digest from answers where call_id = ?"  # noqa: S608  our own columns
_KEEP = f"insert into answers ({_COLUMNS}, digest) values ({', '.join('?' * (len(_NAMES) + 1))}) on conflict do nothing"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Spent:
    """What one step paid one model for, ever."""

    step: str
    model: str
    answers: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    expected_tokens: int


class AnswerCache:
    """Answers in one SQLite file with a write-ahead log.

    SQLite and not files of our own: a commit is on disk or not there at all, whatever moment the process is
    killed at or the power fails (`synchronous=full`); any number of processes may read and write; a million
    answers need no index in memory. Answers that threads bring at the same time share one commit, so the
    disk is waited for once. The file must lie on a local disk: locks of network folders are not to be
    trusted.

    Source:
        docs/algorithm.md §extraction.25.

    """

    def __init__(self, path: Path) -> None:
        """Open the file, or make it.

        Raises:
            CacheError: If it is no file of answers or cannot be written.

        """
        self._path = path
        self._pending: list[_Waiting] = []
        self._pending_lock = threading.Lock()
        self._write_lock = threading.Lock()
        durable.make_folder(path.parent)
        try:
            self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._connection.execute("pragma journal_mode=wal")
            self._connection.execute("pragma synchronous=full")
            self._connection.execute(_SCHEMA)
            if "digest" not in {row[1] for row in self._connection.execute("pragma table_info(answers)")}:
                self._connection.execute("alter table answers add column digest text not null default ''")
        except sqlite3.Error as error:
            raise CacheError(f"{path} cannot be used as the file of answers: {error}; {_MEND}") from error

    def close(self) -> None:
        """Close the file; what was kept is on disk already."""
        with self._write_lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, call_id: str) -> Answered | None:
        """The answer to a call, or None.

        Raises:
            CacheError: If the file is damaged where the answer stands.

        """
        with self._write_lock, self._reading(), closing(self._connection.execute(_FIND, (call_id,))) as rows:
            row = rows.fetchone()
        if row and not is_unchanged(row):
            raise CacheError(f"the answer {call_id} in {self._path} is not the one that was kept; {_MEND}")
        return Answered(*row[:-1]) if row else None

    def keep(self, *answered: Answered) -> None:
        """Write answers, all or none; they are on disk when this returns. The first answer to a call stays.

        Raises:
            CacheError: If it cannot be written.

        """
        waiting = _Waiting(answered)
        with self._pending_lock:
            self._pending.append(waiting)
        with self._write_lock:
            if not waiting.is_generated:
                self._write()

    def spent(self) -> list[Spent]:
        """What all answers kept here cost, by step and model, over all runs."""
        query = (
            "select step, model, count(*), sum(calls), sum(input_tokens), sum(output_tokens), sum(cost), "
            "sum(expected_tokens) "
            "from answers group by step, model order by step, model"
        )
        with self._write_lock, self._reading():
            return [Spent(*row) for row in self._connection.execute(query)]

    def requests(self) -> dict[str, int]:
        """The answers that took more or fewer requests than one, by call id: 0 came with another one's request."""
        with self._write_lock, self._reading():
            return dict(self._connection.execute("select call_id, calls from answers where calls <> 1"))

    def __len__(self) -> int:
        with self._write_lock, self._reading():
            return int(self._connection.execute("select count(*) from answers").fetchone()[0])

    def __iter__(self) -> Iterator[Answered]:
        """All answers, by call id."""
        with self._write_lock, self._reading():
            rows = self._connection.execute(f"select {_COLUMNS} from answers order by call_id").fetchall()  # noqa: S608
        return (Answered(*row) for row in rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CacheError(f"{self._path} is damaged ({error}); {_MEND}") from error

    def _write(self) -> None:
        """Commit every answer that waits, those of other threads too."""
        with self._pending_lock:
            batch, self._pending = self._pending, []
        rows = [_row(one) for waiting in batch for one in waiting.answered]
        try:
            self._connection.execute("begin immediate")
            self._connection.executemany(_KEEP, rows)
            self._connection.execute("commit")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            with self._pending_lock:
                self._pending = batch + self._pending
            raise CacheError(f"cannot keep an answer in {self._path} ({error}); if it is damaged, {_MEND}") from error
        for waiting in batch:
            waiting.is_generated = True


@dataclass(slots=True)
class _Waiting:
    answered: tuple[Answered, ...]
    is_generated: bool = field(default=False)


def _row(answered: Answered) -> tuple[object, ...]:
    values = tuple(getattr(answered, name) for name in _NAMES)
    return (*values, _digest(values))


def _digest(values: Sequence[object]) -> str:
    """Hash of an answer and what is told of it: SQLite has no checksums of its own, and may turn 0 into 0.0."""
    told = [float(value) if isinstance(value, int) else value for value in values]
    return blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def columns_of() -> str:
    """The columns of an answer, in the order of its fields."""
    return _COLUMNS


def is_unchanged(row: Sequence[object]) -> bool:
    """Whether a row with its digest last is the one that was kept; rows of version 0.1 have none and are trusted."""
    return not row[-1] or row[-1] == _digest(row[:-1])
