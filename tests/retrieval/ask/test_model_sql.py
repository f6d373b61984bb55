"""SQL that a model writes meets the real door: attacks are refused, tables stay, the answer still comes."""

import json
import resource
from dataclasses import dataclass

import duckdb
import pytest

from sag_retrieval.ask import ask
from sag_retrieval.release.sandbox import SqlSandbox
from sag_retrieval.release.schema import TABLES
from tests.support.overlap_search import OverlapSearch
from tests.support.recorded_chat import RecordedChat
from tests.support.sql_tables import ids_of, tables_of

CHUNKS = [("a.md", "Apple", "Ada founded Apple in 2020."), ("b.md", "苹果", "阿达在2020年创立了苹果。")]
ATTACKS = [
    "1=1; DROP TABLE documents",
    "SELECT document_id FROM documents; DELETE FROM chunks",
    "SELECT document_id FROM read_csv('{file}')",
    "COPY documents TO '{file}'",
    "SELECT document_id FROM documents UNION SELECT getenv('HOME')",
    "ATTACH '{file}' AS other",
    "INSTALL httpfs",
    "PRAGMA database_list",
    "SET enable_external_access = true",
    "SELECT '" + "x" * 100_000 + "'",
    "UPDATE documents SET title = 'PWNED'",
    "not sql at all 这不是",
]


@dataclass
class DoorSearch:
    """The search of tests behind the door of a release."""

    sandbox: SqlSandbox
    chunks: OverlapSearch

    def __call__(self, text, keys=(), sql=None, top_k=10):
        found = self.chunks(text, keys, None, top_k)
        if sql is None:
            return found
        _, ids = ids_of(self.sandbox, sql)
        return type(found)(text, tuple(hit for hit in found.hits if hit.document_id in ids), found.keys)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("release") / "sag.duckdb"
    kinds = {"string": "VARCHAR", "double": "DOUBLE", "bool": "BOOLEAN", "int32": "INTEGER"}
    with duckdb.connect(str(path)) as connection:
        for table, schema in TABLES.items():
            columns = ", ".join(f'"{field.name}" {kinds[str(field.type)]}' for field in schema)
            connection.execute(f'CREATE TABLE {table} ("row" INTEGER, {columns})')
        for row, (document, title, _) in enumerate(CHUNKS):
            given = [row, document, title]
            connection.execute('INSERT INTO documents ("row", document_id, title) VALUES (?, ?, ?)', given)
    return path


@pytest.fixture(scope="module")
def search(database):
    sandbox = SqlSandbox(tables_of(database))
    yield DoorSearch(sandbox, OverlapSearch(CHUNKS))
    sandbox.close()


def _chat(question, sql):
    rewrite = json.dumps({"question": question, "keys": [], "sql": sql}, ensure_ascii=False)
    return RecordedChat(rewrite, '{"is_found": true, "answer": "Ada", "cited": [1]}')


def _as_made(sandbox):
    return ids_of(sandbox, "SELECT document_id FROM documents WHERE title IN ('Apple', '苹果')")[1]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack[:30])
def test_an_attack_is_refused_and_the_answer_comes_without_it(search, tmp_path, attack):
    file = tmp_path / "made.csv"
    chat = _chat("Who founded Apple?", attack.format(file=file))

    answer = ask(search, "Who founded Apple?", mode="normal", chat=chat)

    assert answer.text == "Ada [1]"
    assert "refused" in answer.notes[0]
    assert len(answer.notes[0]) < 1000
    assert _as_made(search.sandbox) == ("a.md", "b.md")
    assert not file.exists()


def test_a_restriction_that_needs_all_memory_is_refused_and_takes_none_of_the_program(search):
    lines = [f"a{n} AS (SELECT s || s AS s FROM a{n - 1})" for n in range(1, 31)]
    doubled = f"WITH a0 AS (SELECT title AS s FROM documents), {', '.join(lines)} "
    chat = _chat("Who founded Apple?", f"{doubled} SELECT document_id FROM documents WHERE length(title) < "
                 "(SELECT max(length(s)) FROM a30)")  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    answer = ask(search, "Who founded Apple?", mode="normal", chat=chat)

    assert answer.text == "Ada [1]"
    assert "refused" in answer.notes[0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
    assert _as_made(search.sandbox) == ("a.md", "b.md")


def test_a_sound_restriction_by_the_model_holds(search):
    chat = _chat("2020?", "SELECT document_id FROM documents WHERE title = 'Apple'")

    answer = ask(search, "苹果 2020 Apple", mode="normal", chat=chat)

    assert answer.notes == ()
    assert answer.documents[0] == "a.md"
