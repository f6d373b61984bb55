from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.search.explain import explain_hit
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.options import SAG, Formula
from sag_retrieval.search.rank import add_bridges, build_bridges, choose_starts, document_rarity
from tests.retrieval.search.conftest import Doc


def row_of(index, title):
    return index.rows["documents"]["title"].to_pylist().index(title)


def bridges_from(index, title, question, length=1.0, **changes):
    scores = np.zeros(index.arrays.chunk_count)
    scores[row_of(index, title)] = 1.0
    terms = index.arrays.terms.numbers(question)
    return build_bridges(index, scores, terms, length, replace(SAG, formula=Formula(**changes)), None)


def test_a_bridge_leads_over_a_shared_name_to_the_chunk_about_it(corpus):
    found = bridges_from(corpus, "Hello Love", "Where did the singer of Hello Love die?")

    assert found.ends.tolist() == [row_of(corpus, "Hank Snow")]
    assert found.starts.tolist() == [row_of(corpus, "Hello Love")]
    assert corpus.rows["keys"]["name"][int(found.keys[0])].as_py() == "hank snow"


def test_a_chinese_bridge_works_the_same(corpus):
    found = bridges_from(corpus, "云南农业公司", "云南农业公司收购的公司由谁创立？")

    assert found.ends.tolist() == [row_of(corpus, "昆明种子公司")]


def test_an_end_with_new_query_words_gains_more(corpus):
    helpful = bridges_from(corpus, "Hello Love", "Where did the singer of Hello Love die?")
    useless = bridges_from(corpus, "Hello Love", "Hello Love")

    assert helpful.gains[0] > useless.gains[0]
    assert useless.gains[0] > 0


def test_without_a_floor_an_end_without_new_words_gains_nothing(corpus):
    assert bridges_from(corpus, "Hello Love", "Hello Love", bridge_floor=0.0).gains.tolist() == [0]


def test_a_bridge_lifts_its_end_to_less_than_its_start_and_only_the_limit_decides(corpus):
    scores = np.zeros(corpus.arrays.chunk_count)
    scores[row_of(corpus, "Hello Love")] = 1.0
    end = row_of(corpus, "Hank Snow")
    reading = parse_query(corpus, Query("Where did the singer of Hello Love die?"))

    def lifted(limit, own=0.0):
        _, added = add_bridges(
            corpus, reading, np.where(scores > 0, 1.0, own), 1.0, replace(SAG, formula=Formula(bridge_limit=limit))
        )
        return added[end]

    assert 0.5 < lifted(9.0) < 1
    assert lifted(0.5) == pytest.approx(0.5)
    assert lifted(0.9, own=0.95) == 0


@pytest.mark.parametrize(("question", "is_free"), [("What did Birch Bank buy?", True), ("Who was hired?", False)])
def test_the_chunks_of_a_document_that_the_query_names_complete_one_another(long_corpus, question, is_free):
    scores = np.linspace(1, 0.9, long_corpus.arrays.chunk_count)
    reading = parse_query(long_corpus, Query(question))

    _, added = add_bridges(long_corpus, reading, scores, 4.0, SAG)

    assert added.any()
    assert bool((scores + added > 1 + 1e-9).any()) is is_free


def test_where_no_subject_is_named_a_chunk_that_holds_all_words_of_the_query_starts_no_bridge(long_corpus):
    reading = parse_query(long_corpus, Query("Who was hired?"))
    held = long_corpus.arrays.chunk_text.scores(reading.terms)

    for scores, is_needed in ((1 + held, False), (1 - held / held.max(), True)):
        assert add_bridges(long_corpus, reading, scores / scores.max(), 4.0, SAG)[1].any() == is_needed


def test_a_chunk_about_the_shared_name_gains_twice_what_a_passing_mention_does(corpus):
    towards_subject = bridges_from(corpus, "Hello Love", "x", bridge_floor=1.0).gains[0]
    back = bridges_from(corpus, "Hank Snow", "x", bridge_floor=1.0)

    passing = back.gains[back.ends.tolist().index(row_of(corpus, "Hello Love"))]
    assert towards_subject == pytest.approx(2 * passing)


def test_in_long_documents_a_passing_mention_gains_less(corpus):
    short = bridges_from(corpus, "Hank Snow", "x", bridge_floor=1.0)
    long = bridges_from(corpus, "Hank Snow", "x", length=4.0, bridge_floor=1.0)

    place = short.ends.tolist().index(row_of(corpus, "Hello Love"))
    assert long.gains[place] == pytest.approx(short.gains[place] / 4 / 4)


def test_in_long_documents_an_end_without_new_words_gains_less(corpus):
    short = bridges_from(corpus, "Hello Love", "Hello Love")
    long = bridges_from(corpus, "Hello Love", "Hello Love", length=4.0)

    assert long.gains == pytest.approx(short.gains / 4)


def test_a_name_of_too_many_documents_builds_no_bridge(corpus):
    assert bridges_from(corpus, "Hello Love", "die", bridge_documents=1).ends.tolist() == []


def test_bridges_end_only_where_it_is_allowed(corpus):
    scores = np.zeros(corpus.arrays.chunk_count)
    scores[row_of(corpus, "Hello Love")] = 1.0
    allowed = np.ones(corpus.arrays.chunk_count, bool)
    allowed[row_of(corpus, "Hank Snow")] = False

    assert build_bridges(corpus, scores, {}, 1.0, SAG, allowed).ends.tolist() == []


def test_no_scores_no_bridges(corpus):
    nothing = np.zeros(corpus.arrays.chunk_count)

    assert build_bridges(corpus, nothing, {}, 1.0, SAG, None).ends.tolist() == []


def test_a_bridge_ends_in_every_chunk_at_most_once(long_corpus):
    scores = np.linspace(1, 0.1, long_corpus.arrays.chunk_count)

    found = build_bridges(long_corpus, scores, {}, 1.0, SAG, None)

    assert len(set(found.ends.tolist())) == len(found.ends) > 0
    assert np.all(np.diff(found.ends) > 0)


def test_starts_are_the_best_chunks_but_few_of_one_document():
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.0])
    document = np.array([0, 0, 0, 1, 2, 3])

    starts = choose_starts(
        scores, document, replace(SAG, formula=Formula(bridge_starts=4, bridge_starts_per_document=2))
    )

    assert starts.tolist() == [0, 1, 3, 4]


@given(st.integers(2, 10_000), st.data())
def test_rarity_falls_from_one_to_zero_with_documents(count, data):
    frequency = np.array(sorted(data.draw(st.lists(st.integers(1, count), min_size=1))))

    found = document_rarity(frequency, count)

    assert np.all(np.diff(found) <= 0)
    assert document_rarity(np.array([1, count]), count) == pytest.approx([1, 0], abs=1e-12)


def test_in_a_single_document_every_key_is_as_rare():
    assert document_rarity(np.array([1, 1]), 1).tolist() == [1, 1]


def test_no_bridge_and_no_hop_leads_over_a_flag(corpus):
    keys = corpus.rows["keys"]
    row = keys["name"].to_pylist().index("hank snow")
    flags = pa.array([True if each == row else None for each in range(len(keys))], pa.bool_())
    flagged = keys.set_column(keys.schema.get_field_index("value_bool"), "value_bool", flags)

    index = replace(corpus, rows=corpus.rows | {"keys": flagged})

    assert bridges_from(index, "Hello Love", "Where did the singer of Hello Love die?").ends.tolist() == []
    assert not index.leads[row]


def test_no_bridge_leads_over_what_most_of_many_documents_share(build):
    documents = [Doc(f"Ship {n}", [[(f"Ship {n} sails for Norddeich.", ["Norddeich"])]]) for n in range(12)]

    shared, few = (build([*documents[:count], Doc("Quay", [[("The quay is wet.", ["Quay"])]])]) for count in (12, 6))

    assert bridges_from(shared, "Ship 1", "Norddeich").ends.tolist() == []
    assert len(bridges_from(few, "Ship 1", "Norddeich").ends) == 5


def test_a_flag_is_no_reason_for_a_hit():
    way = {"bridge": {"over": {"value": True, "unit": None}}, "key": {"value": True}, "seed_key": {"value": True}}

    assert explain_hit(way, "Who made it?", "Recall", ["made"]) == "found because it has “made” of the question"
