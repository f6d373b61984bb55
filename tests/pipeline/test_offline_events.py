import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.chunks import ChunkOptions, split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_retrieval.core.records import Document, Section
from sag_retrieval.language.sentences import one_line

LINES = st.sampled_from(
    [
        "潮水每天来两次。",
        "沈若溪任董事长。她住在石渡镇。",
        "# 标题",
        "姓名：喻某某",
        "性别：女",
        "诊断：",
        "- item one",
        "| a | b |",
        "|---|---|",
        "",
        "2019年3月5日。",
        "12",
        "---",
    ]
)
TEXTS = st.lists(LINES, max_size=30).map("\n".join)


def events_of(text, language="zh", size=300):
    document = Document("d", "s", "标题", text, language)
    chunks = split_chunks(
        document,
        [Section("s1", "d", 0, "", "", 0, len(text))],
        ChunkOptions(zh_size=size, en_size=size, whole_factor=0),
    )
    return chunks, offline_events(document, chunks)


def contents(text, language="zh"):
    return [event.content for found in events_of(text, language)[1] for event in found]


LONGEST_PRONOUN = 4


@given(TEXTS)
def test_an_event_is_its_span_of_the_document_but_for_white_space_and_what_it_is_about(text):
    chunks, found = events_of(text, size=60)

    assert len(found) == len(chunks)
    for chunk, events in zip(chunks, found, strict=True):
        assert [event.event_index for event in events] == list(range(len(events)))
        assert all(
            event.content.endswith(one_line(text[event.start : event.end])[LONGEST_PRONOUN:])
            for event in events
            if "|" not in text[event.start : event.end]  # a row states its values with the names of their columns
        )
        assert all(chunk.start <= event.start < event.end <= chunk.end for event in events)
        assert all(a.end <= b.start for a, b in itertools.pairwise(events))


@given(TEXTS)
def test_ids_are_unique_and_the_same_twice(text):
    first, second = ([event for found in events_of(text, size=60)[1] for event in found] for _ in range(2))

    assert first == second
    assert len({event.event_id for event in first}) == len(first)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("zh", "# 简介\n\n沈若溪任董事长。何启航已经离任。", ["沈若溪任董事长。", "何启航已经离任。"]),
        ("en", "## Scope\n\nHe left. It was a cold night in March.", ["He left. It was a cold night in March."]),
        (
            "en",
            "1. Boats. The tide was high at noon. All left.\n2. Night duty. Ansel takes the odd weeks from May.",
            ["1. Boats. The tide was high at noon. All left.", "2. Night duty. Ansel takes the odd weeks from May."],
        ),
        ("zh", "2. 夜班。自五月起由安塞港值单周的班。", ["2. 夜班。自五月起由安塞港值单周的班。"]),
        ("en", "The tide turned at noon. The boats came home.", ["The tide turned at noon.", "The boats came home."]),
        ("zh", "姓名：喻某某\n性别：女\n年龄：28岁\n民族：汉族", ["姓名：喻某某 性别：女 年龄：28岁 民族：汉族"]),
        ("zh", "诊断：\n\n地中海贫血，需要长期治疗。", ["诊断： 地中海贫血，需要长期治疗。"]),
        ("en", "March 5, 2021. The vessel Egret left the yard.", ["March 5, 2021. The vessel Egret left the yard."]),
        (
            "zh",
            "| 标段 | 金额 |\n|---|---|\n| 一标段 | 1100万元 |\n| 二标段 | 1150万元 |",
            ["标段: 一标段; 金额: 1100万元", "标段: 二标段; 金额: 1150万元"],
        ),
        (
            "en",
            "- The first item is long enough.\n- The second item is too.",
            ["The first item is long enough.", "The second item is too."],
        ),
    ],
)
def test_what_becomes_one_event(language, text, expected):
    assert contents(text, language) == expected


def test_a_heading_is_an_event_only_where_nothing_else_is():
    assert contents("# 只有标题") == ["# 只有标题"]
    assert contents("# 标题\n\n正文在这里，足够长。") == ["正文在这里，足够长。"]


def test_rules_and_page_numbers_are_no_events():
    assert contents("---\n\n12\n\n***") == []


def test_every_event_carries_the_title():
    _, found = events_of("潮水每天来两次，从不迟到。")

    assert [event.title for events in found for event in events] == ["标题"]


def test_each_row_of_a_sheet_states_its_own_cells_though_its_columns_look_like_speakers():
    due = ["期限: 2026-07-31", "状态: 进行中", "备注: 街道已收件"]
    rows = [[f"编号: A{n}", f"事项: 重新起草管理办法第{n}章", *due] for n in range(1, 10)]
    sheet = "## 行动表\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)

    assert contents(sheet) == ["; ".join(row) for row in rows]
