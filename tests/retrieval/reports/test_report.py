"""The written report: complete, cited, harmless, and the same every time."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.reports.citations import cut
from sag_retrieval.reports.context import page_language
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.ranking import central_row
from sag_retrieval.reports.report import REPORT_SCHEMAS, write_report
from sag_retrieval.reports.series import Previous
from sag_retrieval.topics.naming import name_communities

ROOT = Path(__file__).parents[3]
OPTIONS = ReportOptions(title="Town news", release="r0123", released="2024-06-01")


@dataclass
class Page(HTMLParser):
    """What a browser would find in the page."""

    text: str
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    styled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._mark = ""
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src", "action") if name in given]
        self.styled += [tag] if "style" in given or any(name.startswith("on") for name in given) else []
        if tag == "mark" and "id" in given:
            self._mark = given["id"]
            self.marks[self._mark] = ""

    def handle_data(self, data):
        if self._mark:
            self.marks[self._mark] += data

    def handle_endtag(self, tag):
        if tag == "mark":
            self._mark = ""


def written(events, out, previous=None, options=OPTIONS, communities=None):
    communities = communities or name_communities(events, build_communities(events)).communities
    report = write_report(events, communities, options, out, previous)
    return report, Page(report.page.read_text(encoding="utf-8"))


def known(events):
    """What a report of the release r0123 about these events leaves for the next one."""
    return Previous("r0123", frozenset(events.event_ids))


@pytest.mark.parametrize("languages", [("en",), ("zh",), ("en", "zh")])
def test_no_link_is_dead_no_id_is_double_and_nothing_is_outside(towns, tmp_path, languages):
    _, page = written(towns(languages=languages, months=8), tmp_path)

    assert len(page.ids) == len(set(page.ids))
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert page.styled == []


def test_every_citation_leads_to_the_sentence_that_holds_the_event(towns, tmp_path):
    events = towns(languages=("en", "zh"), months=6)

    report, page = written(events, tmp_path)
    cited = {link[1:] for link in page.links if re.fullmatch(r"#s\d+-\d+", link)}

    rows = pq.read_table(report.tables["report_events"]).to_pylist()
    texts = dict(zip(events.chunks.chunk_ids, events.chunks.texts, strict=True))
    contents = dict(zip(events.event_ids, events.contents, strict=True))
    assert len(rows) == len(events)
    for row in rows:
        assert texts[row["chunk_id"]][row["span_start"] : row["span_end"]] == contents[row["event_id"]]
    assert cited
    assert {page.marks[mark] for mark in cited if mark in page.marks} <= set(contents.values())


@pytest.mark.slow
def test_real_events_without_spans_are_cited_by_their_most_similar_sentence(dragonball_zh, tmp_path):
    report, page = written(dragonball_zh, tmp_path)

    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert "近似" in page.text
    assert report.page_bytes < 1_000_000


def test_the_page_comes_from_release_and_options_alone(towns, tmp_path):
    events = towns()

    one, two = (written(events, tmp_path / name)[0] for name in ("one", "two"))

    for file in ("page", "markdown"):
        assert getattr(one, file).read_bytes() == getattr(two, file).read_bytes()
    for name in REPORT_SCHEMAS:
        assert one.tables[name].read_bytes() == two.tables[name].read_bytes()


@pytest.mark.slow
def test_communities_and_page_are_the_same_in_every_process(tmp_path):
    program = (
        "import sys; from pathlib import Path; from tests.support.planted import planted;"
        "from sag_retrieval.clusters.clustering import build_communities as build;"
        "from sag_retrieval.reports.options import ReportOptions as Options;"
        "from sag_retrieval.reports.report import write_report as write;"
        "events = planted(200)[0]; write(events, build(events), Options(), Path(sys.argv[1]))"
    )
    pages, communities = set(), set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", program, str(tmp_path / seed)], cwd=ROOT, env=environment, check=True)
        pages.add((tmp_path / seed / "report.html").read_bytes())
        communities.add((tmp_path / seed / "report_communities.parquet").read_bytes())

    assert len(pages) == len(communities) == 1


def test_hostile_texts_stay_text(towns, tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\u202e"
    events = towns(titles={"en-2024-01": evil})
    events = replace(
        events,
        contents=[evil, *events.contents[1:]],
        keys=replace(events.keys, values=[evil, *events.keys.values[1:]]),
        chunks=replace(events.chunks, texts=[f"{evil}. {events.chunks.texts[0]}", *events.chunks.texts[1:]]),
        spans=np.full((len(events), 2), -1, np.int32),
    )

    report, page = written(events, tmp_path, options=replace(OPTIONS, title=evil))

    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert "onerror=alert" in page.text
    assert page.styled == []
    markdown = report.markdown.read_text(encoding="utf-8")
    assert "<script" not in re.sub(r"\\<", "", markdown)
    assert "\u202e" not in markdown.split("\n")[0]


def test_the_policy_allows_this_style_and_this_script_alone(towns, tmp_path):
    from base64 import b64encode
    from hashlib import sha256

    _, page = written(towns(), tmp_path)

    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.text)[1]
    assert policy.startswith("default-src &#39;none&#39;")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL)[1]
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy


def test_without_a_report_of_an_earlier_release_nothing_is_compared(towns, tmp_path):
    _, page = written(towns(), tmp_path)

    assert "no report of an earlier release" in page.text
    assert "New since the last report" not in page.text


def test_the_page_has_the_language_of_most_of_its_text_and_a_series_keeps_it_until_three_fifths_are_in_the_other(towns):
    both = towns(languages=("en", "zh"), months=4)
    chinese, english = (
        [each for each in range(len(both)) if (both.documents.languages[int(both.document[each])] == code)]
        for code in ("zh", "en")
    )
    told = ["字" * 10 if row in {*chinese} else "w" * 31 for row in range(len(both))]
    even = replace(both, contents=told)
    most = replace(both, contents=["字" * 20 if row in {*chinese} else text for row, text in enumerate(told)])
    auto = replace(OPTIONS, language="auto")

    assert len(chinese) == len(english)
    assert [page_language(even, auto, kept) for kept in ("", "zh", "en")] == ["en", "zh", "en"]
    assert [page_language(most, auto, kept) for kept in ("", "zh", "en")] == ["zh", "zh", "zh"]
    assert page_language(most, replace(auto, language="en")) == "en"


def test_a_second_report_says_what_is_new(towns, tmp_path):
    previous = known(towns(languages=("zh",), months=4))

    report, page = written(towns(languages=("zh",), months=6), tmp_path / "second", previous)

    assert report.counts["new"] == 12
    assert "与版本 r0123 的报告相比新增 12 条陈述" in page.text
    assert "上次报告以来的新内容" in page.text
    new = pq.read_table(report.tables["report_events"]).filter(pq.read_table(report.tables["report_events"])["is_new"])
    assert {date[:7] for date in new["date"].to_pylist()} == {"2024-05", "2024-06"}


def test_a_second_report_names_the_documents_of_new_events_and_counts_the_gone(towns, tmp_path):
    previous = known(towns(languages=("zh",), months=4))

    _, page = written(towns(languages=("zh",), months=4, first_month=3), tmp_path / "second", previous)

    told = "与版本 r0123 相比，新增 12 条陈述，来自 2 篇文档：“News zh-2024-05”、“News zh-2024-06”；消失 12 条陈述。"
    assert told in page.text


def test_a_topic_is_told_by_a_sentence_rather_than_a_row_of_a_table(towns, tmp_path):
    events = towns()
    first = {int(each.members[0]) for each in build_communities(events).at(0)}
    rows = [f"{text} | 12 | x" if row in first else text for row, text in enumerate(events.contents)]

    report, page = written(replace(events, contents=rows), tmp_path)

    topics = page.text[page.text.index('<section id="topics"') :].partition("</section>")[0]
    assert report.counts["communities"] == len(first) == topics.count("<article")
    assert "| 12 |" not in topics


def test_an_unchanged_release_says_so(towns, tmp_path):
    events = towns()
    communities = build_communities(events)
    previous = Previous("r0122", frozenset(events.event_ids))

    _, page = written(events, tmp_path, previous, communities=communities)

    assert "Nothing has changed since r0122." in page.text


def test_a_range_without_events_is_a_page_that_says_how_to_widen_it(towns, tmp_path):
    events = towns(months=0)
    options = replace(OPTIONS, scope="date > '2030'", events_before=120, language="en")

    report, page = written(events, tmp_path, options=options)

    assert "The chosen range holds nothing." in page.text
    assert "There are 120 statements before the range and 0 after it." in page.text
    assert "date &gt; &#39;2030&#39;" in page.text
    assert report.counts["events"] == 0
    assert report.markdown.read_text(encoding="utf-8").startswith("# Town news")


def test_a_topic_without_summary_is_told_by_its_central_statement(towns, tmp_path):
    events = towns()
    communities = name_communities(events, build_communities(events)).communities
    bare = replace(communities, communities=tuple(replace(each, summary=()) for each in communities))

    _, page = written(events, tmp_path, communities=bare)

    summaries = re.findall(r'<p class="summary">(.*?)</p>', page.text, re.DOTALL)
    assert len(summaries) == page.text.count("<article")
    assert all(summary.count('class="cite"') == 1 for summary in summaries)


def test_above_the_limits_the_page_says_what_is_not_listed(towns, tmp_path):
    options = replace(OPTIONS, articles=3)

    report, page = written(towns(languages=("en", "zh"), months=12), tmp_path, options=options)

    assert "Further topics: " in page.text
    assert page.text.count("<article") == 3
    assert pq.read_table(report.tables["report_events"]).num_rows == 144


def test_a_passage_in_another_language_says_so(towns, tmp_path):
    events = towns(languages=("en", "zh"), months=6)
    named = name_communities(events, build_communities(events)).communities
    titled = tuple(replace(each, summary=()) for each in named)

    communities = replace(named, communities=titled)
    _, page = written(events, tmp_path, options=replace(OPTIONS, language="en"), communities=communities)

    assert '<html lang="en">' in page.text
    assert '<blockquote lang="zh-Hans">' in page.text
    assert '<span lang="zh-Hans">' in page.text


def test_the_markdown_twin_says_the_same_with_footnotes(towns, tmp_path):
    report, page = written(towns(), tmp_path)

    markdown = report.markdown.read_text(encoding="utf-8")
    used, defined = (
        set(re.findall(r"\[\^(\d+)\](?!:)", markdown)),
        set(re.findall(r"^\[\^(\d+)\]:", markdown, re.MULTILINE)),
    )
    assert used == defined
    assert report.headline in markdown
    for heading in ("Topics", "What lies here", "How this page was made"):
        assert f"## {heading}" in markdown
        assert heading in page.text


@pytest.mark.slow
def test_the_preview_is_short_and_starts_with_the_headline(dragonball_zh, tmp_path):
    report, _ = written(dragonball_zh, tmp_path)

    assert len(report.preview.encode()) <= 2_000
    assert report.headline[:12] in report.preview
    assert len(report.largest) == 10


def test_tables_have_the_columns_they_promise(towns, tmp_path):
    report, _ = written(towns(), tmp_path)

    for name, schema in REPORT_SCHEMAS.items():
        assert pq.read_schema(report.tables[name]).equals(schema)


def test_the_central_statement_is_the_one_most_like_all_that_can_be_quoted(towns):
    events = towns(months=6)
    told = ["It rose.", *["The council of Old Town sold 40 lamps in 2021."] * (len(events) - 1)]
    alike = np.array([[1, 0]] * (len(events) - 1) + [[0, 1]], np.float32)
    events = replace(events, contents=told, vectors=alike)
    members = np.arange(len(events), dtype=np.int32)

    assert central_row(events, members) == 1  # row 0 is as near, but says nothing alone
    assert central_row(events, members[:1]) == -1


def test_a_passage_is_cut_around_its_cited_sentences():
    text = "A first sentence that nobody cites. " * 10 + "The cited one. " + "More that nobody cites. " * 10
    start = text.index("The cited")

    pieces = cut(text, {(start, start + 14): 1})

    assert [piece.text for piece in pieces if piece.cited] == ["The cited one."]
    assert pieces[0].text == "… "
    assert pieces[-1].text == " …"
    assert len("".join(piece.text for piece in pieces)) < 14 + 2 * 90


def test_overlapping_citations_keep_a_mark_each():
    pieces = cut("abcdef", {(0, 4): 1, (2, 6): 2})

    assert [(piece.text, piece.marks, piece.cited) for piece in pieces] == [
        ("ab", (1,), True),
        ("cd", (2,), True),
        ("ef", (), True),
    ]


@pytest.mark.parametrize(("name", "value"), [("articles", 0), ("articles", 100_000), ("language", "fr")])
def test_a_report_option_out_of_bounds_is_refused(name, value):
    with pytest.raises(SettingsError, match=f"{name}=.*{value}.* must be"):
        ReportOptions(**{name: value})
