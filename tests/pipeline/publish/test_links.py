"""Links are put together as numbers, and say what the tables say as ids."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sag_pipeline.extract.keys import make_key
from sag_pipeline.publish.build import Relational, _shaped, build_tables
from sag_pipeline.publish.distinct_keys import make_links, normal_names
from sag_pipeline.publish.links import Resolution, coded, weighing
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Section
from sag_retrieval.language.words import normal_name
from tests.support.graph_parts import graph_parts
from tests.support.link_tables import with_links

VALUES = ["Lumen Optics", "lumen  optics", "Port Ansel", "苹果公司", "2021"]


@given(st.lists(st.one_of(st.none(), st.text("aZ9 ß'’.－Ａ 苹果\u00e9\ufa0e", max_size=8)), max_size=8))
@example(["New York", "new  york", "苹果 公司", "ÄB", "", None])
def test_many_names_are_folded_as_each_alone(values):
    column = pa.chunked_array([pa.array(values, pa.string())])

    assert normal_names(column).to_pylist() == [normal_name(value) if value else "" for value in values]


def filled(folder, links: list[tuple[int, int]]) -> Store:
    """Two documents with two chunks each of two events; a link is an event's number and a value's."""
    store = Store(folder)
    keys = [make_key("entity", value) for value in VALUES]
    made: dict[str, dict[Pending, StepResult]] = {}
    for d, name in enumerate(("a", "b")):
        pending = Pending(name, "1")
        chunks = [
            Chunk(f"c{name}{c}", name, f"s{name}", c, 0, 9, f"Text of Lumen Optics {c} lumen optics", "")
            for c in (0, 1)
        ]
        events = [
            Event(f"e{9 - n}{name}", name, chunk.chunk_id, n, f"Said {n}.", "")
            for chunk in chunks
            for n in (2 * chunk.chunk_index, 2 * chunk.chunk_index + 1)
        ]
        rows = {
            "documents": [Document(name, "s", "", "Text.", "en", version="1")],
            "summaries": [],
            "sections": [Section(f"s{name}", name, 0, "", "", 0, 9)],
            "chunks": chunks,
            "events": events,
            "keys": [EventKey(name, chunks[0].chunk_id, keys[0])]
            + [EventKey(name, events[e % 4].event_id, keys[v]) for e, v in links if e // 4 == d],
            "triples": [],
        }
        for table, records in rows.items():
            made.setdefault(table, {})[pending] = StepResult(records)
    for table, outcomes in made.items():
        store.commit(StepSpec(table), outcomes)
    store.commit_wholes(make_links(store), "1")
    store.commit_wholes({"idf": weighing(store, "none")}, "1")
    return store


def built(store: Store) -> Relational:
    return build_tables(store, Resolution.read(store))


@pytest.mark.slow
@pytest.mark.no_cover
@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, len(VALUES) - 1)), max_size=14))
def test_links_and_counts_by_row_are_those_of_the_tables(tmp_path_factory, links):
    folder = tmp_path_factory.mktemp("store")
    made = built(filled(folder, links))
    tables = with_links(made, folder / "arrays")

    by_id = graph_parts(tables)
    for field in type(by_id).__dataclass_fields__:
        own, other = getattr(made.parts, field), getattr(by_id, field)
        if field in {"event_keys", "chunk_keys"}:
            assert np.array_equal(own.starts, other.starts), field
            own, other = own.items, other.items
        assert np.array_equal(own, other), field
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        counted = connection.sql(
            "SELECT key_id, count(DISTINCT event_id), count(DISTINCT chunk_id), count(DISTINCT document_id) FROM keys "
            "LEFT JOIN chunk_keys USING (key_id) LEFT JOIN chunks USING (chunk_id) LEFT JOIN event_keys USING (key_id) "
            "GROUP BY 1 ORDER BY 1"
        ).fetchall()
    columns = ("key_id", "event_count", "chunk_count", "document_count")
    assert counted == list(zip(*(tables["keys"][name].to_pylist() for name in columns), strict=True))


def test_a_key_is_counted_where_its_value_stands(tmp_path):
    tables = with_links(built(filled(tmp_path, [(0, 2)])), tmp_path / "arrays")

    names = dict(zip(tables["keys"]["key_id"].to_pylist(), tables["keys"]["value_string"].to_pylist(), strict=True))
    counted = {(row["chunk_id"], names[row["key_id"]]): row for row in tables["chunk_keys"].to_pylist()}
    assert {key: (row["count"], row["is_main"]) for key, row in counted.items()} == {
        ("ca0", "Lumen Optics"): (2, True),
        ("cb0", "Lumen Optics"): (2, True),
        ("ca0", "Port Ansel"): (1, False),
    }


@pytest.mark.parametrize("below", [0.0, 99.0])
def test_what_lies_below_a_null_is_in_no_byte(tmp_path, below):
    keys = built(filled(tmp_path, [])).tables["keys"]
    number = pa.Array.from_buffers(pa.float64(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(np.array([below]))])
    place = keys.column_names.index("value_number")

    shaped = _shaped("keys", keys.slice(0, 1).set_column(place, "value_number", number))

    assert np.frombuffer(shaped["value_number"].chunk(0).buffers()[1], np.float64)[0] == 0.0


def test_more_text_than_an_arrow_array_holds_is_numbered():
    texts = pa.array([f"{number} " + "x" * 100_000 for number in range(200)])

    distinct, codes = coded(pa.chunked_array([texts] * 110))

    assert distinct.to_pylist() == texts.to_pylist()
    assert codes.tolist() == [*range(200)] * 110
    assert [len(each) for each in coded(pa.chunked_array([], pa.string()))] == [0, 0]
