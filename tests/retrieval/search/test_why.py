import pytest

from sag_retrieval.search.explain import explain_hit, held_words
from sag_retrieval.search.method import Query
from sag_retrieval.search.registry import method_entry


def reasons(index, question):
    ranking = method_entry("sag").make()(index, Query(question, explain=True))
    titles = index.rows["documents"]["title"].take(index.arrays.chunk_document[ranking.chunks]).to_pylist()
    return dict(zip(titles, (way["why"] for way in ranking.trace["hits"]), strict=True))


def test_a_passage_reached_by_a_bridge_says_who_else_names_the_key(corpus):
    why = reasons(corpus, "Where did the singer of Hello Love die?")["Hank Snow"]

    assert why.startswith("found because it names ")
    assert "which “Hello Love” also names" in why
    assert why.endswith("“die” of the question")


def test_a_chinese_question_is_answered_in_chinese(corpus):
    why = reasons(corpus, "云南农业公司收购的公司由谁创立？")["昆明种子公司"]

    assert why.startswith("找到它，因为它提到了")
    assert "《云南农业公司》也提到了" in why
    assert why.endswith("。")


def test_a_key_that_the_question_names_is_said_to_be_named():
    key = {"value": "Hank Snow"}
    way = {"key": key, "seed_key": key | {"reason": "named: hank snow"}}

    found = explain_hit(way, "Where did Hank Snow die?", "", ["hank", "snow", "die"])

    assert found == "found because it names Hank Snow, which the question names, and has “die” of the question"


def test_a_key_beside_a_seed_key_names_both():
    way = {"key": {"value": "Marlow"}, "seed_key": {"value": "Kestrel", "reason": "like the query"}}

    assert explain_hit(way, "x", "", []) == "found because it names Marlow, which stands in one statement with Kestrel"


@pytest.mark.parametrize(
    ("question", "text"),
    [("who", "found because it reads like the question"), ("谁", "找到它，因为它与问题的文字相近。")],
)
def test_a_passage_without_a_shared_key_or_word_reads_like_the_question(question, text):
    assert explain_hit({}, question, "", []) == text


def test_a_passage_of_a_document_that_was_found_says_so():
    way = {"bridge": {"over": {"value": "Recall"}, "is_beside": True}}

    assert (
        explain_hit(way, "x", "Recall", []) == "found because it stands in “Recall” like another passage that was found"
    )


def test_chinese_words_are_the_longest_shared_pieces(corpus):
    title = corpus.rows["documents"]["title"].to_pylist()
    chunk = title.index("昆明种子公司")

    words = held_words(corpus.arrays, "谁创立了昆明种子公司？", chunk)

    assert "昆明种子公司" in words
    assert not any("谁" in word for word in words)
