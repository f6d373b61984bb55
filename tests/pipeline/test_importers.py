"""Foreign extractions become documents with given events."""

import json
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sag_pipeline.importers.command import given_documents, import_command, import_file
from sag_pipeline.importers.knowledge_graph import graphrag_documents, lightrag_documents
from sag_pipeline.importers.records import as_triple, event_documents, listed, openie_documents, read_rows, statement
from sag_retrieval.core.errors import SourceError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not beside the project")


def test_triples_of_a_passage_are_events_and_left_over_entities_keys_of_their_sentence():
    row = {
        "doc_id": "p1",
        "title": "Ada",
        "text": "Ada was born in London. She met Charles Babbage in 1833.",
        "entities": ["Ada", "London", "Charles Babbage", "Nobody"],
        "triples": '[["Ada", "was born in", "London"], ["broken"], ["Ada", "", "x"]]',
    }

    (document,) = openie_documents([row])

    assert [event.content for event in document.events] == [
        "Ada was born in London.",
        "She met Charles Babbage in 1833.",
    ]
    assert document.events[0].keys == (("entity", "Ada"), ("entity", "London"))
    assert document.events[0].triples == (("Ada", "was_born_in", "London"),)
    assert document.events[1].keys == (("entity", "Charles Babbage"),)
    assert document.left_out == {"broken triple": 2}


def test_texts_may_stand_in_another_file_and_passages_without_one_are_left_out():
    rows = [{"idx": 0, "extracted_entities": ["张角"], "extracted_triples": [["张角", "遇到", "南华老仙"]]}, {"idx": 1}]

    (document,) = openie_documents(rows, {"0": {"title": "三国", "text": "张角遇到南华老仙。"}})

    assert (document.document_id, document.title) == ("0", "三国")
    assert document.events[0].content == "张角遇到南华老仙。"


def test_dates_among_names_are_date_keys_and_bare_amounts_are_none():
    row = {"text": "x", "triples": [["Apple", "was founded on", "April 1, 1976"], ["Apple", "sold", "500"]]}

    (document,) = openie_documents([row])

    assert document.events[0].keys == (("entity", "Apple"), ("date", "1976-04-01"))
    assert document.events[1].keys == (("entity", "Apple"),)


def test_event_records_keep_their_events_and_tie_triples_to_the_event_that_holds_both_ends():
    row = {
        "id": "c1",
        "text": "张角入山采药，遇一老人。",
        "events": json.dumps(
            [{"Event": "张角入山采药", "Entity": ["张角"]}, {"Event": "张角遇一老人", "Entity": ["张角", "老人"]}]
        ),
        "entity_relations": json.dumps(
            [
                {"Head": "张角", "Relation": "遇到", "Tail": "老人"},
                {"Head": "老人", "Relation": "授予", "Tail": "天书"},
                {"Head": "老人"},
            ]
        ),
    }

    (document,) = event_documents([row])

    assert [(e.content, e.triples) for e in document.events] == [
        ("张角入山采药", ()),
        ("张角遇一老人", (("张角", "遇到", "老人"),)),
        ("老人授予天书。", (("老人", "授予", "天书"),)),
    ]
    assert document.left_out == {"broken triple": 1}


def test_equal_ids_are_counted_up():
    rows = [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}, {"id": "b", "text": " "}]

    assert [document.document_id for document in event_documents(rows)] == ["a", "a#2"]


def _write_graph(folder: Path) -> None:
    tables = {
        "documents": [
            {"id": "d1", "title": "carol.txt", "text": "\ufeffBob works. Fred laughs.", "text_unit_ids": ["u1"]}
        ],
        "text_units": [{"id": "u1", "document_ids": ["d1"], "text": "Bob works."}],
        "entities": [{"title": "BOB", "type": "PERSON", "description": "Bob is a clerk.", "text_unit_ids": ["u1"]}],
        "relationships": [
            {"source": "BOB", "target": "FRED", "description": "Bob knows Fred. " * 30, "text_unit_ids": ["u1", "gone"]}
        ],
    }
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"create_final_{name}.parquet")


def test_graphrag_descriptions_are_events_with_the_spelling_of_the_text(tmp_path: Path):
    _write_graph(tmp_path)

    (document,) = graphrag_documents(tmp_path)

    assert (document.document_id, document.text) == ("carol.txt", "Bob works. Fred laughs.")
    assert [event.content for event in document.events] == ["Bob is a clerk.", "Bob knows Fred."]
    assert document.events[0].keys == (("person", "Bob"),)
    assert document.events[1].keys == (("person", "Bob"), ("entity", "Fred"))
    assert document.events[1].triples == (("Bob", "related_to", "Fred"),)


def test_a_missing_table_is_named(tmp_path: Path):
    _write_graph(tmp_path)
    (tmp_path / "create_final_text_units.parquet").unlink()

    with pytest.raises(SourceError, match="text_units"):
        list(graphrag_documents(tmp_path))


def write_lightrag(folder: Path) -> None:
    """A working folder as LightRAG's default stores write it: networkx's GraphML, and JSON by id."""
    documents = {"doc-1": {"content": "沈若溪创立海澜能源公司。", "file_path": "公司.md"}}
    documents["doc-2"] = {"content": "Anna leads Acme.", "file_path": "unknown_source"}
    chunks = {f"chunk-{n}": {"content": "…", "full_doc_id": f"doc-{n}", "chunk_order_index": 0} for n in (1, 2)}
    for file, rows in (("full_docs", documents), ("text_chunks", chunks)):
        (folder / f"kv_store_{file}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    graph = nx.Graph()
    both = "chunk-1<SEP>chunk-2"
    graph.add_node(
        "海澜能源公司", entity_type="organization", description="海澜能源公司发电。<SEP>一家公司。", source_id=both
    )
    graph.add_node("沈若溪", entity_type="person", description="沈若溪是创始人。", source_id="chunk-1")
    graph.add_node('"ANNA"', entity_type='"PERSON"', description="Anna leads.", source_id="chunk-2")
    graph.add_edge("沈若溪", "海澜能源公司", description="沈若溪创立海澜能源公司。", source_id="chunk-1", weight=1.0)
    nx.write_graphml(graph, folder / "graph_chunk_entity_relation.graphml")


def test_a_working_folder_of_lightrag_gives_typed_statements_by_document(tmp_path: Path):
    write_lightrag(tmp_path)

    first, second = lightrag_documents(tmp_path)

    assert (first.document_id, second.document_id) == ("公司.md", "doc-2")
    assert [event.content for event in first.events] == [
        "海澜能源公司发电。 一家公司。",
        "沈若溪是创始人。",
        "沈若溪创立海澜能源公司。",
    ]
    assert set(first.events[2].keys) == {("person", "沈若溪"), ("organisation", "海澜能源公司")}
    assert [relation for _, relation, _ in first.events[2].triples] == ["related_to"]  # its graph has no direction
    assert second.events[1].keys == (("person", "Anna"),)
    with pytest.raises(SourceError, match="no working folder of LightRAG"):
        list(lightrag_documents(tmp_path.parent))


def test_a_folder_of_hipporag_gives_its_extractions(tmp_path: Path):
    passage = {"idx": "chunk-1", "passage": "Ada\nAda was born in London.", "extracted_entities": ["Ada", "London"]}
    passage["extracted_triples"] = [["Ada", "was born in", "London"]]
    found = {"docs": [passage], "avg_ent_chars": 4.5, "avg_ent_words": 1.0}
    (tmp_path / "index").mkdir()
    (empty := tmp_path / "empty").mkdir()
    (tmp_path / "index" / "openie_results_ner_gpt-4o-mini.json").write_text(json.dumps(found), encoding="utf-8")

    (document,) = given_documents("hipporag", tmp_path)

    assert (document.document_id, document.title) == ("chunk-1", "Ada")
    assert document.events[0].triples == (("Ada", "was_born_in", "London"),)
    with pytest.raises(SourceError, match="holds no openie_results"):
        given_documents("hipporag", empty)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", '{"a": 1}\n\n{"a": 2}\n'),
        ("rows.json", '{"meta": {}, "docs": [{"a": 1}, {"a": 2}]}'),
        ("rows.json", '[{"a": 1}, {"a": 2}]'),
        ("rows.csv", "\ufeffa\n1\n2\n"),
    ],
)
def test_rows_are_read_from_every_form(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content, encoding="utf-8")

    assert [int(row["a"]) for row in read_rows(tmp_path / name)] == [1, 2]


@pytest.mark.parametrize(("name", "content"), [("rows.txt", ""), ("rows.json", "{"), ("rows.parquet", "no")])
def test_files_that_cannot_be_read_are_refused(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content)

    with pytest.raises(SourceError, match=name):
        list(read_rows(tmp_path / name))


@pytest.mark.parametrize("raw", [None, "a", ["a", "b"], ["a", "b", 3], ["a", " ", "c"], {"Head": "a", "Tail": "c"}, 7])
def test_whatever_is_not_three_texts_is_no_triple(raw: object):
    assert as_triple(raw) is None


def test_statements_read_as_their_language_writes_them():
    assert statement(("Ada", "born_in", "London")) == "Ada born in London."
    assert listed("no list") == []


def test_the_command_writes_the_contracts_lines(tmp_path: Path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"id": "c1", "text": "A b.", "events": [{"event": "A b.", "entity": ["A"]}]}\n')

    result = CliRunner().invoke(import_command, ["events", str(source), "--out", str(out), "--json"])

    assert result.exit_code == 0, result.output
    assert json.loads(result.output) == {"out": str(out), "documents": 1, "events": 1, "keys": 1, "triples": 0}
    assert json.loads(out.read_text()) == {
        "id": "c1",
        "title": "",
        "text": "A b.",
        "metadata": {},
        "events": [{"content": "A b.", "keys": [{"type": "entity", "value": "A"}], "triples": []}],
    }


def test_a_failed_import_leaves_no_half_file_and_says_why(tmp_path: Path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"id": "c1", "text": "A b."}\n{broken\n')

    result = CliRunner().invoke(import_command, ["events", str(source), "--out", str(out)])

    assert result.exit_code == 1
    assert "in.jsonl" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    ("form", "source", "documents", "counts"),
    [
        ("openie", "musique_train.extraction.parquet", "musique_train.docs.parquet", (1890, 185)),
        ("events", "atlas_event_extraction.parquet", None, (40, 2)),
    ],
)
def test_recorded_extractions_are_imported_whole(tmp_path: Path, form: str, source: str, documents: str | None, counts):
    found = import_file(form, SHARED / source, tmp_path / "out.jsonl", SHARED / documents if documents else None)

    assert (found["documents"], found["left out: broken triple"]) == counts
    assert found["events"] > 15 * found["documents"] / 2


@needs_shared
def test_a_real_graphrag_output_is_imported_whole(tmp_path: Path):
    for table in ("documents", "text_units", "entities", "relationships"):
        (tmp_path / f"{table}.parquet").symlink_to(SHARED / f"graphrag_carol.{table}.parquet")

    (document,) = graphrag_documents(tmp_path)

    triples = [triple for event in document.events for triple in event.triples]
    assert len(triples) == 978
    assert "Bob Cratchit" in {value for event in document.events for _, value in event.keys}
