"""The report as a Word file: what the Markdown says, without its marks, the same bytes for the same report."""

import re
from dataclasses import replace
from io import BytesIO

import pytest

docx = pytest.importorskip("docx")

from sag_retrieval.clusters.clustering import build_communities  # noqa: E402  after the check above
from sag_retrieval.reports.options import ReportOptions  # noqa: E402
from sag_retrieval.reports.report import write_report  # noqa: E402
from sag_retrieval.reports.word_file import word_file  # noqa: E402
from sag_retrieval.topics.naming import name_communities  # noqa: E402


def opened(payload):
    return docx.Document(BytesIO(payload))


@pytest.mark.parametrize(("language", "sources"), [("en", "Sources"), ("zh", "来源")])
def test_the_word_file_says_what_the_markdown_says(towns, tmp_path, language, sources):
    events = towns(languages=(language,))
    named = name_communities(events, build_communities(events)).communities

    report = write_report(events, named, ReportOptions(title="Town news", release="r1", docx=True), tmp_path)

    written = docx.Document(str(report.docx))
    text = "\n".join(each.text for each in written.paragraphs)
    titles = [each.text for each in written.paragraphs if each.style.name.startswith(("Title", "Heading"))]
    markdown = report.markdown.read_text(encoding="utf-8")
    assert titles[0] == "Town news"
    assert titles[-1] == sources
    assert len(titles) == len(re.findall(r"^#+ ", markdown, re.MULTILINE)) + 1
    assert sum(sentence.strip() in text for sentence in events.contents) > 3
    assert len(written.tables) == len(re.findall(r"^\|(?: ---:? \|)+$", markdown, re.MULTILINE))
    assert not re.search(r"\*\*|\[\^|\\|\]\(", text)
    assert report.to_dict()["docx"] == str(report.docx)


def test_marks_of_markdown_in_a_text_stay_text():
    written = opened(word_file("# A \\*b\\* \\[c\\]\n\n- **x\\|y** &amp; z[^1]\n\n[^1]: A · “b”\n", "en"))

    told = [each.text for each in written.paragraphs]
    assert told == ["A *b* [c]", "x|y & z[1]", "Sources", "1  A · “b”"]
    assert [run.text for run in written.paragraphs[1].runs if run.bold] == ["x", "|", "y"]
    assert (written.core_properties.title, written.core_properties.author) == ("A *b* [c]", "")
    assert written.core_properties.comments == ""
    assert [run.text for run in written.paragraphs[1].runs if run.font.superscript] == ["[1]"]


def test_a_line_that_only_leads_to_another_file_is_left_out():
    written = opened(word_file("# A\n\n[All 3 events](themes/1-a.html)\n\nSee [B](b.html).\n", "en"))

    assert [each.text for each in written.paragraphs] == ["A", "See B."]


def test_further_lines_of_an_item_are_lines_and_the_rule_of_a_table_is_no_row():
    written = opened(word_file("1. A[^1]  \n   **B** 3 events\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n", "en"))

    assert [each.text for each in written.paragraphs] == ["A[1]\nB 3 events"]
    assert [[cell.text for cell in row.cells] for row in written.tables[0].rows] == [["a", "b"], ["1", "2"]]


def test_the_same_report_gives_the_same_bytes():
    assert word_file("# A\n\n| a | b |\n| --- | ---: |\n| 1 | 2\\|3 |\n", "zh") == word_file(
        "# A\n\n| a | b |\n| --- | ---: |\n| 1 | 2\\|3 |\n", "zh"
    )


def test_a_report_that_asks_for_none_leaves_none_behind(towns, tmp_path):
    events = towns()
    options = ReportOptions(release="r1", docx=True)
    assert write_report(events, build_communities(events), options, tmp_path).docx is not None

    assert write_report(events, build_communities(events), replace(options, docx=False), tmp_path).docx is None
