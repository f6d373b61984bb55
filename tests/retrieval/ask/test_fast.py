"""Fast answers: each part answered by sentences that state what it expects, or the closest passages, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.ask.answer import NOT_FOUND
from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.quotable import points, quotable
from tests.support.overlap_search import OverlapSearch

CHUNKS = [
    (
        "acme.md",
        "Acme Pumps",
        "# Acme Pumps\n\nAcme Pumps makes pumps. Ann Lee founded Acme Pumps in 2009.\n\n"  # noqa: ISC004  one text
        "In 2021 Acme Pumps founded the joint venture Tide Works. The net profit of Acme Pumps was $5 million.",
    ),
    (
        "bolt.md",
        "Bolt Seals",
        "Bolt Seals makes seals. The net profit of Bolt Seals was $7 million. It has 40 workers.",
    ),
    ("lee.md", "Ann Lee", "Ann Lee was born in Graz. Before that she studied in Bern."),
    (
        "晨星.md",
        "晨星公司",
        "# 晨星公司\n\n晨星公司制造水泵。林月在2009年创建了晨星公司。\n\n晨星公司的净利润为五百万元。工厂于2021年3月在杭州投产。",
    ),
    ("远帆.md", "远帆公司", "远帆公司制造船帆。远帆公司的净利润为700万元。"),
]
TEXT = {document: text for document, _, text in CHUNKS}


def fast(question, chunks=CHUNKS):
    return ask(OverlapSearch(chunks), question)


def quotes(answer):
    return [citation.quote for citation in answer.citations]


@pytest.mark.parametrize(
    ("question", "says", "document"),
    [
        ("Who founded Acme Pumps?", "Ann Lee founded Acme Pumps in 2009.", "acme.md"),
        ("谁创建了晨星公司？", "林月在2009年创建了晨星公司。", "晨星.md"),
        ("What was the net profit of Bolt Seals?", "The net profit of Bolt Seals was $7 million.", "bolt.md"),
        ("远帆公司的净利润是多少？", "远帆公司的净利润为700万元。", "远帆.md"),
        ("晨星公司的工厂哪一年投产？", "工厂于2021年3月在杭州投产。", "晨星.md"),
    ],
)
def test_the_sentence_that_states_the_expected_kind_comes_first(question, says, document):
    answer = fast(question)

    assert answer.is_found
    assert answer.citations[0].quote == says
    assert answer.citations[0].document_id == document


def test_what_a_named_thing_did_itself_is_not_what_was_done_to_it():
    answer = fast("Who founded Acme Pumps?")

    assert not any("joint venture" in quote for quote in quotes(answer)[:1])


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("Which firm had the higher net profit, Acme Pumps or Bolt Seals?", {"acme.md", "bolt.md"}),
        ("Who founded Acme Pumps, and what was the net profit of Bolt Seals?", {"acme.md", "bolt.md"}),
        ("谁创建了晨星公司？远帆公司的净利润是多少？", {"晨星.md", "远帆.md"}),
    ],
)
def test_each_part_and_each_named_thing_is_answered_from_its_own_document(question, documents):
    answer = fast(question)

    assert answer.is_found
    assert {citation.document_id for citation in answer.citations} == documents


def test_a_part_without_an_answer_is_named_in_the_notes():
    answer = fast("Who founded Acme Pumps, and how many dentists live in Reykjavik?")

    assert answer.is_found
    assert any("how many dentists live in Reykjavik?" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("question", "language"),
    [("How many engineers did Acme Pumps hire in Norway?", "en"), ("晨星公司在挪威雇了多少工程师？", "zh")],
)
def test_what_is_not_stated_is_refused_and_the_closest_passages_are_marked(question, language):
    answer = fast(question)

    assert not answer.is_found
    assert answer.text.startswith(NOT_FOUND[language])
    assert all(quote in TEXT[c.document_id] for quote, c in zip(quotes(answer), answer.citations, strict=True))


def test_a_pronoun_brings_the_sentence_that_holds_its_name():
    texts = [sentence.text for sentence in quotable(0, TEXT["bolt.md"], "Bolt Seals")]

    assert "It has 40 workers." not in texts
    assert "Bolt Seals makes seals. The net profit of Bolt Seals was $7 million." in texts
    assert any(text.endswith("It has 40 workers.") and not points(text) for text in texts)


def test_headings_and_the_title_are_never_quoted():
    text = "# Acme Pumps\n\nAcme Pumps\n\nAcme Pumps makes pumps.\n\n| firm | profit |\n|---|---|\n| Acme | 5 million |"

    texts = [sentence.text for sentence in quotable(0, text, "Acme Pumps")]

    assert all("# Acme" not in each and each != "Acme Pumps" and "firm | profit" not in each for each in texts)
    assert any("makes pumps" in each for each in texts)


@given(
    st.lists(
        st.sampled_from(
            ["Ann Lee founded it.", "Acme grew in 2021.", "# Acme", "他在北京。", "林月创建了公司。", "It fell:"]
        ),
        max_size=8,
    ).map("\n".join)
)
def test_quotable_stretches_are_cut_from_the_text_and_none_is_a_heading(text):
    for sentence in quotable(0, text, "Title"):
        assert text[sentence.start : sentence.end] == sentence.text
        assert not sentence.text.startswith("#")


@given(st.text(alphabet="who found Acme Pumps?谁创建了晨星公司多少 ", min_size=1, max_size=40).filter(str.strip))
def test_every_quotation_stands_at_its_place_and_the_same_question_gives_the_same_answer(question):
    answer = fast(question)

    # the search of these tests places document number n at character 100 n
    offsets = {document: 100 * row for row, (document, _, _) in enumerate(CHUNKS)}
    for citation in answer.citations:
        start = offsets[citation.document_id]
        assert TEXT[citation.document_id][citation.start - start : citation.end - start] == citation.quote
    assert fast(question).text == answer.text
