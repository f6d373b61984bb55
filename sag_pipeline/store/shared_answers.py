"""Answers of models in a bucket: each run sends its own as one immutable file and reads those of the others."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.core.errors import BucketError
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, CacheError, columns_of
from sag_retrieval.remote.mirror import Mirror

_BELOW: Final = "answers/"
_SCHEMA: Final = (
    "create table if not exists shared (call_id text primary key) without rowid;"
    "create table if not exists fetched (key text primary key) without rowid;"
)
_FIND: Final = f"select {columns_of()}, digest from answers where call_id not in (select call_id from shared)"
_KEEP: Final = f"insert into answers ({columns_of()}, digest) values ({{}}) on conflict do nothing"


def push_answers(mirror: Mirror) -> int:
    """Send the answers that were given on this machine and are not in the bucket yet; their number."""
    path = mirror.folder / ANSWERS
    if not path.is_file():
        return 0
    with closing(_opened(path)) as connection, _errors(path):
        rows = connection.execute(f"{_FIND} order by call_id").fetchall()
        if not rows:
            return 0
        body = _packed(rows)
        key = f"{_BELOW}{blake2b(body, digest_size=12).hexdigest()}.parquet"
        mirror.files.put(key, body)
        with connection:
            connection.executemany("insert or ignore into shared values (?)", [(row[0],) for row in rows])
            connection.execute("insert or ignore into fetched values (?)", (key,))
    return len(rows)


def pull_answers(mirror: Mirror, *, is_tolerant: bool = False) -> int:
    """Store the answers that other machines sent; the number of their files.

    Raises:
        BucketError: If a file of them is damaged; with `is_tolerant`, it is deleted.

    """
    keys = [each.key for each in mirror.files.list(_BELOW)]
    path = mirror.folder / ANSWERS
    if not keys:
        return 0
    AnswerCache(path).close()  # makes the file
    with closing(_opened(path)) as connection, _errors(path):
        known = {key for (key,) in connection.execute("select key from fetched")}
        fresh = [key for key in keys if key not in known]
        for key in fresh:
            try:
                rows = _rows_of(mirror, key)
            except BucketError:
                if not is_tolerant:
                    raise
                mirror.files.delete([key])
                continue
            _store(connection, key, rows)
    return len(fresh)


def _rows_of(mirror: Mirror, key: str) -> list[tuple[object, ...]]:
    place = mirror.folder / ".answers" / Path(key).name
    mirror.fetch(key, place, (-1, Path(key).stem), 12)
    try:
        table = pq.read_table(place, partitioning=None)
    finally:
        place.unlink(missing_ok=True)
    return [tuple(row.values()) for row in table.to_pylist()]


def _store(connection: sqlite3.Connection, key: str, rows: Sequence[tuple[object, ...]]) -> None:
    with connection:
        if rows:
            connection.executemany(_KEEP.format(", ".join("?" * len(rows[0]))), rows)
        connection.executemany("insert or ignore into shared values (?)", [(row[0],) for row in rows])
        connection.execute("insert into fetched values (?)", (key,))


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60)
    connection.executescript(_SCHEMA)
    return connection


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Name the file in an error of SQLite."""
    try:
        yield
    except sqlite3.Error as error:
        raise CacheError(f"{path} cannot be used ({error}); `sag repair` keeps what can be read") from error


def _packed(rows: Sequence[tuple[object, ...]]) -> bytes:
    names = [*columns_of().split(", "), "digest"]
    table = pa.table({name: [row[n] for row in rows] for n, name in enumerate(names)})
    with BytesIO() as out:
        pq.write_table(table, out, compression="zstd")
        return out.getvalue()
