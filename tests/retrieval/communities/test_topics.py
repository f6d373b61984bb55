"""Topics: events of several documents that say alike, whatever they name; statements that can be quoted."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.communities.clustering import build_communities
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.registers import has_figure
from sag_retrieval.communities.statements import fault_counts, faults, good_rows, share_of_filler

SUBJECTS = {
    "en": (
        "The court rejected the appeal of {name} and confirmed the judgment.",
        "{name} raised the net profit and paid a dividend to shareholders.",
        "{name} planted trees and lowered the emissions of its factories.",
        "Nurses of {name} vaccinated patients against influenza in the clinic.",
        "{name} opened a museum with paintings and sculptures of local artists.",
        "Divers of {name} repaired the cable on the seabed of the harbour.",
        "{name} trained apprentices in welding and gave them certificates.",
        "Hail destroyed the vineyard of {name} before the grape harvest.",
    ),
    "zh": (
        "法院驳回了{name}的上诉并维持判决。",
        "{name}的净利润上升，股东获得分红。",
        "{name}植树造林，降低了工厂的排放。",
        "{name}的护士在诊所为患者接种流感疫苗。",
        "{name}开设博物馆，展出艺术家的绘画和雕塑。",
        "{name}的潜水员修复了港口海底的电缆。",
        "{name}培训学徒学习焊接并颁发证书。",
        "冰雹在葡萄收获季节毁坏了{name}的葡萄园。",
    ),
}
NAMES = {
    "en": (
        "Marlow Seals",
        "Kestrel Yard",
        "Heron Foods",
        "Oban Metals",
        "Tarn Wool",
        "Ilex Paper",
        "Corvid Labs",
        "Lorn Glass",
    ),
    "zh": ("海澜公司", "青禾船厂", "白鹭食品", "鹿鸣钢铁", "云岭毛纺", "冬青造纸", "渡鸦实验室", "松原玻璃"),
}


@pytest.fixture
def companies(towns):
    """Events of eight documents, each about one company, on eight subjects; subject of each event."""

    def make(language):
        base = towns(languages=(language,), months=8)
        texts, subjects, documents = [], [], []
        for number, name in enumerate(NAMES[language]):
            for subject, pattern in enumerate(SUBJECTS[language]):
                texts.append(pattern.format(name=name))
                subjects.append(subject)
                documents.append(number)
        count = len(texts)
        events = replace(
            base,
            event_ids=[f"e{row}" for row in range(count)],
            contents=texts,
            chunk=np.array(documents, np.int32),
            spans=np.full((count, 2), -1, np.int32),
            dates=[None] * count,
            chunks=replace(
                base.chunks,
                chunk_ids=[f"c{row}" for row in range(8)],
                texts=["".join(texts)] * 8,
                document=np.arange(8, dtype=np.int32),
                places=(),
            ),
            documents=replace(
                base.documents,
                document_ids=[f"d{row}" for row in range(8)],
                titles=list(NAMES[language]),
                languages=[language] * 8,
            ),
            keys=replace(base.keys, types=["organisation"] * 8, values=list(NAMES[language]), is_text=None),
            links=replace(base.links, event=np.arange(count, dtype=np.int32), key=np.array(documents, np.int32)),
            vectors=np.eye(count, dtype=np.float32),
        )
        return events, subjects

    return make


@pytest.mark.parametrize("language", ["en", "zh"])
def test_topics_go_across_documents_and_not_by_their_names(companies, language):
    events, subjects = companies(language)

    found = [
        each for each in build_communities(events, ClusterOptions(method="topics", topics=8)) if len(each.members) > 1
    ]

    assert len(found) == 8
    for each in found:
        assert len({subjects[row] for row in each.members.tolist()}) == 1
        assert len(set(events.document[each.members].tolist())) == 8
        assert not any(name.casefold() in each.title.casefold() for name in NAMES[language])
    assert len({each.title for each in found}) == 8


@pytest.mark.slow
def test_every_event_belongs_to_one_topic_or_stands_alone(dragonball_zh):
    communities = build_communities(dragonball_zh, ClusterOptions(method="topics"))

    rows = np.concatenate([each.members for each in communities])
    assert sorted(rows.tolist()) == list(range(len(dragonball_zh)))
    assert all(len(each.members) == 1 or len(each.members) >= 3 for each in communities)
    assert all(len(each.members) >= 3 for each in communities if each.title)
    assert all(each.centrality.max() == 1.0 for each in communities)


@pytest.mark.slow
def test_the_same_events_give_the_same_topics(dragonball_zh):
    one, two = (build_communities(dragonball_zh, ClusterOptions(method="topics")) for _ in range(2))

    assert [(each.community_id, each.title) for each in one] == [(each.community_id, each.title) for each in two]
    assert one.ties == two.ties


def test_rows_of_tables_form_no_topic(companies):
    events, _ = companies("en")
    events = replace(events, contents=[f"2; A: torque wrench; B: {row}" for row in range(len(events))])

    assert [each.title for each in build_communities(events, ClusterOptions(method="topics")) if each.title] == []


def test_no_events_have_no_topics(towns):
    assert len(build_communities(towns(months=0), ClusterOptions(method="topics"))) == 0


@pytest.mark.parametrize(
    "text",
    [
        "Marlow Seals delivered 400 O-rings to the shipyard in May 2022.",
        "In May 2019, the board of Heron Foods adopted a policy on gifts.",
        "海澜公司于2019年5月完成了对青禾船厂的收购，总价20亿元。",
        "Der Aufsichtsrat der Heron AG hat den Vertrag im Mai gebilligt.",
        "As of 27 May 2023 the period of notice for Heron Foods is 203 days.",
        "Ebenezer Scrooge, a grasping old man, the partner of the firm of Marley.",
        "Marlow Seals told the court that he would hand over the letters.",
        "“Sweet Caroline” was sung by the guests of Heron Foods in the hall.",
    ],
)
def test_a_whole_sentence_about_something_has_no_fault(text):
    assert faults(text) == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Looking forward to it!", "speech"),
        ("Absolutely, I can bring the cake to the party on Sunday.", "speech"),
        ("你好，明天下午我们一起去花园吧。", "speech"),
        ("| Q1 | 15.7 | Q2 | 26.9 | Q3 | 18.0 |", "row"),
        ("2; A: torque wrench; B: 247; C: 12.", "row"),
        ("See https://example.org/report for the whole text of the decision.", "address"),
        ("[2025-10-23 11:24] Gwendolyn Achterberg left the channel of the team.", "time"),
        ("It rose by three per cent against the year before, to 40 million.", "reference"),
        ("该公司于2019年5月完成了对青禾船厂的收购。", "reference"),
        ("In conclusion, Heron Foods had a year of change and of growth.", "reference"),
        ("3.2 Duties of the supplier under this framework agreement.", "heading"),
        ("Family History: the father died of a stroke at the age of 70.", "heading"),
        ("and the supplier delivered the goods in time for the fair.", "start"),
        ("The supplier delivered the goods in time for the fair", "end"),
        ("15.7, 26.9, 18.0, 5.4, 11.2, 13.3, 19.9 k EUR.", "figures"),
        ("Yes.", "length"),
        ("'Plenty of prisons,' said the gentleman, laying down the pen again.", "speech"),
        ("That header of Oban Metals was insane, and Heron Foods should watch it.", "opinion"),
        ("抱歉，海澜公司的链接已经失效，给各位添麻烦了。", "opinion"),
        ("Heron Foods has made significant progress with its governance since May 2021.", "claim"),
        ("海澜公司在2021年取得了显著成效，提高了抵御风险的能力。", "claim"),
        ("Normal urination and defecation, clear lung and soft abdomen.", "note"),
        ("Appendectomy of Wang 20 years ago without complications.", "note"),
        ("Reviewed by senior physician Wang with the family of the patient.", "note"),
        ("In the garden he met a friend of Marlow and gave the keys to her.", "reference"),
        ("第二，潮位预报的平均误差不超过12%，并由澜湾大学出具证明。", "reference"),
    ],
)
def test_what_a_report_should_not_quote_has_its_fault_named(text, fault):
    assert fault in faults(text)


def test_plans_and_statements_with_nothing_to_check_are_not_quoted(companies):
    events, _ = companies("en")
    events = replace(
        events,
        contents=[
            "The weather was calm and the harbour stayed open.",
            *(f"{t[:-1]} in 2021." for t in events.contents[1:]),
        ],
        is_forecast=np.arange(len(events)) == 1,
    )

    counted = fault_counts(events, np.array([0, 1, 2], np.int32))

    assert counted.tolist() == [0.9, 1.0, 0.0]
    assert good_rows(events, np.array([0, 1, 2], np.int32), 1).tolist() == [2]
    assert good_rows(events, np.array([0, 1, 2], np.int32), 2).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Oban Metals closed two of its yards.", True),
        ("Oban Metals closed its yard on 4 May.", True),
        ("海澜公司更换船员九名。", True),
        ("Heron Foods will continue to strengthen its governance and its values.", False),
        ("Ada Byrne nodded, her eyes fixed on the harbour.", False),
        ("In Kielwick the tighter rule wins, and section 2.2 says who decides about the X2.", False),
        ("海澜公司将继续加强内部控制，详见第三条。", False),
    ],
)
def test_a_statement_holds_a_figure_that_is_no_place_in_a_document_and_no_part_of_a_name(text, holds):
    assert has_figure(text) == holds


def test_of_statements_without_a_figure_a_few_stand_where_there_is_nothing_else(towns):
    events = towns(months=6)
    told = ["The bridge of Old Town was closed to heavy lorries by the council."] * len(events)
    rows = np.arange(0, len(events), 6, dtype=np.int32)

    assert len(good_rows(replace(events, contents=told), rows, 5)) == 3
    assert good_rows(
        replace(events, contents=["The bridge of Old Town has two lanes for cars.", *told[1:]]), rows, 5
    ).tolist() == [0]


def test_the_share_of_filler_is_that_of_texts_with_a_fault():
    assert share_of_filler(["Yes.", "Marlow Seals delivered 400 O-rings to the shipyard."]) == 0.5
    assert share_of_filler([]) == 0.0


@pytest.mark.parametrize(
    ("text", "has_it"),
    [
        (
            "截至2031年6月30日止六个月的收入为人民币4,120百万元（571百万美元），相较上年同期的人民币3,900百万元增长5%。",
            False,
        ),
        ("收入 2031 4,120 571 3,900 5%", True),
        ("2031 4,120 571 3,900 5% sold.", True),
    ],
)
def test_a_sentence_with_many_figures_is_no_row_of_figures(text, has_it):
    assert ("figures" in faults(text)) is has_it


@pytest.mark.parametrize(
    "text",
    [
        "Oban Mills, Inc. 24PART II ITEM 5. MARKET for shares of the mills, which trade in Leith.",
        "Controls and procedures of the mills are listed on page 49 ITEM 8.",
        "Oban Mills Inc. 4Our spinning rooms in Leith were closed in 2031.",
    ],
)
def test_a_head_of_a_page_read_together_with_a_sentence_is_no_statement(text):
    assert "heading" in faults(text)


def test_a_row_of_shares_before_a_sentence_makes_no_statement():
    assert "row" in faults(
        "Tax rate 18.2 % 9.1 % 14.0 % On 22 December 2031 the town of Leith changed its law on mills."
    )
    assert faults("Oban Mills paid 18.2 % of its profit in 2031 and 9.1 % in 2030 to the town of Leith.") == ()
