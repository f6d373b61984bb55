"""Which statements say by themselves whom they speak of, and which of them are orders, headings or routine."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.communities.events import Chunks, Documents, EventLinks, EventTable, Keys
from sag_retrieval.communities.groups import Community
from sag_retrieval.communities.headings import unheaded
from sag_retrieval.communities.registers import has_figure, is_order, tells_effect
from sag_retrieval.communities.routine import as_quoted, with_routine
from sag_retrieval.communities.statements import fault_counts, faults, telling
from sag_retrieval.communities.subjects import lacks_subject, refers_outside
from sag_retrieval.reports.ranking import typical_events

NAMES = ("Falk Mills", "Falk", "Brandt", "Oster", "Lindqvist", "Amsel", "Kielwick")


def table(texts: Sequence[str], documents: Sequence[int] | None = None) -> EventTable:
    """One event of each text, with the people that it names as keys; each in its own chunk."""
    held = documents or [0] * len(texts)
    count = max(held) + 1
    links = [(row, key) for row, text in enumerate(texts) for key, name in enumerate(NAMES) if name in text]
    pairs = np.array(links, np.int32).reshape(-1, 2)
    return EventTable(
        event_ids=[f"e{row}" for row in range(len(texts))],
        contents=list(texts),
        chunk=np.arange(len(texts), dtype=np.int32),
        spans=np.full((len(texts), 2), -1, np.int32),
        dates=[None] * len(texts),
        chunks=Chunks(
            chunk_ids=[f"c{row}" for row in range(len(texts))], texts=list(texts), document=np.array(held, np.int32)
        ),
        documents=Documents(
            document_ids=[f"d{row}" for row in range(count)],
            titles=[f"d{row}" for row in range(count)],
            languages=["en"] * count,
        ),
        keys=Keys(types=["person"] * len(NAMES), values=list(NAMES)),
        links=EventLinks(event=pairs[:, 0], key=pairs[:, 1]),
        vectors=np.eye(len(texts), dtype=np.float32),
    )


@pytest.mark.parametrize(
    "text",
    [
        "Imre Falk had heard of this apprentice from the miller in 2016.",
        "Falk Mills sold these looms to the guild for 300 crowns.",
        "Falk Mills was sold at the same price by the guild of Varn.",
        "Two weeks later the guild of Varn bought 40 looms.",
        "The following year Falk Mills bought 40 looms.",
        "In May 2019, there was also a fire at Falk Mills.",
        "冯若兰说，刘师傅早就提过这个木匠。",
        "磨坊在2019年把上述织机卖给了行会。",
        "冯氏磨坊向该行会交付了40台织机。",
        "不久，冯氏磨坊买进了40台织机。",
        "在设备方面，首先，冯氏磨坊买进了40台织机。",
        "2019年，他在澜河镇学会了织布。",
        "以下是冯氏磨坊2019年买进的40台织机。",
    ],
)
def test_what_stands_for_something_outside_the_sentence_is_seen(text):
    assert refers_outside(text)
    assert "reference" in faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "Falk Mills hired an apprentice, and Imre Falk paid this apprentice 40 crowns.",
        "Falk Mills sold 40 looms in May 2019 and bought the same number of carts.",
        "The guild of Varn raised its fee to 4 crowns, and this rule still holds.",
        "Falk Mills closed its second yard this year.",
        "冯氏磨坊须在48小时内更换织机，这一条件来自2018年的火灾。",
        "冯氏磨坊与行会签约，双方各出资40万元。",
        "冯若兰2019年进入磨坊，次月她买进了40台织机。",
        "冯氏磨坊应该在2019年买进40台织机。",
        "除此之外，冯氏磨坊因此少收了40万元。",
    ],
)
def test_what_stands_for_something_in_the_sentence_is_fine(text):
    assert not refers_outside(text)


@pytest.mark.parametrize(
    "text",
    [
        "2019年被列为国家文物保护单位。",
        "2006年5月25日，以磨坊的名义列入名单。",
        "大正14年（1925年），开设横滨的航路。",
        "14时50分接到镇长的电话，所有船只回港。",
        "2017年参与了微电影的拍摄。",
        "1983年9月至1984年2月任县委干部。",
        "把变电站抬高到5米。",
        "分布于山区，生长于海拔1,750米的地区。",
    ],
)
def test_a_chinese_sentence_without_a_subject_is_seen(text):
    assert lacks_subject(text)
    assert "subject" in faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "2021年8月30日，冯氏磨坊购买织机40台。",
        "位于山区的磨坊每年生产布料4万匹。",
        "为扩大产能，公司投资500万元。",
        "接到报警后，警方于10日赶到现场。",
        "织机项目由冯若兰负责，批准预算5万元。",
        "2024年可转换票据为无抵押责任。",
        "《织机考》出版于1911年。",
        "有3家公司参加了展会。",
        "The mill was sold.",
    ],
)
def test_a_chinese_sentence_with_a_subject_is_fine(text):
    assert not lacks_subject(text)


def test_a_clause_that_begins_with_a_known_name_has_its_subject():
    text = "2019年启航建造了40艘船。"

    assert lacks_subject(text)
    assert not lacks_subject(text, ("启航",))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Drain the tank and rinse it for 10 minutes.", True),
        ("Spread lemon butter over the dough, add salt, and bake for 20 minutes until it turns brown.", True),
        ("Simmer for 20 minutes, stirring often.", True),
        ("Yesterday the yard at Varn sold 40 looms.", False),
        ("Traffic on the river at Varn fell by 3%.", False),
        ("Another fire in May 2019 was put out by the guild.", False),
        ("Falk Mills, a weaver of Varn, and the guild of the town.", False),
        ("Der Vertrag beginnt am 11.12.2021 und gilt 48 Monate.", False),
    ],
)
def test_an_order_begins_with_a_bare_verb(text, holds):
    assert is_order(text) == holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Imre Falk spent the evening with ‘Deck 9’.", False),
        ("Imre Falk walked through Hall 9 with the guild.", False),
        ("Imre Falk repaired 9 looms.", True),
        ("In Varn 9 looms were sold.", True),
        ("Falk Mills was sold in May 9 years ago.", True),
    ],
)
def test_a_figure_of_a_name_is_none(text, holds):
    assert has_figure(text) == holds


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Temporary Closure On the 4th of May, 2021, the lock at Varn was shut.", "On the 4th of May, 2021, "),
        ("冯若兰 冯若兰(生于1980年)，是一位织工。", "冯若兰(生于1980年)"),
        ("织机减值 — 截至2024年9月30日止六个月录得40万元的织机减值。", "截至2024年"),
        ("澜河银行的公告 2020年11月20日，澜河银行买进织机。", "2020年11月20日"),
        ("Falk Mills sold 40 looms.", "Falk Mills"),
        ("The Guild of Varn sold 40 looms.", "The Guild"),
    ],
)
def test_a_glued_heading_is_cut_where_the_sentence_says_the_same(text, left):
    assert unheaded(text).startswith(left)
    assert text.endswith(unheaded(text))


@pytest.mark.parametrize(
    "text",
    [
        "公告 买进织机40台，冯若兰签字。",
        "2019年5月4日。冯氏磨坊买进织机40台。",
        "May 4, 2019. Falk Mills bought 40 looms.",
        "“织机”指冯氏磨坊2019年买进的40台机器。",
        "The court weighed several matters: 1. Intent: Imre Falk had planned the sale.",
    ],
)
def test_a_heading_a_log_and_a_list_of_one_are_seen(text):
    assert "heading" in faults(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("（冯若兰在2019年买进织机40台，冯氏磨坊签字。", "start"),
        ("灰鸥号”在海峡打捞渔网17吨，冯若兰签字。", "start"),
        ("Excludes $278 million of leases that Falk Mills signed in 2019.", "subject"),
        ("FALK MILLS, INC. 72The rate for 2019 was lower than that of 2018.", "heading"),
        ("RETURN ON LOOMS 31.5 % Equals earnings of Falk Mills in 2019.", "heading"),
    ],
)
def test_torn_sentences_are_seen(text, fault):
    assert fault in faults(text)


def test_what_something_is_good_for_tells_less():
    events = table(["Falk Mills hired 40 weavers.", "Falk Mills hired 40 weavers, ensuring smooth work."])

    assert tells_effect(events.contents[1])
    assert not tells_effect(events.contents[0])
    assert not tells_effect("Falk Mills hired 40 weavers, paying each of them 3 crowns.")
    assert tells_effect("冯氏磨坊雇了40名织工，进一步增强了市场竞争力。")
    first, second = telling(events, np.arange(2, dtype=np.int32)).tolist()
    assert second < first


def test_a_figure_that_all_documents_have_is_routine_and_one_that_differs_is_not():
    people = ["Falk", "Brandt", "Oster", "Lindqvist"]
    same = [f"The accused {name} may appeal against the verdict within 10 days." for name in people]
    differing = [f"The accused {name} paid the guild a fine worth {at + 3} crowns." for at, name in enumerate(people)]
    events = with_routine(table([*same, *differing], documents=[0, 1, 2, 3] * 2))

    assert events.is_routine.tolist() == [True] * 4 + [False] * 4


def test_what_names_nobody_is_poor_where_several_documents_could_be_meant():
    events = table(["The batch held 48 sensors of steel.", "Falk Mills held 48 sensors of steel."], documents=[0, 1])
    rows = np.arange(2, dtype=np.int32)
    wide = replace(events, documents=Documents(document_ids=list("abc"), titles=list("abc"), languages=["en"] * 3))

    assert fault_counts(events, rows)[0] == 0.5
    assert fault_counts(wide, rows).tolist() == [0.9, 0.0]


def test_at_most_two_typical_events_say_the_same_of_other_names():
    people = ["Falk", "Brandt", "Oster", "Lindqvist", "Amsel"]
    texts = [f"The accused {name} paid the guild a fine worth {at + 3} crowns." for at, name in enumerate(people)]
    events = as_quoted(table([*texts, "Falk sold 40 looms to a weaver of Kielwick."], documents=[0, 1, 2, 3, 4, 5]))
    every = np.arange(6, dtype=np.int32)
    community = Community(
        community_id="c", parent_id=None, level=0, members=every, centrality=np.ones(6), weight=1.0, conductance=0.0
    )

    chosen = typical_events(events, community, 5).tolist()

    assert len([row for row in chosen if row < 5]) == 2
    assert 5 in chosen
