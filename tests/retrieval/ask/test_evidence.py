"""Sentences are chosen for what they say about the question, and cited where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.ask.cited import cite, merge_answers, quoted, support
from sag_retrieval.ask.fast import extractive_answer
from sag_retrieval.ask.passages import merge_hits
from sag_retrieval.ask.question import question_terms
from sag_retrieval.ask.sentences import best_sentences
from tests.support.overlap_search import Found, OverlapSearch

CHUNKS = [
    ("a.md", "Eiffel Tower", "It stands in Paris. It was finished in 1889. Tickets cost money."),
    ("b.md", "苹果公司", "公司总部在加州。乔布斯在1976年创建了苹果公司。它卖手机。"),
    ("c.md", "Paris", "Paris lies on the Seine."),
]
SEARCH = OverlapSearch(CHUNKS)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("When was the Eiffel Tower finished?", "It was finished in 1889."),
        ("谁创建了苹果公司？", "乔布斯在1976年创建了苹果公司。"),
        ("On which river does Paris lie? Seine?", "Paris lies on the Seine."),
    ],
)
def test_the_sentence_that_speaks_to_the_question_comes_first(question, best):
    hits = SEARCH(question).hits

    chosen = best_sentences(question, [hit.text for hit in hits], titles=[hit.title for hit in hits])

    assert chosen[0].text == best
    assert hits[chosen[0].place].text[chosen[0].start : chosen[0].end] == best


def test_a_second_sentence_is_chosen_for_what_the_first_left_open():
    texts = ["Ada met Bob. Ada met Bob again. Carl stayed home."]

    chosen = best_sentences("Did Ada meet Bob, and did Carl stay?", texts, limit=2)

    assert {sentence.text for sentence in chosen} == {"Ada met Bob.", "Carl stayed home."}


def test_words_that_only_ask_are_no_terms():
    assert question_terms("谁是什么？") == frozenset()
    assert question_terms("How many are there?") == frozenset()


@given(
    st.lists(st.text("ab c.。苹果", max_size=30), max_size=4),
    st.text("abc 苹果", max_size=10),
    st.integers(1, 40),
)
def test_choices_lie_in_their_texts_fit_the_budget_and_are_the_same_twice(texts, question, budget):
    chosen = best_sentences(question, texts, limit=5, budget=budget)

    assert chosen == best_sentences(question, texts, limit=5, budget=budget)
    assert all(texts[s.place][s.start : s.end] == s.text for s in chosen)
    assert len(chosen) <= 1 or sum(len(s.text) for s in chosen) <= budget


def test_an_extractive_answer_cites_its_sentences():
    found = extractive_answer("谁创建了苹果公司？", SEARCH("谁创建了苹果公司？").hits, limit=1)

    assert found.text == "乔布斯在1976年创建了苹果公司。[1]"
    (citation,) = found.citations
    assert (citation.document_id, citation.marker) == ("b.md", 1)
    assert CHUNKS[1][2][citation.start - 100 : citation.end - 100] == citation.quote


def test_a_heading_is_never_quoted_and_weak_sentences_are_left_out():
    text = "# The founding of Apple\n\nJobs founded Apple in 1976 in Los Altos. Apple also sells phones."
    hits = OverlapSearch([("a.md", "The founding of Apple", text)])("Apple").hits

    found = extractive_answer("Who founded Apple in Los Altos in 1976?", hits)

    assert found.text == "Jobs founded Apple in 1976 in Los Altos. [1]"


def test_too_little_is_no_answer():
    question = "Which telescope orbits near Jupiter's moons in Paris?"

    assert extractive_answer(question, SEARCH(question).hits) is None
    assert extractive_answer("Anything?", ()) is None


def test_markers_are_renumbered_and_those_not_shown_disappear():
    hits = SEARCH("Paris Eiffel Tower").hits

    cited = cite("Where?", "In Paris [2], they say [7][1].", [2, 9, 1], hits)

    assert cited.text == "In Paris [1], they say [2]."
    assert [c.document_id for c in cited.citations] == [hits[1].document_id, hits[0].document_id]


def test_numbers_without_a_marker_follow_at_the_end():
    cited = cite("谁？", "乔布斯。", [1], SEARCH("苹果公司").hits)

    assert cited.text == "乔布斯。 [1]"
    assert cited.citations[0].quote == "乔布斯在1976年创建了苹果公司。"


def test_chinese_brackets_and_lists_of_markers_are_read():
    cited = cite("?", "在巴黎【1，2】", [], SEARCH("Paris Eiffel Tower").hits)

    assert cited.text == "在巴黎[1][2]"


def test_an_answer_that_cites_nothing_is_tied_to_the_hit_that_holds_it():
    hits = SEARCH("Eiffel Paris").hits

    (number,) = support("When?", "It was finished in 1889", hits)

    assert hits[number - 1].document_id == "a.md"
    assert support("Is there a zebra?", "Zebra", hits) == []


@pytest.mark.parametrize(
    ("question", "verdict"), [("Was the tower finished?", "Yes"), ("苹果公司卖手机吗？", "是的。")]
)
def test_yes_and_no_rest_on_what_the_question_names(question, verdict):
    hits = SEARCH("tower Paris 苹果公司").hits

    (number,) = support(question, verdict, hits)

    assert hits[number - 1].document_id in {"a.md", "b.md"}


def test_each_marker_quotes_the_sentence_for_what_stands_before_it():
    hits = SEARCH("Eiffel Tower").hits

    cited = cite(
        "Tell me about the tower", "It stands in Paris [1]. Tickets cost money [1]. Done in 1889 [2].", [], hits
    )
    other = cite("Tell me about the tower", "1889 [1]", [], hits)

    assert cited.citations[0].quote in {"It stands in Paris.", "Tickets cost money."}
    assert other.citations[0].quote == "It was finished in 1889."


def _passage(text):
    return Found(1, 1.0, "c", "d", "", text, 0, len(text))


@pytest.mark.parametrize(
    ("text", "answer", "quotes"),
    [
        (
            "| No | Pump | State |\n|---|---|---|\n| P1 | Feed | broken |\n| P2 | Drain | in use |\n| P3 | Fire | broken |",
            "Two pumps are broken, P1 (feed) and P3 (fire) [1].",
            ["P1", "P3"],
        ),
        (
            "Date: 2025-05-12 09:20\n\nThe valve failed. Parts take six weeks. The bill came to 41500 euros.",
            "The bill was 41,500 euros, and parts take six weeks, says the mail of 12 May 2025 [1].",
            ["41500 euros", "six weeks"],
        ),
        (
            "台账\n\n水泵P1已坏。风机P2在用。水泵P3也坏了，修理要36000元。",
            "水泵P1和P3坏了，修理要36,000元[1]。",
            ["P1", "P3"],
        ),
    ],
)
def test_all_that_a_claim_rests_on_in_a_passage_is_quoted(text, answer, quotes):
    cited = cite("?", answer, [], [_passage(text)])

    found = " / ".join(each.quote for each in cited.citations)
    assert all(each in found for each in quotes)
    assert "in use" not in found
    assert "Date:" not in found
    assert len(cited.citations) == len(quotes)


@given(
    st.lists(st.integers(0, 9), max_size=4),
    st.lists(st.lists(st.integers(0, 9), unique=True, max_size=5), max_size=4),
)
def test_merged_hits_are_each_there_once_the_first_ones_first(first, lists):
    every = {n: Found(n, 1.0, f"c{n}", f"d{n}", "", "text", 0, 4) for n in range(10)}

    merged = merge_hits([every[n] for n in first], *([every[n] for n in ranks] for ranks in lists))

    places = [hit.rank for hit in merged]
    assert places[: len(set(first))] == list(dict.fromkeys(first))
    assert sorted(places) == sorted({*first, *(n for ranks in lists for n in ranks)})
    top = [ranks[0] for ranks in lists if ranks and ranks[0] not in first]
    assert places[len(set(first)) :][: len(set(top))] == list(dict.fromkeys(top))


def test_joined_texts_share_the_marker_of_a_place():
    hits = SEARCH("苹果公司").hits
    parts = [cite("谁？", "乔布斯", [1], hits), cite("谁？", "也是乔布斯", [1], hits)]

    joined = merge_answers("谁？", parts)

    assert joined.text == "乔布斯 [1]；也是乔布斯 [1]"
    assert [c.marker for c in joined.citations] == [1]
    assert merge_answers("谁？", []) is None


@pytest.mark.parametrize(
    ("text", "quote", "shown"),
    [
        ("| Site | Loss |\n|---|---|\n| Oslo | 3 |\n| Graz | 5 |", "Graz | 5", "Site: Graz; Loss: 5"),
        ("Ann Lee: We met. The pump failed in May.", "The pump failed in May.", "Ann Lee: The pump failed in May."),
        ("The pump failed in May.", "The pump failed in May.", "The pump failed in May."),
        ("It failed in May.", "It failed in May.", "The pump: It failed in May."),
    ],
)
def test_a_quotation_is_shown_with_what_its_sense_hangs_on(text, quote, shown):
    (hit,) = OverlapSearch([("a.md", "The pump", text)])("pump failed Graz Loss").hits
    start = text.index(quote)

    cited = quoted("?", [(hit, start, start + len(quote))])

    assert cited.text == f"{shown} [1]"
    assert cited.citations[0].quote == quote
