"""The chart of a report without amounts: which names are in which themes."""

from dataclasses import replace

import numpy as np

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.compose import compose, render_markdown
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.section import make_context
from sag_retrieval.reports.sections.chart import SECTION
from sag_retrieval.topics.naming import name_communities

CRAFTS = {
    "Beekeeping": ("checked the hives behind the orchard with {}", ("Nora Quill", "Ada Finch", "Pia Holm")),
    "Boatbuilding": ("planed the keel of the ferry in the yard with {}", ("Nora Quill", "Ivo Brand", "Pia Holm")),
    "Breadmaking": ("kneaded the rye dough at the mill with {}", ("Nora Quill", "Ada Finch", "Otto Lund")),
}


def workshops(base, *, is_one=False):
    """Each craft four times, in a document each or all in one, with the three people who practise it."""
    keys, links, told = {}, [], []
    for craft, (work, people) in CRAFTS.items():
        for place in range(4):
            master, *others = people
            told.append(f"In workshop {place} {master} {work.format(' and '.join(others))}.")
            named = (("topic", craft), *(("person", each) for each in people))
            links += [(len(told) - 1, keys.setdefault(key, len(keys))) for key in named]
    pairs = np.array(links, np.int32)
    of_craft = np.repeat(np.eye(len(CRAFTS), 8, dtype=np.float32), 4, axis=0)
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(len(told))],
        contents=told,
        chunk=np.array([0 if is_one else row % 4 for row in range(len(told))], np.int32),
        spans=np.full((len(told), 2), -1, np.int32),
        dates=[None] * len(told),
        keys=replace(
            base.keys,
            types=[kind for kind, _ in keys],
            values=[value for _, value in keys],
            is_text=np.ones(len(keys), bool),
            numbers=[None] * len(keys),
            units=[None] * len(keys),
        ),
        links=replace(base.links, event=pairs[:, 0], key=pairs[:, 1]),
        vectors=of_craft,
    )


def drawn(events, language="en"):
    communities = name_communities(events, build_communities(events)).communities
    return make_context(events, communities, ReportOptions(release="r1", language=language), None)


def test_documents_are_counted_by_name_and_theme(towns):
    chart = SECTION.build(drawn(workshops(towns(months=4))))

    rows = {row.name: row for row in chart.spread}
    assert len(chart.themes) == 3
    assert (rows["Nora Quill"].total, rows["Ivo Brand"].total) == (4, 4)
    assert sorted(count for count, _ in rows["Nora Quill"].cells) == [4, 4, 4]
    assert sorted(count for count, _ in rows["Ada Finch"].cells) == [0, 4, 4]
    assert sorted(rows["Ivo Brand"].cells) == [(0, 0), (0, 0), (4, 4)]
    assert "All 4 documents that name Ada Finch are in “" in chart.telling


def test_one_document_has_no_chart_of_names_by_documents(towns):
    assert SECTION.build(drawn(workshops(towns(months=4), is_one=True))) is None


def test_the_markdown_file_has_the_names_as_a_table(towns):
    context = drawn(workshops(towns(months=4)), "zh")

    lines = render_markdown(compose(context), context).splitlines()

    head = next(line for line in lines if line.startswith("| 名称 | 文档 |"))
    row = next(line for line in lines if line.startswith("| Ivo Brand |"))
    assert head.count("|") == row.count("|") == 6
    assert "来源：全部 4 篇文档，每篇文档对每个名称和主题计一次。" in lines


def test_few_names_make_no_chart(towns):
    events = workshops(towns(months=4))
    few = [key for key, value in enumerate(events.keys.values) if value not in {"Pia Holm", "Otto Lund"}]
    kept = np.isin(events.links.key, few)
    links = replace(events.links, event=events.links.event[kept], key=events.links.key[kept])

    assert SECTION.build(drawn(replace(events, links=links))) is None
