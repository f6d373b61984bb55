"""Sections without a model: headings, and where words change."""

import gzip
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.rules.headings import headings_of
from sag_pipeline.extract.rules.sections import depths, offline_sections
from sag_pipeline.extract.sections import SectionOptions
from sag_retrieval.core.records import Document

LONG = Path(__file__).parents[2].parent / "shared" / "data" / "longdocs"
EVERY = SectionOptions(min_length=0, min_section=0)
BODY = {
    "zh": "这一部分说明公司在本年度的经营情况，并介绍下一步的安排。",
    "en": "This part explains how the company did in the year, and what it plans to do next.",
}


def document(text: str, language: str = "zh") -> Document:
    return Document("d", "s", "标题", text, language)


def titles(text: str, language: str) -> list[str]:
    return [s.title for s in offline_sections(document(text, language), EVERY)]


@given(st.text(alphabet="#A一、.。 \n第章1-", max_size=300), st.sampled_from(["zh", "en"]))
def test_sections_partition_any_text(text, language):
    options = SectionOptions(min_length=0, min_section=5, max_section=20)

    sections = offline_sections(document(text, language), options)

    assert "".join(text[s.start : s.end] for s in sections) == text
    assert [s.section_index for s in sections] == list(range(len(sections)))
    assert all(s.start < s.end for s in sections)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# 经营情况", "经营情况"),
        ("## 经营情况 ##", "经营情况"),
        ("第一章 总则", "第一章 总则"),
        ("第十二节　附则", "第十二节 附则"),
        ("一、公司概况", "一、公司概况"),
        ("（二）主要风险", "（二）主要风险"),
        ("2.1 收入", "2.1 收入"),
        ("3. 公允价值", "3. 公允价值"),
        ("**重要提示**", "重要提示"),
        ("参考文献", "参考文献"),
        ("管理层讨论与分析", "管理层讨论与分析"),
        ("主诉：", "主诉"),
    ],
)
def test_chinese_headings_begin_sections(heading, title):
    text = f"{BODY['zh']}\n\n{heading}\n\n{BODY['zh']}\n"

    assert titles(text, "zh") == ["", title]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Results", "Results"),
        ("Chapter 3", "Chapter 3"),
        ("PART II", "PART II"),
        ("Item 1A. Risk Factors", "Item 1A. Risk Factors"),
        ("1. Introduction", "1. Introduction"),
        ("2.3 Data", "2.3 Data"),
        ("IV. Findings", "IV. Findings"),
        ("RISK FACTORS", "RISK FACTORS"),
        ("**Case Procedures**", "Case Procedures"),
        ("Appendix A", "Appendix A"),
        ("References", "References"),
        ("Executive Summary", "Executive Summary"),
    ],
)
def test_english_headings_begin_sections(heading, title):
    text = f"{BODY['en']}\n\n{heading}\n\n{BODY['en']}\n"

    assert titles(text, "en") == ["", title]


@pytest.mark.parametrize(
    "line",
    ["他说：", "下表载列收入情况：", "我们认为这很重要。", "12", "- 3 -", "收入，成本", "2. 会计政策（续）"],
)
def test_other_short_chinese_lines_do_not(line):
    text = f"{BODY['zh']}\n\n{line}\n\n{BODY['zh']}\n"

    assert [s for s in titles(text, "zh") if s] in ([], ["他说"])


@pytest.mark.parametrize("line", ["Yours truly,", "We agree.", "Page 12", "and so on", "| a | b |", "$ 5,070"])
def test_other_short_english_lines_do_not(line):
    text = f"{BODY['en']}\n\n{line}\n\n{BODY['en']}\n"

    assert titles(text, "en") == [""]


def test_a_line_on_every_page_is_no_heading():
    text = "".join(f"ACME Annual Report\n\n{BODY['en']}\n\n" for _ in range(5))

    assert headings_of(text, "en") == []


def test_comments_in_code_are_no_headings():
    text = f"# Guide\n\n{BODY['en']}\n\n```\n# install\nrun\n```\n\n{BODY['en']}\n"

    assert titles(text, "en") == ["Guide"]


def test_a_short_section_goes_with_its_own_parts():
    body = BODY["en"] * 8
    text = f"# A\n\n{body}\n\n# B\n\n## B1\n\n{body}\n\n## B2\n\nshort\n\n# C\n\n{body}\n"

    sections = offline_sections(document(text, "en"))

    assert [s.title for s in sections] == ["A", "B", "C"]


def test_small_neighbours_are_named_together():
    body = BODY["en"] * 3
    text = f"# A\n\n{body}\n\n# B\n\n{body}\n\n# C\n\n{body * 4}\n"

    sections = offline_sections(document(text, "en"))

    assert [s.title for s in sections] == ["A / B", "C"]


def test_a_short_document_is_one_untitled_section():
    assert [s.title for s in offline_sections(document("# 标题\n\n短文。"))] == [""]


def test_plain_text_is_divided_where_its_words_change():
    draw = random.Random(5)
    subjects = {
        "zh": ["苹果香蕉葡萄西瓜水果甜美", "火箭卫星轨道发射宇宙飞船"],
        "en": [
            "apple banana grape melon sweet fruit juice",
            "rocket satellite orbit launch cosmos engine fuel",
        ],
    }
    for language, (first, second) in subjects.items():
        mark, gap = ("。", "") if language == "zh" else (". ", " ")
        parts = [
            "".join(gap.join(draw.choices(words.split() if gap else words, k=9)).capitalize() + mark for _ in range(30))
            for words in (first, second)
        ]
        border = len(parts[0])
        options = SectionOptions(min_length=0, min_section=100, max_section=2 * (border + len(parts[1])) - 20)
        if language == "en":
            options = SectionOptions(min_length=0, min_section=100, max_section=border + len(parts[1]) - 20)

        sections = offline_sections(document("".join(parts), language), options)

        assert len(sections) == 2
        assert sections[1].start == pytest.approx(border, abs=12)


@given(st.lists(st.text(alphabet="ab c中文", max_size=12), max_size=30), st.integers(1, 5))
def test_depths_are_not_negative_and_the_first_is_nothing(texts, width):
    depth = depths(texts, width)

    assert depth.shape == (len(texts),)
    assert (depth >= 0).all()
    assert not depth[:1].any()


@pytest.mark.skipif(not LONG.is_dir(), reason="long documents are not beside the project")
def test_most_unmarked_headings_of_a_chinese_report_are_found():
    marked = gzip.decompress((LONG / "alibaba_fy2025_interim_zh.md.gz").read_bytes()).decode()
    gold, plain = set(), ""
    for line in marked.split("\n"):
        bare = re.sub(r"^#{1,6}\s+", "", line)
        gold |= {len(plain)} if bare != line else set()
        plain += bare + "\n"

    found = {heading.start for heading in headings_of(plain, "zh")}

    assert len(found & gold) >= 0.9 * len(gold)
    assert len(found) <= 3 * len(gold)  # many headings of the report have no mark
