"""Titles of groups that were titled by names alone."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.communities.groups import Communities, Community
from sag_retrieval.communities.matters import with_matters

ENGLISH = {
    "Orrin Glassworks": [
        "The kiln permit of Orrin Glassworks was renewed on 3 May 2021.",
        "The town asked Orrin Glassworks for a copy of the kiln permit in June 2021.",
        "The works manager Hugh Tarrant of Orrin Glassworks left in 2022.",
        "The works manager Hugh Tarrant of Orrin Glassworks came in 2018.",
    ],
    "Ferry Board": [
        "The Ferry Board bought two boats in 2019.",
        "The Ferry Board sold a pier in 2020.",
        "A new chairman of the Ferry Board was chosen in 2021.",
    ],
}
CHINESE = {
    "江桥窑厂": [
        "2021年5月，江桥窑厂的燃料合同获得批准。",
        "2021年6月，镇政府向江桥窑厂索取燃料合同的副本。",
        "2022年，厂务主任唐晓离开江桥窑厂。",
        "2018年，厂务主任唐晓来到江桥窑厂。",
    ],
    "轮渡公司": ["2019年，轮渡公司购买了两艘船。", "2020年，轮渡公司卖掉了一座码头。", "2021年，轮渡公司换了负责人。"],
}


def titles_of(towns, told, language, names=None):
    """The titles of a group for each name, which were titled by the names."""
    events = towns(languages=(language,), months=2)
    texts = [(name, text) for name, own in told.items() for text in own]
    kept = np.arange(len(texts))
    values = [*told, "Hugh Tarrant", "唐晓"]
    links = [(row, values.index(name)) for row, (name, _) in enumerate(texts)]
    links += [(row, key) for row, (_, text) in enumerate(texts) for key in (2, 3) if values[key] in text]
    links.sort()
    assert len(events) >= len(texts)
    events = replace(
        events,
        event_ids=[events.event_ids[row] for row in kept],
        contents=[text for _, text in texts],
        chunk=events.chunk[kept],
        spans=events.spans[kept],
        dates=[None] * len(texts),
        vectors=events.vectors[kept],
        keys=replace(
            events.keys, types=["organisation", "organisation", "person", "person"], values=values, is_text=None
        ),
        links=replace(
            events.links,
            event=np.array([row for row, _ in links], np.int32),
            key=np.array([key for _, key in links], np.int32),
        ),
    )
    groups = []
    for name in told:
        members = np.array([row for row, (own, _) in enumerate(texts) if own == name], np.int32)
        groups.append(
            Community(
                community_id=name,
                parent_id=None,
                level=0,
                members=members,
                centrality=np.ones(len(members)),
                weight=1.0,
                conductance=0.0,
                title=(names or {}).get(name, name),
            )
        )
    found = with_matters(events, Communities(communities=tuple(groups), quality=()), language)
    return [each.title for each in found]


@pytest.mark.parametrize(
    ("told", "language", "titles"),
    [
        (ENGLISH, "en", ["Orrin Glassworks: kiln permit", "Ferry Board"]),
        (CHINESE, "zh", ["江桥窑厂：燃料合同", "轮渡公司"]),
    ],
)
def test_a_title_of_a_name_says_what_its_events_are_about_but_no_office(towns, told, language, titles):
    assert titles_of(towns, told, language) == titles


def test_a_title_that_is_no_name_stays(towns):
    given = {"Orrin Glassworks": "Permits and staff"}

    assert titles_of(towns, ENGLISH, "en", given)[0] == "Permits and staff"
