"""The first screen of an overview: counts that agree with one another and with the tables, and no judgement."""

import re
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.reports.context import make_context
from sag_retrieval.reports.facts import Pile
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.topics.naming import name_communities
from sag_retrieval.topics.topics import build_topics

OPTIONS = ReportOptions(release="r1", cluster=ClusterOptions(method="topics"))


def number(text):
    return int(text.replace(",", ""))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_largest_topic_is_the_first_and_has_the_counts_of_the_tables(towns, tmp_path, language):
    events = towns(languages=("en", "zh"), months=8)
    named = name_communities(events, build_communities(events)).communities

    report = write_report(events, named, replace(OPTIONS, language=language), tmp_path)

    page = report.page.read_text(encoding="utf-8")
    rows = [row for row in pq.read_table(report.tables["report_communities"]).to_pylist() if row["rank"]]
    sizes = [row["event_count"] for row in sorted(rows, key=lambda row: row["rank"])]
    assert sizes == sorted(sizes, reverse=True)
    title, size, _ = report.largest[0]
    first = next(row for row in rows if row["rank"] == 1)
    assert (title, size) == (first["title"], first["event_count"])
    shown = [number(each) for each in re.findall(r"<dd>([\d,]+)</dd>", page)][:3]
    assert shown == [report.counts[name] for name in ("documents", "events", "communities")]
    unit = {"en": "statements", "zh": "条陈述"}[language]
    articles = re.findall(rf'<p class="meta">([\d,]+) {unit}', page)
    assert [number(each) for each in articles] == sizes
    assert sum(sizes) + report.counts["single"] == report.counts["events"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_overview_has_no_findings_and_says_that_nothing_was_judged(towns, tmp_path, language):
    report = write_report(events := towns(languages=(language,)), build_communities(events), OPTIONS, tmp_path)

    page = report.page.read_text(encoding="utf-8")
    assert {"en": "<h1>Overview</h1>", "zh": "<h1>概览</h1>"}[language] in page
    assert {"en": "nothing was judged", "zh": "未作任何评判"}[language] in page
    assert report.findings == ()
    assert not re.search("finding|highlight|要点", re.sub(r"(?s)<style>.*?</style>|<script>.*?</script>", "", page))


def test_folders_and_their_documents_sum_up_to_those_of_the_headline(towns, tmp_path):
    events = towns(months=8)
    ids = [f"{folder}/{row}.txt" for row, folder in enumerate(["mail"] * 4 + ["cranes"] * 3 + ["winches"])]
    events = replace(events, documents=replace(events.documents, document_ids=ids))

    report = write_report(events, build_communities(events), OPTIONS, tmp_path)

    told = report.markdown.read_text(encoding="utf-8")
    assert told.split("\n\n")[1].startswith("8 documents in 3 folders; 48 statements were read from them.")
    listed = re.findall(r"^\*\*(\w+)\*\* \((\d+) documents?, (\d+) statements\)", told, re.MULTILINE)
    assert listed == [("cranes", "3", "18"), ("mail", "4", "24"), ("winches", "1", "6")]
    rows = pq.read_table(report.tables["report_documents"]).to_pylist()
    assert sum(row["documents"] for row in rows) == report.counts["documents"]
    assert sum(row["event_count"] for row in rows) == report.counts["events"]


def test_what_was_not_read_is_listed_with_the_reason_where_the_report_is_about_everything(towns, tmp_path):
    events = towns()
    pile = Pile(unread=[("a/locked.pdf", "the file has a password")], silent=["b/empty.txt"])
    told = [
        write_report(events, build_communities(events), options, tmp_path, pile=pile).markdown.read_text("utf-8")
        for options in (OPTIONS, replace(OPTIONS, scope="language = 'en'"))
    ]

    assert "- **a/locked.pdf**: the file has a password" in told[0]
    assert "Read, but without a statement: b/empty.txt" in told[0]
    assert "What was not read" not in told[1]


def test_dates_ahead_are_told_from_the_end_of_the_period_else_the_newest_document_else_the_release(towns):
    events = towns(months=6)
    pile = Pile(dates=dict.fromkeys(["en-2024-01", "en-2024-02", "en-2024-03"], "2024-02-20"))
    few = Pile(dates={"en-2024-01": "2024-02-20"})  # of six documents
    options = replace(OPTIONS, released="2024-04-01")
    cases = (
        (replace(options, period="2023..2024-05"), pile, "2024-05"),
        (options, pile, "2024-02-20"),
        (options, few, "2024-04-01"),
    )

    for given, known, day in cases:
        assert make_context(events, build_communities(events), given, pile=known).reference == day


def test_of_a_long_document_the_first_screen_says_its_title_and_its_parts(towns, tmp_path):
    events = towns(months=9)
    count = len(events.chunks.chunk_ids)
    sections = [("The Bridge", "The Flood", "The Year After")[place * 3 // count] for place in range(count)]
    chunks = replace(events.chunks, document=np.zeros(count, np.int32), sections=sections)
    documents = replace(events.documents, document_ids=["d"], titles=["Tales of a Town"], languages=["en"])
    events = replace(events, chunks=chunks, documents=documents)

    report = write_report(events, build_topics(events, OPTIONS.cluster), OPTIONS, tmp_path)

    first = report.markdown.read_text(encoding="utf-8").split("\n\n")[1]
    assert first.startswith("1 document; 54 statements were read from")
    assert "“Tales of a Town” has 3 parts with a title, from “The Bridge” to “The Year After”." in first


def test_a_revision_is_told_where_its_words_stand_in_the_later_statement_and_its_mark_everywhere(towns, tmp_path):
    events = towns(months=4)
    told = [*events.contents]
    told[0], told[6] = (
        "The library of Old Town has 3 reading rooms since 2021.",
        "Correction: the library of Old Town has 5 reading rooms.",
    )
    told[1], told[7] = "ladder; EUR: 3.00", "ladder; EUR: 5.00"
    revised = [
        {"kind": kind, "earlier_event_id": events.event_ids[old], "later_event_id": events.event_ids[new],
         "earlier_value": before, "later_value": after, "later_said": "2024-02", "earlier_said": None,
         "attribute": "", "evidence": evidence}
        for kind, old, new, before, after, evidence in (
            ("corrects", 0, 6, "3", "5", "Correction"), ("updates", 1, 7, "3.00", "5.00", "3.00 / 5.00"))
    ]  # fmt: skip
    events = replace(events, contents=told)

    report = write_report(events, build_communities(events), OPTIONS, tmp_path, pile=Pile(revised=revised))

    page = report.markdown.read_text(encoding="utf-8")
    first = page.partition("## Old and new values")[2].partition("\n## ")[0]
    assert first.count("- **") == 1
    assert "**3 → 5** (corrected)" in first
    assert "1 more; all of them are in `sag changes`" in first
    assert told[0] not in page.partition("[^1]:")[0]
