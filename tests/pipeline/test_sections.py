"""Sections: lines, windows, any reply of a model, and sections without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.sections import (
    LineRun,
    SectionMarks,
    SectionOptions,
    join_windows,
    line_text,
    lines_of,
    section_requests,
    sections_from_replies,
    untitled,
)
from sag_retrieval.core.errors import AnswerError, ModelUnavailable, SettingsError
from sag_retrieval.core.records import Document
from sag_retrieval.models.protocols import Reply

TEXTS = st.text(alphabet="ab 。，.\n\t中文\u3000", max_size=400)
NUMBERS = st.one_of(
    st.integers(-(10**7), 10**7),
    st.integers(-2, 12),
    st.none(),
    st.sampled_from(["[3]", "line 5", "１２", "٣", "", "two", 2.0, 2.5, float("nan"), True, [4], {"n": 1}]),
)
MARKS = st.fixed_dictionaries({"title": st.text(max_size=8), "start_index": NUMBERS}, optional={"end_index": NUMBERS})
ANSWERS = st.builds(
    lambda marks, continues: SectionMarks.model_validate({"sections": marks, "first_continues": continues}),
    st.lists(MARKS, max_size=8),
    st.booleans(),
)
WHOLE = SectionOptions(min_length=0, min_average=0)
SMALL = SectionOptions(min_length=0, max_characters=60, line_length=20, min_average=0)


def document(text: str, language: str = "zh") -> Document:
    return Document("d", "s", "标题", text, language)


def answer(*marks: tuple) -> Reply[SectionMarks]:
    names = ("title", "start_index", "end_index")
    sections = [dict(zip(names, mark, strict=False)) for mark in marks]
    return Reply(SectionMarks.model_validate({"sections": sections}))


def numbered_text(count: int) -> str:
    return "".join(f"line {n} of the text\n" for n in range(count))


@given(TEXTS, st.integers(10, 60))
def test_lines_tile_the_text_and_keep_to_the_limit(text, limit):
    lines = lines_of(text, limit)

    assert "".join(text[start:end] for start, end in lines) == text
    assert all(start < end for start, end in lines)
    assert all(len(line_text(text, line)) <= limit for line in lines)


def test_chinese_without_spaces_is_cut_behind_sentence_marks():
    text = "今天天气很好，我们去公园散步。" * 40

    lines = [line_text(text, line) for line in lines_of(text)]

    assert "".join(lines) == text
    assert all(len(line) <= 200 and line.endswith("。") for line in lines)


def test_text_without_any_mark_is_cut_at_the_limit():
    lines = [line_text("字" * 450, line) for line in lines_of("字" * 450)]

    assert [len(line) for line in lines] == [200, 200, 50]


@pytest.mark.slow
@given(TEXTS, st.data())
def test_any_reply_gives_a_partition(text, data):
    source = document(text)
    requests = section_requests(source, SMALL)
    reply = st.one_of(ANSWERS.map(Reply), st.just(AnswerError("junk")))
    replies = data.draw(st.lists(reply, min_size=len(requests), max_size=len(requests)))

    sections = sections_from_replies(source, replies, SMALL)

    assert "".join(text[s.start : s.end] for s in sections) == text
    assert [s.section_index for s in sections] == list(range(len(sections)))
    assert len({s.section_id for s in sections}) == len(sections)
    assert all(text[s.start : s.end].strip() for s in sections) or len(sections) <= 1


def test_starts_become_sections_up_to_the_next_start():
    source = document(numbered_text(6))

    sections = sections_from_replies(source, [answer(("A", 0), ("B", 2), ("C", 5))], WHOLE)

    assert [(s.title, source.text[s.start : s.end].count("\n")) for s in sections] == [
        ("A", 2),
        ("B", 3),
        ("C", 1),
    ]


def test_ranges_leave_gaps_untitled():
    source = document(numbered_text(6))

    sections = sections_from_replies(source, [answer(("A", 1, 2), ("B", 4, 5))], WHOLE)

    assert [s.title for s in sections] == ["", "A", "", "B"]


def test_requests_number_the_lines_and_name_the_window():
    source = document(numbered_text(100), "en")
    options = SectionOptions(max_characters=1_000)

    requests = section_requests(source, options)

    assert len(requests) > 1
    assert '[0, "line 0 of the text"]\n[1, "line 1' in requests[0].prompt
    assert "begins at line 0" in requests[0].prompt
    assert "[0] " not in requests[1].prompt
    assert {r.step for r in requests} == {"sections"}
    assert {r.document_id for r in requests} == {"d"}
    assert all(r.system for r in requests)


@pytest.mark.parametrize(("language", "words"), [("zh", "请指出各节"), ("en", "Say where its sections begin")])
def test_the_prompt_speaks_the_documents_language(language, words):
    requests = section_requests(document(numbered_text(80), language))

    assert words in requests[0].prompt


def test_a_short_document_is_one_untitled_section_without_a_call():
    source = document("短文。")

    sections = sections_from_replies(source, [])

    assert section_requests(source) == []
    assert [(s.title, s.start, s.end) for s in sections] == [("", 0, 3)]


def test_a_model_that_is_down_leaves_one_section_a_window():
    source = document(numbered_text(100), "en")
    options = SectionOptions(max_characters=1_000, min_length=0)
    requests = section_requests(source, options)

    sections = sections_from_replies(source, [ModelUnavailable("gone")] * len(requests), options)

    assert [s.title for s in sections] == [""] * len(requests)
    assert split_chunks(source, sections)


def test_splinters_become_one_section():
    source = document(numbered_text(60), "en")
    marks = [(f"S{n}", n) for n in range(60)]

    sections = sections_from_replies(source, [answer(*marks)])

    assert [(s.title, s.end) for s in sections] == [("", len(source.text))]


def test_sections_with_one_title_on_both_sides_of_a_border_are_one():
    windows = [
        [LineRun("A", 0, 1), LineRun("B", 2, 3)],
        [LineRun("b", 4, 5), LineRun("C", 6, 7)],
        [LineRun("D", 8, 8)],
    ]

    joined = join_windows(windows, [False] * 3)

    assert [run.title for run in joined] == ["A", "B", "C", "D"]
    assert [line for run in joined for line in range(run.first, run.last + 1)] == list(range(9))


def test_a_window_that_goes_on_joins_the_one_ahead():
    windows = [[LineRun("A", 0, 3)], [LineRun("went on", 4, 5), LineRun("B", 6, 7)]]

    joined = join_windows(windows, [False, True])

    assert joined == [LineRun("A", 0, 5), LineRun("B", 6, 7)]


def test_an_id_stays_when_another_section_changes():
    before = document(numbered_text(6))
    after = document("new first\n" + numbered_text(6))
    old = sections_from_replies(before, [answer(("A", 0), ("B", 3))], WHOLE)
    new = sections_from_replies(after, [answer(("A", 0), ("B", 4))], WHOLE)

    assert old[1].section_id == new[1].section_id
    assert old[0].section_id != new[0].section_id


def test_equal_sections_have_different_ids():
    source = document("same\n" * 4)

    sections = sections_from_replies(source, [answer(("A", 0), ("A", 2))], WHOLE)

    assert len({s.section_id for s in sections}) == 2


def test_an_answer_with_unknown_fields_is_refused():
    with pytest.raises(ValidationError, match="extra"):
        SectionMarks.model_validate({"sections": [], "comment": "done"})


@pytest.mark.parametrize("wrong", [{"max_characters": 0}, {"line_length": 3}, {"max_section": 100}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        SectionOptions(**wrong)


def test_an_empty_document_has_no_section():
    assert untitled(document("")) == []
