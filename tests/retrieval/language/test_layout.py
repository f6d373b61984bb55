import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.layout import LineKind, bare_heading, logical_lines, marker_length

LINES = st.lists(
    st.sampled_from(
        [
            "# 标题",
            "正文。",
            "- item",
            "| a | b |",
            "|---|---|",
            "```",
            "x = 1",
            "",
            "Label:",
            "  ",
            "短行",
            "a long line " * 6,
        ]
    ),
    max_size=12,
).map("\n".join)


@given(LINES)
def test_lines_cover_the_text_in_order(text):
    lines = logical_lines(text)

    assert "".join("".join(text[line.start : line.end].split()) for line in lines) == "".join(text.split())
    assert all(a.end <= b.start for a, b in itertools.pairwise(lines))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("# Results", LineKind.HEADING),
        ("第三章 结果", LineKind.HEADING),
        ("二、事故经过", LineKind.HEADING),
        ("Chapter 1", LineKind.HEADING),
        ("Canto IV", LineKind.HEADING),
        ("LETTER TWO", LineKind.HEADING),
        ("Total 15", LineKind.PROSE),
        ("World War II", LineKind.PROSE),
        ("Maybe one", LineKind.PROSE),
        ("诊断：", LineKind.LABEL),
        ("Diagnosis:", LineKind.LABEL),
        ("**Verdict**", LineKind.LABEL),
        ("said:", LineKind.PROSE),
        ("THE END OF IT", LineKind.LABEL),
        ("- one", LineKind.ITEM),
        ("1. one", LineKind.ITEM),
        ("3.5 million people", LineKind.PROSE),
        ("*emphasis* at the start", LineKind.PROSE),
        ("| a | b |", LineKind.ROW),
        ("|---|:-:|", LineKind.RULE),
        ("---", LineKind.RULE),
        ("一个普通的句子。", LineKind.PROSE),
    ],
)
def test_kind_of_a_line(line, kind):
    assert [found.kind for found in logical_lines(line)] == [kind]


def test_lines_between_fences_are_code():
    kinds = [line.kind for line in logical_lines("before.\n```py\n# no heading\n```\nafter.")]

    assert kinds == [LineKind.PROSE, LineKind.CODE, LineKind.CODE, LineKind.CODE, LineKind.PROSE]


@pytest.mark.parametrize(
    ("line", "words"),
    [("## Results ##", "Results"), ("# C#", "C#"), ("**Verdict**:", "Verdict"), ("诊断：", "诊断"), ("#  ", "")],
)
def test_a_bare_heading_keeps_its_words_alone(line, words):
    assert bare_heading(line) == words


def test_marks_before_items_and_headings_are_measured():
    assert [marker_length(text, logical_lines(text)[0]) for text in ("- one", "## Two", "1. three", "four")] == [
        2,
        3,
        0,
        0,
    ]


def test_a_long_row_of_spaces_and_hashes_costs_nothing():
    assert bare_heading("# " + " " * 100_000 + "#" * 100_000) == ""
