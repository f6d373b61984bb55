"""What the SQL door lets through, and what it refuses."""

import re
import threading

import duckdb
import pytest

from sag_retrieval.core.errors import FilterError
from sag_retrieval.release.sandbox import LONGEST, SandboxOptions, SqlSandbox, check_sql
from tests.support.sql_tables import ids_of, tables_of

LET_THROUGH = [
    ("SELECT event_id FROM events", "event_id", "e0 e1 e2 e3 e4"),
    ("select EVENT_ID from EVENTS where event_index > 0;", "event_id", "e1"),
    ("SELECT document_id FROM documents WHERE language = 'zh'", "document_id", "d1"),
    ("SELECT chunk_id FROM chunks WHERE chunk_index = 1", "chunk_id", "c1"),
    (
        "SELECT e.event_id FROM events e JOIN documents d USING (document_id) WHERE d.title ~ 'App'",
        "event_id",
        "e0 e1 e2",
    ),
    (
        "SELECT event_id FROM event_keys JOIN keys USING (key_id) WHERE value_number > 2",
        "event_id",
        "e1",
    ),
    (
        "WITH a AS (SELECT document_id FROM events GROUP BY 1 HAVING count(*) > 1), b AS (FROM a) FROM b",
        "document_id",
        "d0",
    ),
    (
        "SELECT event_id FROM events WHERE chunk_id IN (SELECT chunk_id FROM chunk_keys WHERE is_main)",
        "event_id",
        "e2",
    ),
    (
        "FROM events e SELECT event_id WHERE EXISTS (FROM event_keys WHERE event_id = e.event_id AND key_id = 'k3')",
        "event_id",
        "e3",
    ),
    (
        "SELECT event_id FROM events WHERE date > '2021' UNION FROM events SELECT event_id WHERE date IS NULL",
        "event_id",
        "e2 e3",
    ),
    ("SELECT document_id FROM documents WHERE metadata->>'$.year' = '2020'", "document_id", "d0 d2"),
    (
        "SELECT document_id FROM documents WHERE CAST(metadata->>'$.year' AS DOUBLE) BETWEEN 2021 AND 2022",
        "document_id",
        "d1",
    ),
    (
        "SELECT event_id FROM (FROM events SELECT event_id, rank() OVER (ORDER BY event_id DESC) n) WHERE n = 1",
        "event_id",
        "e4",
    ),
    ("(SELECT event_id FROM main.events ORDER BY event_id LIMIT 2)", "event_id", "e0 e1"),
    ("-- first\nSELECT event_id /* ids */ FROM events WHERE content = '苹果公司成立'", "event_id", "e3"),
    (
        "FROM events SELECT event_id WHERE CASE WHEN event_index = 1 THEN TRUE ELSE FALSE END",
        "event_id",
        "e1",
    ),
    ("SELECT NULL AS event_id FROM events", "event_id", ""),
    ("SELECT 'not there' AS chunk_id", "chunk_id", ""),
]

CONDITIONS = [
    ("title = 'Apple'", "e0 e1 e2"),
    ("language = 'zh' OR date < '2020'", "e3 e4"),
    ("documents.title = 'Apple' AND events.event_index = 0", "e0 e2"),
    ("metadata->>'$.user_id' = '2'", "e3"),
    ("content ILIKE '%apple%' -- a comment", "e0 e1"),
    ("event_id IN (SELECT event_id FROM event_keys WHERE key_id = 'k0')", "e0"),
    ("TRUE", "e0 e1 e2 e3 e4"),
    ("(char_count > 12)", "e0 e1 e2 e4"),
    ("document_id = 'd1'", "e3"),
    ("content = 'a''b; DROP TABLE events --'", ""),
]


@pytest.mark.parametrize(("sql", "kind", "ids"), LET_THROUGH)
def test_a_single_select_names_ids(sandbox, sql, kind, ids):
    assert ids_of(sandbox, sql) == (kind, tuple(ids.split()))


@pytest.mark.parametrize(("sql", "ids"), CONDITIONS)
def test_a_bare_condition_names_the_events_it_holds_for(sandbox, sql, ids):
    assert ids_of(sandbox, sql) == ("event_id", tuple(ids.split()))


WRITES = """
DROP TABLE events
DELETE FROM events
UPDATE events SET content = ''
INSERT INTO events SELECT * FROM events
CREATE TABLE x AS SELECT 1
CREATE TEMP TABLE x AS SELECT 1
CREATE VIEW v AS SELECT 1
CREATE OR REPLACE MACRO lower(x) AS 1
CREATE SCHEMA s
CREATE SEQUENCE s
CREATE TYPE t AS ENUM ('a')
CREATE SECRET s (TYPE s3)
CREATE INDEX i ON events (event_id)
ALTER TABLE events ADD COLUMN x INT
TRUNCATE events
MERGE INTO events USING documents ON TRUE WHEN MATCHED THEN DELETE
WITH d AS (DELETE FROM events RETURNING event_id) SELECT event_id FROM d
WITH d AS (INSERT INTO events SELECT * FROM events RETURNING event_id) SELECT event_id FROM d
WITH d AS (UPDATE events SET content = '' RETURNING event_id) SELECT event_id FROM d
SELECT event_id FROM events; DROP TABLE events
SELECT event_id FROM events; SELECT event_id FROM events
;SELECT event_id FROM events; DELETE FROM events;
TRUE; DROP TABLE events
TRUE) ; DROP TABLE events --
BEGIN TRANSACTION
COMMIT
ROLLBACK
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
""".strip().splitlines()

FILES = """
SELECT event_id FROM 'events.csv'
SELECT event_id FROM '/etc/passwd'
SELECT event_id FROM "/etc/passwd"
SELECT event_id FROM read_csv('/etc/passwd')
SELECT event_id FROM read_csv_auto('x')
SELECT content AS event_id FROM read_text('/etc/passwd')
SELECT content AS event_id FROM read_blob('*')
SELECT event_id FROM read_parquet('x.parquet')
SELECT event_id FROM parquet_scan('x')
SELECT event_id FROM parquet_metadata('x')
SELECT event_id FROM read_json('x')
SELECT event_id FROM read_json_auto('x')
SELECT event_id FROM read_ndjson_objects('x')
SELECT file AS event_id FROM glob('*')
SELECT event_id FROM sniff_csv('x')
SELECT event_id FROM 's3://bucket/x.parquet'
SELECT event_id FROM 'https://127.0.0.1/x.csv'
SELECT event_id FROM read_text('http://127.0.0.1/')
COPY events TO 'x.csv'
COPY (SELECT event_id FROM events) TO 'x.csv'
COPY events FROM 'x.csv'
EXPORT DATABASE 'x'
IMPORT DATABASE 'x'
ATTACH 'x.duckdb' AS x
ATTACH ':memory:' AS x
DETACH main
USE main
SELECT event_id FROM x.main.events
SELECT event_id FROM sqlite_scan('x', 'y')
SELECT event_id FROM postgres_scan('x', 'y', 'z')
SELECT event_id FROM mysql_query('x', 'y')
INSTALL httpfs
LOAD httpfs
INSTALL 'x.duckdb_extension'
event_id IN (SELECT content FROM read_text('/etc/passwd'))
event_id = (SELECT file FROM glob('/*') LIMIT 1)
TRUE) UNION SELECT content FROM read_text('/etc/passwd') WHERE (TRUE
TRUE) UNION ALL (SELECT file FROM glob('*')
WITH x AS (SELECT content FROM read_text('/etc/passwd')) SELECT content AS event_id FROM x
WITH "a.csv" AS (SELECT * FROM "a.csv") SELECT event_id FROM "a.csv"
WITH a AS (SELECT event_id FROM b), b AS (SELECT event_id FROM events) SELECT event_id FROM a
SELECT event_id FROM (WITH hidden AS (SELECT 1) SELECT event_id FROM events), hidden
SELECT event_id FROM events, LATERAL read_text(content)
SELECT event_id FROM events POSITIONAL JOIN 'x.csv'
""".strip().splitlines()

SETTINGS = """
SET threads = 64
SET enable_external_access = true
SET lock_configuration = false
RESET threads
PRAGMA database_list
PRAGMA memory_limit = '1TB'
PRAGMA enable_profiling
CALL duckdb_settings()
CALL pragma_version()
SELECT name AS event_id FROM duckdb_settings()
SELECT sql AS event_id FROM duckdb_tables()
SELECT path AS event_id FROM duckdb_databases()
SELECT name AS event_id FROM duckdb_secrets()
SELECT extension_name AS event_id FROM duckdb_extensions()
SELECT name AS event_id FROM pragma_database_list()
SELECT table_name AS event_id FROM information_schema.tables
SELECT name AS event_id FROM sqlite_master
SELECT relname AS event_id FROM pg_catalog.pg_class
SELECT event_id FROM calls
SELECT event_id FROM secret_table
SHOW TABLES
SHOW ALL TABLES
DESCRIBE events
SUMMARIZE events
SELECT event_id FROM (SHOW TABLES)
SELECT event_id FROM (DESCRIBE events)
SELECT column_name AS event_id FROM (SUMMARIZE events)
EXPLAIN SELECT event_id FROM events
EXPLAIN ANALYZE SELECT event_id FROM events
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
SELECT getenv('HOME') AS event_id
SELECT current_setting('threads') AS event_id
SELECT getvariable('x') AS event_id
SET VARIABLE x = 1
SELECT current_user AS event_id
SELECT current_database() AS event_id
SELECT version() AS event_id
SELECT event_id FROM query('SELECT event_id FROM events')
SELECT event_id FROM query_table('events')
SELECT nextval('s') AS event_id
SELECT set_config('x', 'y', false) AS event_id
SELECT write_log('x') AS event_id
SELECT pg_typeof(1) AS event_id
SELECT main.lower('x') AS event_id
SELECT system.main.lower('x') AS event_id
SELECT json_execute_serialized_sql('{}') AS event_id
SELECT event_id FROM json_execute_serialized_sql('{}')
SELECT json_serialize_sql('SELECT 1') AS event_id
SELECT event_id FROM events WHERE content = $1
SELECT event_id FROM events WHERE content = ?
SELECT event_id FROM events WHERE content = $name
SELECT 'x'::regclass AS event_id
SELECT CAST('x' AS ENUM ('x')) AS event_id
""".strip().splitlines()

COSTLY = """
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT n AS event_id FROM r
SELECT range AS event_id FROM range(1000000000000)
SELECT unnest(range(1000000000)) AS event_id
SELECT event_id FROM generate_series(1, 100000000000)
SELECT repeat('x', 1000000000) AS event_id
SELECT lpad('x', 2000000000, 'y') AS event_id
SELECT rpad('x', 2000000000, 'y') AS event_id
SELECT replace(content, 'a', repeat('b', 999999999)) AS event_id FROM events
SELECT string_agg(content, content) AS event_id FROM events
SELECT list(event_id) AS event_id FROM events
SELECT list_transform([1], lambda x: x) AS event_id
SELECT [x FOR x IN [1, 2]] AS event_id
SELECT {'a': 1} AS event_id
SELECT MAP {'a': 1} AS event_id
SELECT format('{:999999999}', 'x') AS event_id
SELECT printf('%999999999s', 'x') AS event_id
SELECT bar(1, 0, 1, 1000000000) AS event_id
SELECT random() AS event_id
SELECT uuid() AS event_id
SELECT gen_random_uuid() AS event_id
SELECT now() AS event_id
SELECT current_date AS event_id
SELECT CURRENT_TIMESTAMP AS event_id
SELECT today() AS event_id
SELECT sleep_ms(100000) AS event_id
SELECT event_id FROM events USING SAMPLE 1
SELECT event_id FROM events TABLESAMPLE 10 PERCENT
SELECT event_id FROM events AT (VERSION => 1)
PIVOT events ON title USING count(*)
FROM events PIVOT (count(*) FOR title IN ('Apple'))
FROM events UNPIVOT (event_id FOR name IN (content, title))
SELECT COLUMNS('event.*') FROM events
SELECT COLUMNS(*) FROM events
SELECT #1 AS event_id
SELECT md5(content) AS event_id FROM events
SELECT hash(content) AS event_id FROM events
""".strip().splitlines()

SHAPES = """
SELECT content FROM events
SELECT * FROM events
SELECT event_id, chunk_id FROM events
SELECT key_id FROM keys
FROM events
TABLE events
VALUES ('e0')
SELECT 1
SELECT
SELECT event_id FROM
SELECT event_id FROM nowhere
SELECT nothing AS event_id FROM events
title = 'Apple' ORDER BY title
title = 'Apple' LIMIT 1
title = 'Apple', TRUE
TRUE AS yes
TRUE FROM events
nothing = 1
title =
content
(
)
'
"
/*
$$
SELECT event_id FROM events WHERE
SELECT event_id FROM events WHERE content = 'a' AND
SELECT event_id FROM events GROUP BY content HAVING
event_id = 1 / 0 AND CAST(content AS INTEGER) = 1
""".strip().splitlines()


def test_anything_else_is_refused_with_a_reason(sandbox):
    refused = [(sql, _refusal(sandbox, sql)) for sql in [*WRITES, *FILES, *SETTINGS, *COSTLY, *SHAPES]]

    assert [sql for sql, reason in refused if not re.search(r"\w+ .+", reason)] == []


def _refusal(sandbox, sql):
    """Why a condition is refused; empty if it is not."""
    try:
        ids_of(sandbox, sql)
    except FilterError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   \n",
        "title = '" + "x" * LONGEST + "'",
        "(" * 300 + "FALSE" + ")" * 300,
        "NOT " * 900 + "TRUE",
        "1" + "+1" * 1500 + " = 1",
        "TRUE\x00; DROP TABLE events",
        "title = '\ud800'",
        "SELECT event_id FROM events WHERE " + "(SELECT " * 60 + "1" + ")" * 60 + " = 1",
    ],
    ids=["empty", "blank", "long", "brackets", "nots", "sum", "zero byte", "half a character", "subqueries"],
)
def test_text_out_of_bounds_is_refused_or_harmless(sandbox, sql):
    try:
        ids = ids_of(sandbox, sql)[1]
    except FilterError:
        ids = ()

    assert ids == ()


def test_the_attacks_are_many_and_left_no_trace(sandbox, database):
    ids_of(sandbox, "TRUE")
    sandbox.close = lambda: None

    assert len([*WRITES, *FILES, *SETTINGS, *COSTLY]) >= 150
    assert ids_of(sandbox, "SELECT event_id FROM events")[1] == ("e0", "e1", "e2", "e3", "e4")
    assert ids_of(sandbox, "SELECT document_id FROM documents")[1] == ("d0", "d1", "d2", "d3")
    assert not database.with_suffix(".duckdb.wal").exists()


def test_a_python_variable_is_no_table(sandbox):
    calls = duckdb.sql("SELECT 'x' AS event_id")

    with pytest.raises(FilterError, match="'calls'"):
        ids_of(sandbox, "SELECT event_id FROM calls")
    assert calls is not None


def test_a_query_that_takes_too_long_is_broken_off(database):
    sandbox = SqlSandbox(tables_of(database), options=SandboxOptions(seconds=0.2))
    many = ", ".join(f"events AS e{i}" for i in range(14))

    with pytest.raises(FilterError, match=r"longer than 0\.2 s"):
        ids_of(sandbox, f"SELECT e0.event_id FROM {many} WHERE e0.content || e13.content = 'x'")
    sandbox.close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("titel = 'Apple'", "there is no column 'titel'; did you mean 'title'?"),
        ("SELECT event_id FROM events WHERE chunk = 'c0'", "events has event_id, "),
        ("SELECT k.name_of FROM keys AS k", "keys has key_id, "),
    ],
)
def test_an_unknown_column_is_named_with_those_that_there_are(sandbox, sql, said):
    with pytest.raises(FilterError) as refused:
        ids_of(sandbox, sql)

    assert said in str(refused.value)
    assert "Binder" not in str(refused.value)


def test_a_table_is_opened_when_a_query_first_names_it(database):
    tables, opened = tables_of(database), []

    class Counted(dict):
        def __getitem__(self, name):
            opened.append(name)
            return super().__getitem__(name)

    sandbox = SqlSandbox(Counted(tables))
    (named,) = sandbox.named("SELECT document_id FROM documents", None)
    assert named.rows.tolist() == [0, 1, 2, 3]
    assert sandbox.select('SELECT count(*) AS n FROM main."DOCUMENTS"').to_pylist() == [{"n": 4}]

    assert opened == ["documents"]


def test_what_runs_is_what_was_checked():
    checked = check_sql("select/**/event_id from EVENTS -- end")

    assert checked.sql == "SELECT event_id FROM EVENTS"


def test_a_name_of_keys_is_put_in_terms_of_tables():
    def checked(sql):
        return check_sql(sql, lambda name: {"Ada": ["k1", "k2"], "O'Hara": ["k3"]}.get(name, [])).sql

    assert "key_id IN ('k1', 'k2')" in checked("SELECT event_id FROM events WHERE NOT Has_Key('Ada') AND date > '2020'")
    assert "key_id IN ('k3')" in checked("has_key('O''Hara')")
    assert "false" in checked("has_key('nobody') OR title = 'x'").lower()
    for wrong in ("has_key()", "has_key(content)", "has_key('a', 'b')", "has_key(1)", "has_key(NULL)"):
        with pytest.raises(FilterError, match="takes one name in quotes"):
            checked(wrong)


def test_threads_share_a_door(sandbox):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(ids_of(sandbox, "language = 'en'"))) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [("event_id", ("e0", "e1", "e2", "e4"))] * 8
