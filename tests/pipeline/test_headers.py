"""Headers put before chunks."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.headers import FULL_HEADER, chunk_header
from sag_pipeline.extract.sections import untitled
from sag_retrieval.core.records import Chunk, Document
from sag_retrieval.models.hashing import HashingEmbedder, fit
from tests.support.golden import enough, recorded

TEXTS = st.text(alphabet="ab c。，中文 ", max_size=80)


def without_line_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def test_english_headers_are_as_recorded():
    cases = recorded("auto_context_header")["cases"]
    # a summary without a title is left out there and used here
    usable = [case for case in cases if case["document_title"] or not case["document_summary"]]

    for case in usable:
        header = chunk_header(
            case["document_title"],
            case["document_summary"],
            case["section_title"],
            case["section_summary"],
            "en",
            FULL_HEADER,
        )

        assert header == without_line_ends(case["chunk_header"])

    assert enough(len(usable), 30)


def test_a_chinese_document_gets_a_chinese_header():
    header = chunk_header("年报", "本文讲一家公司。", "风险", "本节讲汇率。", "zh-TW", FULL_HEADER)

    assert header == "所在文档：《年报》。本文讲一家公司。\n\n所在章节：“风险”。本节讲汇率。"


def test_a_summary_is_used_without_a_title():
    assert chunk_header("", "本文讲一家公司。", "", "", "zh", FULL_HEADER) == "所在文档：本文讲一家公司。"
    assert chunk_header("", "About a firm.", "", "", "en", FULL_HEADER) == "Document context: About a firm."


def test_an_untitled_section_adds_nothing():
    header = chunk_header("Report", "", "", "A summary.", "en", FULL_HEADER)

    assert header == chunk_header("Report", "", "", "", "en", FULL_HEADER)


def test_nothing_known_gives_no_header():
    assert chunk_header("", "", "", "", "en", FULL_HEADER) == ""
    assert chunk_header(" ", "\n", "", "", "zh", FULL_HEADER) == ""


@pytest.mark.parametrize("part", ["document_title", "document_summary", "section_title", "section_summary"])
def test_each_part_can_be_switched_off(part):
    names = {"document_title": "T1", "document_summary": "S1", "section_title": "T2", "section_summary": "S2"}
    gone = {names[part]} | ({"S2"} if part == "section_title" else set())

    header = chunk_header(*names.values(), "en", replace(FULL_HEADER, **{part: False}))

    assert {name for name in names.values() if name not in header} == gone


def test_bare_parts_stand_one_a_line():
    header = chunk_header("T1", "", "T2", "S2", "en", replace(FULL_HEADER, sentences=False))

    assert header == "T1\nT2\nS2"


def test_by_default_a_header_is_the_two_titles():
    assert chunk_header("T1", "S1", "T2", "S2", "en") == "T1\nT2"


def test_the_header_is_indexed_before_the_text_and_not_stored_in_it():
    header = chunk_header("年报", "", "", "", "zh")

    chunk = Chunk("c", "d", "s", 0, 0, 2, "正文", header)

    assert chunk.indexed_text.startswith(header)
    assert chunk.indexed_text.endswith("正文")
    assert chunk.text == "正文"


@pytest.mark.parametrize(
    ("language", "titles", "texts", "query"),
    [
        ("zh", ["蓝湖医院", "红山学校"], ["门诊周一至周五开放。", "操场每天下午开放。"], "蓝湖医院什么时候开？"),
        (
            "en",
            ["Blue Lake Hospital", "Red Hill School"],
            ["Visits are possible from Monday to Friday.", "The yard is open in the afternoon."],
            "Blue Lake Hospital",
        ),
    ],
)
def test_a_query_that_names_only_the_title_finds_the_chunk_by_its_header(language, titles, texts, query):
    documents = [Document(t, "s", t, text, language) for t, text in zip(titles, texts, strict=True)]
    chunks = [chunk for d in documents for chunk in split_chunks(d, untitled(d))]

    def likeness(indexed: list[str]) -> list[float]:
        embedder = HashingEmbedder(fit(indexed))
        return (embedder.embed(indexed) @ embedder.embed([query]).T).toarray().ravel().tolist()

    with_header = likeness([chunk.indexed_text for chunk in chunks])
    without = likeness([chunk.text for chunk in chunks])

    assert with_header[0] > 2 * with_header[1]
    assert without[0] <= 2 * without[1] + 0.1
