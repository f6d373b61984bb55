"""Triples from events and keys, and from raw lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.rules.relations import derive_triples
from sag_pipeline.extract.triples import (
    is_entity,
    read_triples,
    relation_name,
)
from sag_retrieval.core.records import Event, EventKey, Key, make_id
from sag_retrieval.language.words import normal_name


def an_event(content, event_id="e1", document_id="d1"):
    return Event(event_id, document_id, "c1", 0, content, "A title")


def a_key(key_type, value):
    return Key(make_id("k", key_type, normal_name(value)), key_type, value_string=value)


def links(event, *keys):
    return [EventKey(event.document_id, event.event_id, key) for key in keys]


def test_an_action_key_is_the_relation_and_no_end():
    event = an_event("Helios bought Raven for a lot of money after many long months of talks.")
    keys = links(event, a_key("organisation", "Helios"), a_key("action", "Buys out"), a_key("organisation", "Raven"))

    assert [(t.head, t.relation, t.tail) for t in derive_triples("d1", [event], keys)] == [
        ("Helios", "buys_out", "Raven")
    ]


def test_numbers_flags_lone_keys_and_other_documents_give_no_triple():
    event, other = an_event("Alice paid."), an_event("x", "e2", "d2")
    number = Key("n1", "amount", value_number=3.0)
    keys = [
        *links(event, a_key("person", "Alice"), number),
        *links(other, a_key("person", "B"), a_key("place", "C")),
    ]

    assert derive_triples("d1", [event, other], keys) == []


def test_two_keys_with_one_name_are_not_related_to_each_other():
    event = an_event("Alice rests.")
    keys = links(event, a_key("person", "Alice"), a_key("title", "ALICE"))

    assert derive_triples("d1", [event], keys) == []


@given(
    st.lists(
        st.tuples(st.sampled_from(["person", "place", "title", "action", "topic"]), st.text(max_size=8)),
        max_size=6,
    ),
    st.text(max_size=40),
)
def test_derived_triples_are_stable_distinct_and_end_in_keys_of_the_event(parts, content):
    event = an_event(content)
    keys = links(event, *(a_key(kind, value) for kind, value in parts))

    once, again = (derive_triples("d1", [event], keys) for _ in range(2))

    assert once == again
    assert len({t.triple_id for t in once}) == len(once)
    assert {t.head_key_id for t in once} | {t.tail_key_id for t in once} <= {link.key.key_id for link in keys}
    assert all(normal_name(t.head) != normal_name(t.tail) and t.relation for t in once)


def test_raw_triples_are_cleaned_and_point_to_the_keys_of_their_event():
    event, oslo = an_event("…"), a_key("place", "Oslo")
    raw = [
        ["Alice", "Lives-In", "OSLO"],
        ["alice", "lives in", "Oslo"],
        {"head": "Alice", "relation": "born", "tail": "1999"},
        ["Alice", "paid", "$3.5 million"],
        ["Alice", "", "Oslo"],
        ["Alice", "is", "Alice"],
        ["only", "two"],
        "text",
        None,
        ["Alice", ["a"], "Oslo"],
    ]

    found = read_triples(event, [oslo], raw)

    assert [(t.head, t.relation, t.tail) for t in found] == [
        ("Alice", "lives_in", "OSLO"),
        ("Alice", "born", "1999"),
    ]
    assert found[0].tail_key_id == oslo.key_id
    assert found[0].head_key_id == make_id("k", "entity", "alice")


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "12",
        "3.5%",
        "$4,000",
        "20 million dollars",
        "5％",
        "３００",
        "1,200元",
        "约30万元",
        "7 billion",
    ],
)
def test_a_bare_amount_is_no_end(name):
    assert not is_entity(name)


@pytest.mark.parametrize("name", ["1998", "2024", "Boeing 747", "Area 51", "第三季度", "3M", "9/11 attacks", "苹果"])
def test_a_name_with_a_number_or_a_year_is_an_end(name):
    assert is_entity(name)


@given(st.text(max_size=30))
def test_the_form_of_a_relation_is_final(text):
    assert relation_name(relation_name(text)) == relation_name(text)
