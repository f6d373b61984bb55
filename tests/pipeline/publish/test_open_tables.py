"""A release's tables opened by DuckDB, pandas and polars alone, and formulas in SQL that are those of the engine."""

import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyarrow.fs import S3FileSystem, copy_files

from sag_retrieval import open_release
from sag_retrieval.clusters.events import event_table
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import cosines, weigh_edges
from sag_retrieval.release.manifest import Manifest
from sag_retrieval.release.reader import verify_release
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import TABLES, VIEWS
from sag_retrieval.release.vectors import open_database, projected
from tests.pipeline.publish.histories import Home, Made
from tests.pipeline.publish.test_histories import FIRST, long
from tests.support.buckets import KEY_ID, SECRET, environment_of, new_bucket, s3_server
from tests.support.sql_tables import open_tables, plain_rows, rows_of_views

ALONE = """
import json, sys, duckdb
folder, *names = sys.argv[1:]
with duckdb.connect(f"{folder}/release.duckdb", read_only=True, config={"file_search_path": folder}) as tables:
    print(json.dumps({name: tables.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in names}))
assert not any(name.startswith("sag") for name in sys.modules)
"""
CHANGES = ({"海.md": long(3)}, {"b.md": long(5), "first.md": Made((((4, 2),),), 4)}, {"last.md": None})


def home_in_layers(folder, *, is_dense=True, is_indexed=False):
    """A home whose release has layers, after changes and a removal."""
    made = Home(folder, is_dense=is_dense)
    made.embedding = replace(made.embedding, is_indexed=is_indexed)
    made.put(FIRST)
    assert not made.publish().faults
    for change in CHANGES:
        made.put({name: one for name, one in change.items() if one})
        made.remove([name for name, one in change.items() if not one])
        assert not made.publish().faults
    return made


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return home_in_layers(tmp_path_factory.mktemp("tables") / "home", is_indexed=True)


@pytest.fixture(scope="module")
def words_home(tmp_path_factory):
    """The same with vectors of words."""
    return home_in_layers(tmp_path_factory.mktemp("words") / "home", is_dense=False, is_indexed=True)


@pytest.fixture(params=["dense", "words"])
def either(request):
    """One of both."""
    return request.getfixturevalue("home" if request.param == "dense" else "words_home")


def read_alone(folder, cwd):
    command = [sys.executable, "-I", "-c", ALONE, str(folder), *TABLES]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout)
    return {name: [tuple(row) for row in rows] for name, rows in found.items()}


def test_a_moved_release_gives_duckdb_alone_the_rows_of_the_public_face_whole_and_in_layers(home, tmp_path):
    with home.opened() as release:
        assert len(release.manifest.layer_counts) > 1
        wanted = plain_rows(release.index.rows)
        shutil.copytree(release.path, tmp_path / "moved")
    home.whole(tmp_path / "whole")

    assert read_alone(tmp_path / "moved", "/") == wanted
    assert read_alone(tmp_path / "whole", "/") == wanted


FOLDER = """
import json, sys, duckdb, lancedb, pandas, polars
folder = sys.argv[1]
lance = lancedb.connect(f"{folder}/lance")
tables = duckdb.connect(f"{folder}/release.duckdb", read_only=True, config={"file_search_path": folder})
"""
BUCKET = """
import functools, json, os, sys, duckdb, lancedb, pandas, polars
from fsspec.implementations.arrow import ArrowFSWrapper
from pyarrow.fs import S3FileSystem
class S3(ArrowFSWrapper):
    protocol = "s3"
    info = functools.cache(ArrowFSWrapper.info)  # DuckDB asks for a file of a view each time that it is named
folder, files = sys.argv[1], S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], scheme="http")
lance = lancedb.connect(f"{folder}/lance", storage_options={"allow_http": "true"})
tables = duckdb.connect()
tables.execute("SET enable_progress_bar = false")  # a slow machine shows one, on standard output
tables.register_filesystem(S3(files))
with files.open_input_file(folder.removeprefix("s3://") + "/tables/views.sql") as sql:
    views = sql.read().decode().replace("'tables/", f"'{folder}/tables/").replace("'*/", f"'{folder}/*/")
tables.execute(views)
"""
TEN = """
ask = lambda query, *values: tables.execute(query, values).fetchall()
((event, document),) = ask("SELECT event_id, document_id FROM events ORDER BY 1 LIMIT 1")
((key,),) = ask("SELECT key_id FROM keys WHERE value_string IS NOT NULL ORDER BY event_count DESC, 1 LIMIT 1")
events, where = lance.open_table("events"), f"event_id = '{event}'"
vector = events.search().where(where).select(["vector"]).to_pandas()["vector"][0]
near = events.search(vector).distance_type("dot").limit(4).select(["event_id", "_distance"]).to_pandas()
held = pandas.DataFrame(events.to_pandas()[["event_id", "document_id"]])
frame = polars.from_arrow(lance.open_table("keys").to_arrow())
print(json.dumps({
    "nearest": ask("SELECT d.document_id, d.title FROM near JOIN events USING (event_id) JOIN documents d "
                   "USING (document_id) ORDER BY _distance, event_id LIMIT 1"),
    "idf": ask("SELECT key_id, round(idf, 6) FROM idf ORDER BY 1"),
    "together": ask("SELECT key_id, events FROM neighbours_of_key(?) ORDER BY 1", key),
    "by year": ask("SELECT date[:4], count(*) FROM events WHERE date IS NOT NULL GROUP BY 1 ORDER BY 1"),
    "sums": ask("SELECT header, unit, sum(number) FROM tables WHERE number IS NOT NULL GROUP BY ALL ORDER BY ALL"),
    "alike": ask("SELECT event_id, round(weight, 6) FROM neighbours_of_event(?) ORDER BY 1", event),
    "types": sorted(frame.group_by("key_type").len().rows()),
    "filtered": sorted(lance.open_table("chunks").search().where(f"document_id = '{document}'").to_pandas()["chunk_id"]),
    "languages": ask("SELECT language, count(*) FROM documents GROUP BY 1 ORDER BY 1"),
    "joined": ask("SELECT held.document_id, count(*) FROM held JOIN event_keys USING (event_id) GROUP BY 1 ORDER BY 1"),
}))
assert not any(name.startswith("sag") for name in sys.modules)
"""


def ask_alone(opening, folder, environment=None):
    command = [sys.executable, "-I", "-c", opening + TEN, folder]
    environment = {**os.environ, **(environment or {})}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", env=environment)
    return json.loads(done.stdout.splitlines()[-1])  # a slow query shows its progress before


def ten_answers(release):
    """What the public face says to the same ten queries."""
    rows = {name: release.table(name) for name in TABLES}
    event = rows["events"].sort_values("event_id").iloc[0]
    text = rows["keys"][rows["keys"]["value_string"].notna()]
    key = text.sort_values(["event_count", "key_id"], ascending=[False, True]).iloc[0]["key_id"]
    links = rows["event_keys"].merge(rows["keys"])
    with_key = links[links["event_id"].isin(links[links["key_id"] == key]["event_id"]) & (links["key_id"] != key)]
    own = links[links["event_id"] == event["event_id"]]["key_id"]
    alike = links[links["key_id"].isin(own) & (links["event_id"] != event["event_id"])].groupby("event_id")["idf"].sum()
    dated, cells = rows["events"]["date"].dropna().str[:4], rows["tables"].dropna(subset="number")
    query = "SELECT title FROM documents WHERE document_id = '{}'".format(event["document_id"].replace("'", "''"))
    return {
        "nearest": [[event["document_id"], release.sql(query).rows[0]["title"]]],
        "idf": rows["keys"].sort_values("key_id")[["key_id", "idf"]].round(6).to_numpy().tolist(),
        "together": [[*each] for each in with_key.groupby("key_id").size().items()],
        "by year": [[*each] for each in dated.groupby(dated).size().items()],
        "sums": [[*names, total] for names, total in cells.groupby(["header", "unit"])["number"].sum().items()],
        "alike": [[*each] for each in alike.round(6).items()],
        "types": [[*each] for each in text.groupby("key_type").size().items()],
        "filtered": sorted(rows["chunks"].query("document_id == @event.document_id")["chunk_id"]),
        "languages": [[*each] for each in rows["documents"].groupby("language").size().items()],
        "joined": [[*each] for each in rows["event_keys"].merge(rows["events"]).groupby("document_id").size().items()],
    }


@pytest.mark.slow
def test_ten_queries_of_duckdb_lancedb_pandas_and_polars_alone_are_answered_as_by_the_public_face(home, tmp_path):
    home.whole(tmp_path / "whole")
    with home.opened() as release:
        assert len(release.manifest.layer_counts) > 1
        wanted = json.loads(json.dumps(ten_answers(release)))
        shutil.copytree(release.path, tmp_path / "moved")
    for folder in ("moved", "whole"):
        assert ask_alone(FOLDER, str(tmp_path / folder)) == wanted


@pytest.mark.slow
def test_a_release_that_was_copied_to_a_bucket_answers_the_ten_queries(home):
    with home.opened() as release, s3_server() as address:
        wanted, bucket = json.loads(json.dumps(ten_answers(release))), new_bucket(address)
        keys = {"access_key": KEY_ID, "secret_key": SECRET, "endpoint_override": address, "scheme": "http"}
        copy_files(str(release.path), f"{bucket}/release", destination_filesystem=S3FileSystem(**keys))
        assert ask_alone(BUCKET, f"s3://{bucket}/release", environment_of(address)) == wanted


@pytest.mark.slow
def test_the_file_is_read_in_its_folder_while_the_next_release_is_published(tmp_path, monkeypatch):
    home = home_in_layers(tmp_path / "with, a comma [0]" / "home")
    with home.opened() as release:
        monkeypatch.chdir(release.path)
        wanted = plain_rows(release.index.rows)
    lance = open_database("lance")
    with duckdb.connect("release.duckdb", read_only=True) as tables:
        home.put({"n.md": long(8)})
        assert not home.publish().faults
        assert rows_of_views(tables) == wanted
        assert sorted(lance.open_table("events").to_arrow()["event_id"].to_pylist()) == sorted(
            row[0] for row in wanted["events"]
        )
    with home.opened() as release, duckdb.connect(release.path / "release.duckdb", read_only=True) as tables:
        monkeypatch.chdir(release.path)
        assert "n.md" in {row[0] for row in tables.sql("FROM documents").fetchall()}
        assert verify_release(release.path) == []


def test_the_views_of_a_later_layer_are_those_before_by_a_link_and_damage_is_found(home, tmp_path):
    folders = sorted((home.folder / "releases").glob("r*"), key=lambda path: len(Manifest.read(path).layer_counts))
    assert folders[-1].joinpath("release.duckdb").stat().st_nlink > 1
    copied = shutil.copytree(folders[-1], tmp_path / folders[-1].name)
    bytes_ = bytearray(copied.joinpath("release.duckdb").read_bytes())
    bytes_[20_000] ^= 1
    copied.joinpath("release.duckdb").write_bytes(bytes_)

    assert [fault.file for fault in verify_release(copied)] == ["release.duckdb"]


def test_parquet_files_of_one_layer_are_the_tables(home, tmp_path):
    home.whole(tmp_path / "whole")
    with home.opened(tmp_path / "whole") as release:
        read = pd.read_parquet(release.paths["parquet"] / "events")
        assert read["event_id"].tolist() == release.table("events")["event_id"].tolist()
        assert pl.read_parquet(release.paths["parquet"] / "keys/*.parquet").height == release.tables["keys"]


def test_cells_of_the_tables_of_documents_are_rows_in_every_layer(home):
    with home.opened() as release, open_tables(release.path) as tables:
        query = "SELECT document_id, number, unit, text FROM tables WHERE header = 'Cost (EUR)' ORDER BY document_id"
        wanted = sorted((name, float(made.seed), "EUR", str(made.seed)) for name, made in home.kept.items())
        assert tables.sql(query).fetchall() == wanted
        assert [tuple(row.values()) for row in release.sql(query).rows] == wanted


def lance_rows(folder, name):
    """The rows of a Lance table of a release by id, and their vectors."""
    rows = open_database(folder / "lance").open_table(name).to_pandas().set_index(f"{name[:-1]}_id").sort_index()
    return rows.drop(columns=["vector", "vector_id"]), np.stack(rows["vector"])


def test_lance_alone_has_the_rows_of_every_release_with_their_vectors(either):
    folders = [found.folder for found in Releases(either.folder).found()]
    assert len(folders) > 2
    for folder, name in itertools.product(folders, ("chunks", "events", "keys")):
        with either.opened(folder) as release:
            wanted = release.table(name).set_index(f"{name[:-1]}_id").sort_index()
            wanted = wanted[wanted["value_string"].notna()] if name == "keys" else wanted
            rows, vectors = lance_rows(folder, name)
            pd.testing.assert_frame_equal(rows, wanted[rows.columns], check_dtype=False)
            place = {key: row for row, key in enumerate(release.index.rows[name].column(0).to_pylist())}
            own = release.index.arrays.vectors[name].take(np.array([place[key] for key in rows.index], np.int32))
            assert np.array_equal(vectors, own if either.is_dense else projected(own))


def test_words_are_found_by_lance_in_english_and_chinese_where_an_index_was_asked_for(either):
    with either.opened() as release:
        rows = release.table("chunks")
        chunks = open_database(release.path / "lance").open_table("chunks")
    assert any("text" in index.columns for index in chunks.list_indices())
    for words, held in {"浮标": "浮标", "公司": "公司", "crate": "crates", "Harbour": "harbour"}.items():
        found = chunks.search(words, query_type="fts").limit(len(rows)).to_pandas()
        assert {*found["chunk_id"]} == {*rows[rows["text"].str.contains(held)]["chunk_id"]} != set()


def test_every_view_and_every_column_of_a_table_says_what_it_holds(home):
    with home.opened() as release, open_tables(release.path) as tables:
        views = dict(tables.sql("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").fetchall())
        silent = tables.sql(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal"
        ).fetchall()
    assert views == VIEWS
    assert [(table, column) for table, column in silent if table in TABLES] == []


def test_idf_weights_and_neighbours_are_those_of_the_engine(home):
    with home.opened() as release, open_tables(release.path) as tables:
        keys, arrays = release.table("keys").set_index("key_id"), release.index.arrays
        found = dict(tables.sql("SELECT key_id, idf FROM idf").fetchall())
        assert found == pytest.approx(keys["idf"].to_dict(), abs=1e-6)
        weights = tables.sql("SELECT key_id, any_value(weight) FROM event_key_weights GROUP BY 1").fetchall()
        assert dict(weights) == pytest.approx({key: found[key] for key, _ in weights}, abs=1e-6)

        incidence = arrays.event_keys.links
        weight = keys["idf"].to_numpy()[: incidence.shape[1]]
        events, ids = release.table("events")["event_id"].tolist(), keys.index.tolist()
        together = (incidence.T @ incidence).toarray()
        shared = (incidence * weight @ incidence.T).toarray()
        for row in range(0, incidence.shape[1], 5):
            near = tables.execute("SELECT key_id, events FROM neighbours_of_key(?)", [ids[row]]).fetchall()
            wanted = {ids[n]: together[row, n] for n in np.flatnonzero(together[row]) if n != row}
            assert dict(near) == wanted
        for row in range(0, len(events), 7):
            near = tables.execute("SELECT event_id, weight FROM neighbours_of_event(?)", [events[row]]).fetchall()
            carried = incidence[[row]] @ incidence.T
            wanted = {events[n]: shared[row, n] for n in carried.indices if n != row}
            assert dict(near) == pytest.approx(wanted, abs=1e-6)


def followed(tables, alpha):
    """The weight of every pair as docs/algorithm/reports.md §reports.1 says, but for the cosine."""
    rows = tables.sql("SELECT event_id FROM events").fetchall()
    carried = {event: set() for (event,) in rows}
    ties = "value_bool IS NULL AND key_type <> 'title' AND NOT regexp_full_match(coalesce(value_string, ''), ?)"
    links = f"SELECT event_id, key_id FROM event_keys JOIN keys USING (key_id) WHERE {ties}"
    for event, key in tables.execute(links, [r"\d{4}(-\d\d)?"]).fetchall():
        carried[event].add(key)
    count = Counter(itertools.chain(*carried.values()))
    idf = {key: math.log(len(rows) / n) for key, n in count.items() if n <= max(10, len(rows) / 2)}
    pairs = list(itertools.combinations(sorted(carried), 2))
    shared = [sum(idf.get(key, 0) for key in carried[one] & carried[other]) for one, other in pairs]
    mean, deviation = statistics.fmean(shared), statistics.pstdev(shared)
    return {
        frozenset(pair): (weight, alpha / (1 + math.exp(-(weight - mean) / deviation)))
        for pair, weight in zip(pairs, shared, strict=True)
    }


@pytest.mark.slow
def test_ties_of_two_events_are_those_of_the_engine_and_of_the_page(demo_home):
    options = ClusterOptions(pairs="all", threshold=-1)
    with open_release(demo_home) as release, open_tables(release.path) as tables:
        events = event_table(release.index)
        assert tables.sql("FROM event_keys JOIN keys USING (key_id) WHERE value_bool IS NOT NULL LIMIT 1").fetchall()
        wanted, edges = followed(tables, options.alpha), weigh_edges(events, options)
        assert len(wanted) == len(edges.weight)
        cosine = cosines(events.vectors, edges.left, edges.right)
        ids = np.array(events.event_ids)
        pairs = list(zip(ids[edges.left].tolist(), ids[edges.right].tolist(), edges.weight, cosine, strict=True))
        for one, other, weight, near in pairs:
            _, of_keys = wanted[frozenset((one, other))]
            assert of_keys + (1 - options.alpha) * near == pytest.approx(weight, abs=1e-6)
        for one, other, weight, near in pairs[::997]:
            found = tables.execute("SELECT shared, weight FROM tie(?, ?, ?)", [one, other, float(near)]).fetchone()
            assert found == pytest.approx((wanted[frozenset((one, other))][0], weight), abs=1e-6)
