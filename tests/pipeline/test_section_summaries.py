"""Summaries of sections."""

import pytest

from sag_pipeline.extract.headers import (
    LONGEST_TEXT,
    SectionSummary,
    offline_section_summaries,
    section_summary_requests,
    with_summaries,
)
from sag_pipeline.extract.sections import section_records, untitled
from sag_retrieval.core.errors import AnswerError
from sag_retrieval.core.records import Document
from sag_retrieval.models.protocols import Reply

TEXT = "公司成立于2001年，总部在上海。\n公司去年收入增长一成，利润增长两成。\n"
DOCUMENT = Document("d", "s", "年报", TEXT, "zh")
SECTIONS = section_records(DOCUMENT, [("概况", 0, 18), ("收入", 18, len(TEXT))])


def test_every_section_is_asked_about_with_its_title_and_its_own_text():
    first, second = section_summary_requests(DOCUMENT, SECTIONS)

    assert "概况" in first.prompt
    assert "上海" in first.prompt
    assert "上海" not in second.prompt
    assert '"document": "年报"' in second.prompt


def test_a_document_of_one_section_is_not_asked_about():
    assert section_summary_requests(DOCUMENT, untitled(DOCUMENT)) == []


def test_a_failed_reply_leaves_its_section_without_summary():
    replies = [Reply(SectionSummary(summary="本节\n讲公司。")), AnswerError("junk")]

    sections = with_summaries(SECTIONS, replies)

    assert [s.summary for s in sections] == ["本节 讲公司。", ""]
    assert [s.section_id for s in sections] == [s.section_id for s in SECTIONS]


def test_without_replies_nothing_changes():
    assert with_summaries(SECTIONS, []) == SECTIONS


def test_a_long_section_is_read_at_both_ends():
    text = "first " + "middle " * LONGEST_TEXT + "last"
    document = Document("d", "s", "Report", text + "\nend", "en")
    sections = section_records(document, [("A", 0, len(text)), ("B", len(text), len(text) + 4)])

    request, _ = section_summary_requests(document, sections)

    assert len(request.prompt) < LONGEST_TEXT + 1_000
    assert "first middle" in request.prompt
    assert "middle last" in request.prompt


@pytest.mark.parametrize("language", ["zh", "en"])
def test_without_a_model_a_sentence_of_the_section_stands_for_it(language):
    document = Document("d", "s", "年报", TEXT, language)

    sections = offline_section_summaries(document, SECTIONS)

    assert [s.summary in TEXT[s.start : s.end] and s.summary != "" for s in sections] == [True, True]
