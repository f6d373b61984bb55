"""A small release database, with the tables, rows and numbers that publishing writes."""

import json

import duckdb
import pytest

from sag_retrieval.language.words import normal_name
from sag_retrieval.release.sandbox import SandboxOptions, SqlSandbox
from sag_retrieval.release.schema import TABLES
from tests.support.graph_parts import graph_parts
from tests.support.sql_tables import tables_of

DOCUMENTS = [
    ("d0", "Apple", "en", {"user_id": "1", "year": 2020, "ok": True, "tags": ["fruit", "tech"], "a b": "x"}),
    ("d1", "苹果公司", "zh", {"user_id": "2", "year": 2021.5, "ok": False, "nested": {"deep": "y"}}),
    ("d2", 'Pear\'s "best"', "en", {"user_id": None, "year": "2020"}),
    ("d3", "No events", "en", {}),
]
EVENTS = [
    ("e0", "d0", "c0", 0, "Ada founded Apple", "2020-05-01"),
    ("e1", "d0", "c0", 1, "Apple grew by 3", "2021"),
    ("e2", "d0", "c1", 0, "Bob left", None),
    ("e3", "d1", "c2", 0, "苹果公司成立", "2021-12"),
    ("e4", "d2", "c3", 0, "Pears ripen", "2019-01-01"),
]
CHUNKS = [("c0", "d0", 0), ("c1", "d0", 1), ("c2", "d1", 0), ("c3", "d2", 0), ("c4", "d3", 0)]
KEYS = [
    ("k0", "person", "Ada Lovelace", None, None),
    ("k1", "amount", None, 3.0, None),
    ("k2", "amount", None, 1.0, None),
    ("k3", "flag", None, None, True),
    ("k4", "person", "Bob", None, None),
    ("k5", "date", "2021-12-24", None, None),
    ("k6", "amount", "three", None, None),
    ("k7", "topic", "chunk main", None, None),
]
LINKS = [("e0", "k0"), ("e1", "k1"), ("e2", "k4"), ("e2", "k2"), ("e3", "k3"), ("e3", "k5"), ("e4", "k6")]


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("release") / "sag.duckdb"
    connection = duckdb.connect(str(path))
    for table, rows in _tables().items():
        connection.execute(f"CREATE TABLE {table} ({_columns(table)})")
        for row in rows:
            places = ", ".join("?" for _ in row)
            given = ", ".join(f'"{name}"' for name in row)
            connection.execute(f"INSERT INTO {table} ({given}) VALUES ({places})", list(row.values()))
    connection.close()
    return path


@pytest.fixture(scope="session")
def sandbox(database):
    opened = SqlSandbox(tables_of(database), options=SandboxOptions(seconds=3.0))
    tables = tables_of(database)
    opened.places = graph_parts(tables)
    yield opened
    opened.close()


def _columns(table):
    kinds = {"string": "VARCHAR", "double": "DOUBLE", "bool": "BOOLEAN", "int32": "INTEGER"}
    columns = [f'"{field.name}" {kinds[str(field.type)]}' for field in TABLES[table]]
    numbers = {"documents": ["row"], "chunks": ["row", "document_row"], "keys": ["row"]}
    numbers["events"] = ["row", "chunk_row", "document_row"]
    return ", ".join([*(f'"{name}" INTEGER' for name in numbers.get(table, [])), *columns])


def _tables():
    document_row = {d[0]: row for row, d in enumerate(DOCUMENTS)}
    chunk_row = {c[0]: row for row, c in enumerate(CHUNKS)}
    return {
        "documents": [
            {"row": row, "document_id": d, "source": "s", "title": title, "language": language,
             "text": title * 3, "summary": "", "metadata": json.dumps(metadata), "version": "v",
             "char_count": len(title) * 3}
            for row, (d, title, language, metadata) in enumerate(DOCUMENTS)
        ],
        "chunks": [
            {"row": row, "chunk_id": c, "document_id": d, "chunk_index": i, "text": c,
             "document_row": document_row[d]}
            for row, (c, d, i) in enumerate(CHUNKS)
        ],
        "events": [
            {"row": row, "event_id": e, "document_id": d, "chunk_id": c, "event_index": i, "content": content,
             "title": DOCUMENTS[document_row[d]][1], "date": date, "chunk_row": chunk_row[c],
             "document_row": document_row[d]}
            for row, (e, d, c, i, content, date) in enumerate(EVENTS)
        ],
        "keys": [
            {"row": row, "key_id": k, "key_type": kind, "value_string": text, "value_number": number,
             "value_bool": flag, "name": normal_name(text) if text else ""}
            for row, (k, kind, text, number, flag) in enumerate(KEYS)
        ],
        "event_keys": [{"event_id": e, "key_id": k} for e, k in LINKS],
        "chunk_keys": [
            *({"chunk_id": next(x[2] for x in EVENTS if x[0] == e), "key_id": k, "count": 1, "is_main": False}
              for e, k in LINKS),
            {"chunk_id": "c1", "key_id": "k7", "count": 1, "is_main": True},
        ],
        "sections": [],
        "triples": [],
        "key_aliases": [],
    }  # fmt: skip
