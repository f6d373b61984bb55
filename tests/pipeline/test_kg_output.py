"""Knowledge graphs in the form of kg_output.json."""

import json

import pytest

from sag_pipeline.extract.triples import read_triples
from sag_pipeline.importers.knowledge_graph import (
    clean_graph,
    events_of_graph,
    export_graph,
    kg_documents,
    merge_graphs,
    outermost_json,
)
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.records import Event, Key
from tests.support.golden import recorded


def cases(name):
    return recorded(name)["cases"]


def renamed(graph):
    """A graph with entities numbered as they come, and without aliases."""
    number = {entity["id"]: place for place, entity in enumerate(graph["entities"])}
    return {
        **graph,
        "entities": [{k: e[k] for k in ("name", "type", "properties")} for e in graph["entities"]],
        "relations": sorted(graph["relations"], key=lambda r: r["type"]),
        "triples": [{**t, "head_id": number[t["head_id"]], "tail_id": number[t["tail_id"]]} for t in graph["triples"]],
    }


def test_merging_is_as_recorded_up_to_the_names_of_ids():
    for case in cases("kg_merge"):
        assert renamed(merge_graphs(case["kg_list"])) == renamed(case["merged"]), case


@pytest.mark.parametrize("case", cases("kg_json_extract"), ids=lambda c: c["text"][:20])
def test_the_outermost_object_is_read_as_recorded(case):
    if case["ok"]:
        assert outermost_json(case["text"]) == case["value"]
    else:
        with pytest.raises(SourceError):
            outermost_json(case["text"])


def a_graph(document, *triples):
    return {"doc_id": document, "triples": [dict(zip(("head", "relation", "tail"), t, strict=True)) for t in triples]}


def test_ids_stay_when_a_document_joins():
    one = merge_graphs([a_graph("b", ("Acme", "owns", "Bolt"))])
    more = merge_graphs([a_graph("a", ("Coil", "owns", "Acme")), a_graph("b", ("Acme", "owns", "Bolt"))])

    ids = {entity["name"]: entity["id"] for entity in more["entities"]}
    assert all(ids[entity["name"]] == entity["id"] for entity in one["entities"])


def test_spellings_of_one_name_are_one_entity_with_aliases():
    merged = merge_graphs([a_graph("a", ("Ａcme", "owns", "Bolt"), ("ACME", "owns", "Coil"))])

    assert [(e["name"], e["aliases"]) for e in merged["entities"][:1]] == [("Ａcme", ["ACME"])]


def test_a_triple_belongs_to_the_document_it_was_read_from():
    graph = a_graph("true", ("Acme", "owns", "Bolt"))
    graph["triples"][0]["doc_id"] = "invented"

    assert merge_graphs([clean_graph(graph, "true")])["triples"][0]["doc_id"] == "true"


def test_what_a_model_gets_wrong_is_cleaned():
    graph = a_graph("d", ("Acme", "Owns-All OF", "Bolt"), ("Acme", "", "Bolt"), ("Acme", "paid", "$3 million"))
    graph["entities"] = [{"name": "12%"}, {"name": "Acme"}]

    cleaned = clean_graph(graph, "d")

    assert [(t["head"], t["relation"], t["tail"]) for t in cleaned["triples"]] == [("Acme", "owns_all_of", "Bolt")]
    assert cleaned["entities"] == [{"name": "Acme"}]


def test_what_is_exported_can_be_imported_again():
    event = Event("e", "d1", "c", 0, "…", "t")
    keys = [Key("k1", "person", "Ada"), Key("k2", "organisation", "苹果公司")]
    triples = read_triples(event, keys, [["Ada", "founded", "苹果公司"], ["Ada", "met", "Bob"]])

    graph = export_graph(triples, {key.key_id: key.key_type for key in keys})
    events = events_of_graph(json.loads(json.dumps(graph)))

    assert [e.triples for e in events["d1"]] == [(("Ada", "founded", "苹果公司"),), (("Ada", "met", "Bob"),)]
    assert events["d1"][0].keys == (("person", "Ada"), ("organisation", "苹果公司"))
    assert [e.content for e in events["d1"]] == ["Adafounded苹果公司。", "Ada met Bob."]


def test_ends_have_the_names_and_types_of_entities_by_id_and_by_name():
    """A `kg_output.json` as Think-on-Graph describes it: entities apart, triples with ids or names."""
    graph = {
        "entities": [
            {"id": "e1", "name": "海澜能源公司", "type": "Organization"},
            {"id": "e2", "name": "沈若溪", "type": "Person"},
            {"id": 3, "name": "澜湾", "type": "Location"},
        ],
        "triples": [
            {"head": "e2", "relation": "创立", "tail": "e1", "doc_id": 7},
            {"head": "海澜能源公司", "relation": "位于", "tail_id": 3, "doc_id": 7},
            {"head": "沈博士", "head_id": "e2", "relation": "认识", "tail": "e9", "doc_id": 7},
        ],
    }

    founded, lies, knows = events_of_graph(graph)["7"]

    assert founded.content == "沈若溪创立海澜能源公司。"
    assert founded.triples == (("沈若溪", "创立", "海澜能源公司"),)
    assert [key_type for key_type, _ in founded.keys + lies.keys] == ["person", "organisation", "organisation", "place"]
    assert knows.keys == (("person", "沈博士"), ("entity", "e9"))
    assert [event.unnamed for event in (founded, lies, knows)] == [0, 0, 1]


def test_aliases_of_entities_are_other_names_of_their_keys(tmp_path):
    source = tmp_path / "kg_output.json"
    entities = [
        {"id": "e1", "name": "NHL", "type": "Organization", "aliases": ["National Hockey League"]},
        {"id": "e2"},
    ]
    triple = {"head": "NHL", "relation": "led by", "tail": "Bettman", "doc_id": "d"}
    source.write_text(json.dumps({"entities": entities, "triples": [triple]}))

    (document,) = kg_documents(source)

    nhl, bettman = json.loads(document.line())["events"][0]["keys"]
    assert nhl == {"type": "organisation", "value": "NHL", "same_as": ["National Hockey League"]}
    assert "same_as" not in bettman


def test_an_end_called_by_another_name_of_its_entity_has_its_type():
    graph = {
        "entities": [{"id": "e1", "name": "International Business Machines", "type": "Company", "aliases": ["IBM"]}]
    }
    graph["triples"] = [{"head": "IBM", "relation": "founded_in", "tail": "Endicott", "doc_id": 1}]

    (event,) = events_of_graph(graph)["1"]

    assert event.keys[0] == ("organisation", "IBM")
    assert event.content == "IBM founded in Endicott."


def test_a_graph_of_one_document_is_cleaned_by_the_names_of_its_ids():
    graph = {"entities": [{"id": "e1", "name": "12%"}, {"id": "e2", "name": "Acme", "type": "Company"}]}
    graph["triples"] = [
        {"head": "e2", "relation": "grew", "tail": "e1"},
        {"head": "e2", "relation": "Buys", "tail": "B"},
    ]

    merged = merge_graphs([clean_graph(graph, "d")])

    assert [(t["head"], t["head_type"], t["relation"]) for t in merged["triples"]] == [("Acme", "Company", "buys")]


def test_a_file_that_is_no_graph_says_so():
    with pytest.raises(SourceError, match="triples"):
        events_of_graph({"nodes": []})
    with pytest.raises(SourceError, match="none of 1 triples has head, relation, tail and `doc_id`"):
        events_of_graph({"triples": [{"head": "a", "relation": "b", "tail": "c"}]})
