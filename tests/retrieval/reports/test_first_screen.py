"""The first screen: what recurs in several documents, and who is in a long one."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.clusters.groups import Communities, on_one_level
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.topics.naming import name_communities
from sag_retrieval.topics.topics import build_topics

OPTIONS = ReportOptions(release="r1", cluster=ClusterOptions(method="topics"))
TOLD = {
    "en": (
        "{who} stopped working at the quay in {where} during loading; the part cost {amount} euros.",
        ("Heron winch", "Teal winch"),
        ("Kielwick", "Ormsund", "Tarn Bay"),
    ),
    "zh": (
        "{who}在{where}码头装货时停机，更换零件花费{amount}欧元。",
        ("鹭式绞车", "凫式绞车"),
        ("青石湾", "白沙镇", "鹤山港"),
    ),
}


def failures(base, language):
    """One event in each document: a winch that failed at a place, and what the part cost."""
    sentence, winches, places = TOLD[language]
    count = len(base.documents.titles)
    carried = [(winches[row % 4 == 3], places[row % 3]) for row in range(count)]
    values = [*winches, *places]
    links = [(row, values.index(name)) for row, names in enumerate(carried) for name in names]
    links = sorted([*links, *((row, len(values) + row) for row in range(count))])
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(count)],
        contents=[sentence.format(who=who, where=where, amount=300 + row) for row, (who, where) in enumerate(carried)],
        chunk=np.arange(count, dtype=np.int32),
        spans=np.full((count, 2), -1, np.int32),
        dates=[f"2024-{1 + row:02}-05" for row in range(count)],
        keys=replace(
            base.keys,
            types=["product"] * 2 + ["place"] * 3 + ["money"] * count,
            values=[*values, *(f"{300 + row} EUR" for row in range(count))],
            is_text=np.arange(len(values) + count) < len(values),
            numbers=[None] * len(values) + [300.0 + row for row in range(count)],
            units=[None] * len(values) + ["EUR"] * count,
        ),
        links=replace(
            base.links,
            event=np.array([row for row, _ in links], np.int32),
            key=np.array([key for _, key in links], np.int32),
        ),
        vectors=np.eye(count, dtype=np.float32),
    )


def one_theme(events):
    """All events as one theme."""
    rows, ones = np.arange(len(events), dtype=np.int32), np.ones(len(events))
    return Communities(communities=on_one_level(["g1"], [rows], ["Winches"], centrality=ones, weight=ones), quality=())


def told(events, themes, tmp_path):
    named = name_communities(events, themes).communities
    return write_report(events, named, OPTIONS, tmp_path).markdown.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("language", "other", "folders"),
    [
        (
            "en",
            "Heron winch was locked away for the night by 12 guards.",
            "8 documents of January – August 2024 (most from “mail”: 4, “cranes”: 3, “winches”: 1) are above all about",
        ),
        (
            "zh",
            "鹭式绞车夜间关闭，由12人看守。",
            "8 篇文档（2024年1月至8月）（多来自“mail”4 篇、“cranes”3 篇、“winches”1 篇）主要涉及",
        ),
    ],
)
def test_the_first_sentence_says_where_documents_lie(towns, tmp_path, language, other, folders):
    events = failures(towns(languages=(language,), months=8), language)
    contents = [text if row < 4 else other for row, text in enumerate(events.contents)]
    ids = [f"{folder}/{row}.txt" for row, folder in enumerate(["mail"] * 4 + ["cranes"] * 3 + ["winches"])]
    events = replace(events, contents=contents, documents=replace(events.documents, document_ids=ids))

    assert folders in told(events, one_theme(events), tmp_path)


def test_documents_are_about_the_largest_themes(towns, tmp_path):
    events = failures(towns(months=8), "en")
    plain = ["The winch stopped again while a ship was loaded.", "Nobody at the quay knew why the winch stood still."]
    longer = " The harbour office hired two divers for the repair on the same day."
    told_of = [
        text + longer if row < 3 else f"{plain[row % 2][:-1]} at berth {row}."
        for row, text in enumerate(events.contents)
    ]
    events = replace(events, contents=told_of)
    rows, ones = np.arange(8, dtype=np.int32), np.ones(8)
    parts = on_one_level(["g1", "g2"], [rows[:3], rows[3:]], ["Costs", "Stops"], centrality=ones, weight=ones)

    page = write_report(events, Communities(communities=parts, quality=()), OPTIONS, tmp_path).markdown.read_text(
        "utf-8"
    )

    assert "above all about “Stops” and “Costs”" in page
    assert "The largest theme, “Stops”, rests on 5 events" in page


def test_of_a_long_document_the_first_screen_says_its_title_its_parts_and_who_is_in_them(towns, tmp_path):
    events = towns(months=9)
    count = len(events.chunks.chunk_ids)
    sections = [("The Bridge", "The Flood", "The Year After")[place * 3 // count] for place in range(count)]
    chunks = replace(events.chunks, document=np.zeros(count, np.int32), sections=sections)
    documents = replace(events.documents, document_ids=["d"], titles=["Tales of a Town"], languages=["en"])
    contents = [text.replace("The bridge", "The Harbour Bridge") for text in events.contents]
    types = ["place" if kind == "topic" else kind for kind in events.keys.types]
    events = replace(
        events, chunks=chunks, documents=documents, contents=contents, keys=replace(events.keys, types=types)
    )

    first = told(events, build_topics(events, OPTIONS.cluster), tmp_path).split("\n\n")[1]

    assert first.startswith(
        "“Tales of a Town” of January – September 2024 has 3 parts with a title, from “The Bridge” to “The Year After”."
    )
    assert "Named most: Harbour Bridge (18 events, in 3 of 3 parts)" in first
