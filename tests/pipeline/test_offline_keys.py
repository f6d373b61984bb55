import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import MOST_KEYS, offline_keys, read_mentions
from sag_retrieval.core.records import TITLE, Document, Event, Section

SHARED = Path(__file__).parents[2].parent / "shared"
TEXTS = st.lists(
    st.sampled_from(
        [
            "创始人沈若溪在2014年3月创办海澜。",
            "Margaret Hale paid €3.6 million in May 2019.",
            "# 损失",
            "损失为1350万元。",
            "预计损失会减少。",
            "| 2019年 | Kestrel-7 |",
            "沈若溪（Shen Ruoxi）到场。",
            "The GPT-4 model will run.",
            "",
            "无。",
        ]
    ),
    max_size=20,
).map("\n".join)


def keyed(text, language="zh", title="海澜"):
    document = Document("d", "s", title, text, language)
    chunks = split_chunks(document, [Section("s1", "d", 0, "", "", 0, len(text))])
    events = [event for found in offline_events(document, chunks) for event in found]
    return events, offline_keys(document, events)


def keys_of(text, language="zh"):
    return [
        (link.key.key_type, link.key.value, link.key.unit)
        for link in keyed(text, language, title="报告")[1]
        if link.key.key_type != TITLE
    ]


@given(TEXTS)
def test_every_event_carries_the_title_first_and_no_key_twice(text):
    events, links = keyed(text)

    for event in events:
        own = [link.key for link in links if link.event_id == event.event_id]
        assert own[0].key_type == TITLE
        assert len({key.key_id for key in own}) == len(own) <= MOST_KEYS
    assert {link.event_id for link in links} == {event.event_id for event in events}


@given(TEXTS)
def test_keys_are_the_same_twice(text):
    assert keyed(text) == keyed(text)


@given(TEXTS)
def test_a_mention_stands_in_the_text(text):
    mentions, _ = read_mentions(text)

    assert all(0 <= m.start < m.end <= len(text) for m in mentions)
    assert mentions == sorted(mentions, key=lambda m: (m.start, -m.end))


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("zh", "2019年3月5日，董事长沈若溪到场。", ["2019-03-05", "2019-03", "2019", "沈若溪"]),
        ("zh", "公司出资1.2亿元，占30%。", [120_000_000, 30]),
        ("en", "In May 2019 Margaret Hale left Acme Ltd.", ["2019-05", "2019", "Margaret Hale", "Acme Ltd"]),
        ("en", "It sold 30% for $2 million.", [30, 2_000_000]),
        ("zh", "工程预计明年完工。", [True]),
        ("en", "The plant will open next year.", [True]),
    ],
)
def test_keys_of_a_sentence_stand_in_its_order(language, text, expected):
    assert [value for _, value, _ in keys_of(text, language)] == expected


def test_a_heading_that_the_text_speaks_of_is_a_topic():
    text = "# 损失\n\n直接损失为1350万元。\n\n# 其他\n\n间接损失没有统计，其他不计。"

    assert ("topic", "损失", None) in keys_of(text)
    assert ("topic", "其他", None) not in keys_of(text)


@pytest.mark.parametrize(
    ("text", "alias", "name"),
    [
        ("海澜潮汐能源有限公司（以下简称“海澜”）成立于2014年。", "海澜", "海澜潮汐能源有限公司"),
        ("沈若溪（Shen Ruoxi）到场。", "Shen Ruoxi", "沈若溪"),
        ("The North Atlantic Treaty Organization (NATO) met in Paris.", "NATO", "North Atlantic Treaty Organization"),
        ("晨光电器有限公司改名晨曦电器有限公司。", "晨曦电器有限公司", "晨光电器有限公司"),
        ("Anna Berg, now Anna Holt, leads the office.", "Anna Holt", "Anna Berg"),
        ("凯斯特泵业有限公司，前身为奥林泵业有限公司，开设新厂。", "奥林泵业有限公司", "凯斯特泵业有限公司"),
        ("Orin Pumps Ltd was renamed Kestrel Pumps Ltd in May 2025.", "Kestrel Pumps Ltd", "Orin Pumps Ltd"),
        ("Orin Pumps Ltd changed its name to Kestrel Pumps Ltd in May.", "Kestrel Pumps Ltd", "Orin Pumps Ltd"),
        ("Since her marriage Anna Berg has been known as Anna Holt.", "Anna Holt", "Anna Berg"),
        ("The young firm Blue Tide (also known as Tidewave) grew.", "Tidewave", "Blue Tide"),
        ("公司在官网上写作302.AI（又称“302ai”、“ai302”）。", "ai302", "302.AI"),
    ],
)
def test_a_name_in_brackets_says_what_it_is_another_name_of(text, alias, name):
    _, links = keyed(text, title="x")

    ids = {link.key.value: link.key.key_id for link in links}
    assert next(link.same_as for link in links if link.key.value == alias) == ids[name]


def test_a_place_in_brackets_is_no_alias_of_a_person():
    assert all(link.same_as is None for link in keyed("董事长沈若溪（北京）到场。")[1])


def test_an_event_of_unknown_place_is_read_by_itself():
    document = Document("d", "s", "报告", "董事长沈若溪到场。", "zh")
    event = Event("e1", "d", "c1", 0, "2014年沈若溪创办公司。", "报告")

    values = [link.key.value for link in offline_keys(document, [event])]

    assert values == ["报告", "2014", "沈若溪"]


def test_a_name_equal_to_the_title_is_not_said_twice():
    _, links = keyed("“观澜”是一个模型。", title="观澜")

    assert [link.key.value for link in links] == ["观澜"]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the evaluation data is not beside the project")
@pytest.mark.parametrize(
    ("name", "language", "least", "most"),
    [("alibaba_fy2025_interim_zh.md.gz", "zh", 5, 12), ("operation_dulce.md.gz", "en", 2, 9)],
)
def test_a_real_text_has_some_keys_a_chunk_and_not_too_many(name, language, least, most):
    text = gzip.decompress((SHARED / "data/longdocs" / name).read_bytes()).decode("utf-8")
    document = Document("d", "s", name, text, language)
    chunks = split_chunks(document, [Section("s1", "d", 0, "", "", 0, len(text))])
    found = offline_events(document, chunks)

    links = offline_keys(document, [event for events in found for event in events])

    chunk_of = {event.event_id: event.chunk_id for events in found for event in events}
    pairs = {(chunk_of[link.event_id], link.key.key_id) for link in links}
    assert least <= len(pairs) / len(chunks) <= most


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["王·", "王某", "公司", "省市", "2019-", "1,", "A'a", "Ab of ", "“a", "（", "A."])
def test_hostile_text_is_read_at_once(piece):
    mentions, _ = read_mentions(piece * 5_000)

    assert all(mention.start < mention.end for mention in mentions)
