"""Topics: events of several documents that say alike, whatever they name; statements that can be quoted."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.topics.naming import name_communities
from sag_retrieval.topics.topics import build_topics

TOPICS = ClusterOptions(method="topics")
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


def titled(events, options):
    """The topics of events with their titles."""
    return name_communities(events, build_topics(events, options)).communities


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

    found = [each for each in titled(events, ClusterOptions(method="topics", topics=8)) if len(each.members) > 1]

    assert len(found) == 8
    for each in found:
        assert len({subjects[row] for row in each.members.tolist()}) == 1
        assert len(set(events.document[each.members].tolist())) == 8
        assert not any(name.casefold() in each.title.casefold() for name in NAMES[language])
    assert len({each.title for each in found}) == 8


@pytest.mark.slow
def test_every_event_belongs_to_one_topic_or_stands_alone(dragonball_zh):
    communities = titled(dragonball_zh, TOPICS)

    rows = np.concatenate([each.members for each in communities])
    assert sorted(rows.tolist()) == list(range(len(dragonball_zh)))
    assert all(len(each.members) == 1 or len(each.members) >= 3 for each in communities)
    assert all(each.centrality.max() == 1.0 for each in communities)


@pytest.mark.slow
def test_the_same_events_give_the_same_topics(dragonball_zh):
    one, two = (titled(dragonball_zh, TOPICS) for _ in range(2))

    assert [(each.community_id, each.title) for each in one] == [(each.community_id, each.title) for each in two]
    assert one.ties == two.ties


def test_rows_of_tables_form_no_topic(companies):
    events, _ = companies("en")
    events = replace(events, contents=[f"2; A: torque wrench; B: {row}" for row in range(len(events))])

    assert not any(each.terms for each in build_topics(events, TOPICS))


def test_no_events_have_no_topics(towns):
    assert len(build_topics(towns(months=0), TOPICS)) == 0
