"""Fast answers: each part answered by sentences that state what it expects, or the closest passages, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.ask.answer import CLOSEST_TO, NOT_FOUND, UNSURE
from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.question import question_parts
from sag_retrieval.ask.sentences import quotable_sentences
from sag_retrieval.statements.form import refers_back
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


def test_a_form_of_lower_that_is_a_verb_compares_nothing():
    asked = ["To what did Acme lower the fare?", "Which fare is lower, that of Acme or of Bolt?"]

    assert [[part.kind for part in question_parts(question)] for question in asked] == [["number"], ["comparison"]]


@pytest.mark.parametrize(
    ("question", "says", "document"),
    [
        ("Who founded Acme Pumps?", "Ann Lee founded Acme Pumps in 2009.", "acme.md"),
        (
            "What was the net profit of Bolt Seals?",
            "The net profit of Bolt Seals was $7 million. It has 40 workers.",
            "bolt.md",
        ),
        ("远帆公司的净利润是多少？", "远帆公司的净利润为700万元。", "远帆.md"),
        ("晨星公司的净利润是多少？", "晨星公司的净利润为五百万元。", "晨星.md"),
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
    [("How many pumps did Acme Pumps sell in Norway?", "en"), ("晨星公司在挪威卖了多少台水泵？", "zh")],
)
def test_where_no_sentence_clearly_answers_the_closest_passages_are_shown_as_such(question, language):
    answer = fast(question)

    assert not answer.is_found
    assert answer.citations
    assert answer.text.startswith(UNSURE[language])
    assert all(quote in TEXT[c.document_id] for quote, c in zip(quotes(answer), answer.citations, strict=True))


@pytest.mark.parametrize(
    ("question", "language"), [("Which telescope photographed Saturn?", "en"), ("土星探测器何时升空？", "zh")]
)
def test_what_nothing_comes_close_to_is_said_to_be_not_in_the_documents(question, language):
    answer = fast(question)

    assert not answer.is_found
    assert not answer.citations
    assert answer.text == NOT_FOUND[language]


@pytest.mark.parametrize(
    ("question", "part", "language"),
    [
        (
            "Who founded Acme Pumps, and how many seals of Bolt Seals leaked?",
            "how many seals of Bolt Seals leaked?",
            "en",
        ),
        ("晨星公司的净利润是多少？远帆公司的亏损是多少？", "远帆公司的亏损是多少？", "zh"),
    ],
)
def test_a_part_without_an_answer_shows_its_closest_sentences_after_the_answered_part(question, part, language):
    answer = fast(question)

    assert answer.is_found
    assert CLOSEST_TO[language].format(asked=part) in answer.text
    assert [citation.marker for citation in answer.citations] == list(range(1, len(answer.citations) + 1))
    assert any(part in note for note in answer.notes)


STAFF = [
    ("acme.md", "Acme Pumps", "Acme Pumps was founded in 2009. By the end of 2024 Acme Pumps had 310 employees."),
    ("work.md", "The quay", "Acme Pumps built the quay: ninety-four days of work, two days lost to weather."),
    ("bolt.md", "Bolt Seals", "Bolt Seals employs 130 people in Graz. Most of its seals go to Acme Pumps."),
    ("晨星.md", "晨星公司", "晨星公司成立于2009年。截至2024年底，晨星公司有员工310人。"),
    ("码头.md", "码头", "晨星公司修建了码头：工作九十四天，停工两天。"),
    ("远帆.md", "远帆公司", "远帆公司向晨星公司供货。晨星公司买了三艘船。"),
]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("How many employees does Acme Pumps have?", "By the end of 2024 Acme Pumps had 310 employees."),
        ("晨星公司有多少人？", "截至2024年底，晨星公司有员工310人。"),
        ("晨星公司有多少员工？", "截至2024年底，晨星公司有员工310人。"),
        ("晨星公司买了几艘船？", "晨星公司买了三艘船。"),
    ],
)
def test_a_number_answers_only_where_it_counts_what_is_asked_of_whom(question, says):
    answer = fast(question, STAFF)

    assert answer.is_found
    assert quotes(answer)[0] == says


@pytest.mark.parametrize("question", ["How many ships does Acme Pumps own?", "晨星公司有多少座工厂？"])
def test_the_number_of_something_else_is_no_answer(question):
    assert not fast(question, STAFF).is_found


MONTHS = [
    (
        "acme.md",
        "Acme Pumps 2021",
        "In January Acme Pumps acquired Bolt Seals. In February 2021 Acme Pumps acquired Cog.",
    ),
    ("晨星.md", "晨星公司2021年", "1月晨星公司收购了远帆公司。2021年2月晨星公司收购了长风公司。"),
]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Which company did Acme Pumps acquire in January 2021?", "In January Acme Pumps acquired Bolt Seals."),
        ("晨星公司2021年1月收购了哪家公司？", "1月晨星公司收购了远帆公司。"),
    ],
)
def test_a_month_without_its_year_is_preferred_to_another_month(question, says):
    assert quotes(fast(question, MONTHS))[0] == says


def test_a_pronoun_brings_the_sentence_that_holds_its_name():
    texts = [sentence.text for sentence in quotable_sentences(0, TEXT["bolt.md"], "Bolt Seals")]

    assert "It has 40 workers." not in texts
    assert "The net profit of Bolt Seals was $7 million. It has 40 workers." in texts
    assert any(text.endswith("It has 40 workers.") and not refers_back(text) for text in texts)


def test_headings_and_the_title_are_never_quoted():
    text = "# Acme Pumps\n\nAcme Pumps\n\nAcme Pumps makes pumps.\n\n| firm | profit |\n|---|---|\n| Acme | 5 million |"

    texts = [sentence.text for sentence in quotable_sentences(0, text, "Acme Pumps")]

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
    for sentence in quotable_sentences(0, text, "Title"):
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
