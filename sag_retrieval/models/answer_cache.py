"""Store the answers of language models in SQLite by the hash of the request, before they are used."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Self

from pydantic import BaseModel

from sag_retrieval.core import durable
from sag_retrieval.core.errors import SagError
from sag_retrieval.models.protocols import AnswerT, Request

ANSWERS = "answers.sqlite"
"""Name of the file of answers below SAG_HOME."""

_SCHEMA = """
create table if not exists answers (
    call_id text primary key, answer text not null, document_id text not null, step text not null, model
    text not null, input_tokens integer not null, output_tokens integer not null, seconds real not null,
    calls integer not null, cost real, expected_tokens integer not null, answered_at text not null default
    (datetime('now')), digest text not null default ''
) without rowid
"""
_MEND = "`sag repair` keeps every answer that can be read"


class CacheError(SagError):
    """The file of answers cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer and the usage of the call that gave it; `calls` counts the requests it took."""

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
    """Expected input tokens of one request (`estimate_tokens`), to compare with the tokens that were billed."""


_NAMES = tuple(one.name for one in fields(Answered))
_COLUMNS = ", ".join(_NAMES)
_FIND = f"select {_COLUMNS}, digest from answers where call_id = ?"  # noqa: S608  our own columns
_KEEP = f"insert into answers ({_COLUMNS}, digest) values ({', '.join('?' * (len(_NAMES) + 1))}) on conflict do nothing"  # noqa: S608
_REPLACE = _KEEP.replace("insert into", "insert or replace into").removesuffix(" on conflict do nothing")


def call_id(fingerprint: str, request: Request[AnswerT]) -> str:
    """The hash of everything an answer depends on: model and its options, prompt, JSON schema, greatest length.

    The schema includes the docstrings and descriptions of the answer's classes, so changing one asks everything again.
    Step and document are left out, so that the same question is paid once. A request's `identity`, if it has one, takes
    the place of its prompt: the answer is used again when only context in the prompt changed.
    """
    asked = request.identity or (request.system, request.prompt)
    parts = (fingerprint, asked, request.max_tokens, _schema(request.answer))
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=256)
def _schema(answer: type[BaseModel]) -> str:
    return json.dumps(answer.model_json_schema())


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of one model by one step, over all runs."""

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

    SQLite, because a commit is atomic even if the process is killed or the power fails (`synchronous=full`), several
    processes can read and write, and a million answers need no index in memory. The file must be on a local disk,
    because locks of network folders are not reliable. Source: docs/algorithm.md §extraction.25.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        durable.make_folder(path.parent)
        self._connection = self._opened(path)

    @staticmethod
    def _opened(path: Path) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            connection.execute("pragma journal_mode=wal")
            connection.execute("pragma synchronous=full")
            connection.execute(_SCHEMA)
            if "digest" not in {row[1] for row in connection.execute("pragma table_info(answers)")}:
                connection.execute("alter table answers add column digest text not null default ''")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            raise CacheError(f"{path} cannot be used as the file of answers: {error}; {_MEND}") from error
        return connection

    def close(self) -> None:
        """Close the file; all answers are on disk already."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, call_id: str) -> Answered | None:
        """The answer to a call, or None."""
        with self._lock, self._reading(), closing(self._connection.execute(_FIND, (call_id,))) as rows:
            row = rows.fetchone()
        if row and not is_unchanged(row):
            raise CacheError(f"the answer {call_id} in {self._path} differs from the one that was stored; {_MEND}")
        return Answered(*row[:-1]) if row else None

    def keep(self, *answered: Answered, is_newer: bool = False) -> None:
        """Write answers, all or none; they are on disk when this returns. With `is_newer` they replace stored ones."""
        statement = _REPLACE if is_newer else _KEEP
        with self._lock:
            try:
                self._connection.execute("begin immediate")
                self._connection.executemany(statement, map(_row, answered))
                self._connection.execute("commit")
            except sqlite3.Error as error:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise CacheError(
                    f"cannot store an answer in {self._path} ({error}); if it is damaged, {_MEND}"
                ) from error

    def spent(self) -> list[Spent]:
        """Usage and cost of all stored answers, by step and model, over all runs."""
        query = (
            "select step, model, count(*), sum(calls), sum(input_tokens), sum(output_tokens), sum(cost), "
            "sum(expected_tokens) "
            "from answers group by step, model order by step, model"
        )
        with self._lock, self._reading():
            return [Spent(*row) for row in self._connection.execute(query)]

    def requests(self) -> dict[str, int]:
        """Requests by call id, where it is not 1; 0 for an answer that came with the request of another one."""
        with self._lock, self._reading():
            return dict(self._connection.execute("select call_id, calls from answers where calls <> 1"))

    def __iter__(self) -> Iterator[Answered]:
        with self._lock, self._reading():
            rows = self._connection.execute(f"select {_COLUMNS} from answers order by call_id").fetchall()  # noqa: S608
        return (Answered(*row) for row in rows)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CacheError(f"{self._path} is damaged ({error}); {_MEND}") from error


def _row(answered: Answered) -> tuple[object, ...]:
    values = tuple(getattr(answered, name) for name in _NAMES)
    return (*values, _digest(values))


def _digest(values: Sequence[object]) -> str:
    """Hash of a row without its digest: SQLite has no checksums. Integers count as floats: it may turn 0 into 0.0."""
    normal = [float(value) if isinstance(value, int) else value for value in values]
    return blake2b(repr(normal).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def columns_of() -> str:
    """The columns of an answer, in the order of its fields."""
    return _COLUMNS


def is_unchanged(row: Sequence[object]) -> bool:
    """Whether a row, with its digest last, is as it was stored; rows of version 0.1 have no digest and are trusted."""
    return not row[-1] or row[-1] == _digest(row[:-1])
