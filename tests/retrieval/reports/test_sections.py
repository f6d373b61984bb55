"""The sections of a report: one place each, independent of one another, in both languages."""

import os
import random
import re
import shutil
import string
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.core.schema_file import read_schema
from sag_retrieval.reports.citations import Cite, CitedSource, Reference, Statement, number_statements
from sag_retrieval.reports.compose import compose, number, render_markdown, render_page
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.section import make_context
from sag_retrieval.reports.sections import NAMES, SECTIONS, sources
from sag_retrieval.reports.sections.communities import SECTION as COMMUNITIES
from sag_retrieval.reports.sections.header import SECTION as HEADER
from sag_retrieval.reports.series import Previous
from sag_retrieval.reports.wording import COMMON, Messages
from sag_retrieval.topics.naming import name_communities

ROOT = Path(__file__).parents[3]
LISTED = ROOT / "sag_retrieval" / "reports" / "sections"

MODULE = '''"""Languages: how many documents are in each language."""

from collections import Counter
from dataclasses import dataclass

from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.wording import cited
from sag_retrieval.reports.section import ReportSection

WORDING = {"heading": ("Languages", "语言")}


@dataclass(frozen=True)
class Languages:
    counts: tuple[tuple[str, int], ...]
    example: Statement


def build(context):
    counts = Counter(context.events.documents.languages)
    return Languages(tuple(sorted(counts.items())), context.statement(0, context.messages(WORDING).heading))


def markdown(content, messages):
    yield from (f"## {messages.heading}", "")
    yield from (f"- {language}: {count}" for language, count in content.counts)
    yield from (f"- {cited(content.example)}", "")


SECTION = ReportSection(name="languages", anchor="languages", build=build, markdown=markdown, wording=WORDING)
'''
TEMPLATE = """{% import "parts.html.j2" as parts %}
<ul>
{% for language, count in content.counts %}
<li>{{ language }}: {{ count }}</li>
{% endfor %}
<li>{{ parts.sentence(content.example) }}</li>
</ul>
"""


def context_of(events, **options):
    """What a second report with changes of every kind is built from."""
    communities = name_communities(events, build_communities(events)).communities
    half = [row for each in communities.at(0) for row in each.members[::2].tolist()]
    earlier = frozenset(events.event_ids[row] for row in half)
    previous = Previous(release="r0122", titles={"a": "All"}, members={"a": earlier})
    chosen = ReportOptions(title="Town news", release="r0123", **options)
    return make_context(events, communities, chosen, previous)


def cites_in(value):
    """The numbers of all citations in any content, in the order of fields."""
    if isinstance(value, Cite):
        return [value.reference]
    if isinstance(value, tuple):
        return [found for each in value for found in cites_in(each)]
    if is_dataclass(value):
        return [found for each in fields(value) for found in cites_in(getattr(value, each.name))]
    return []


@pytest.mark.parametrize("seed", range(5))
def test_sections_built_in_any_order_give_the_same_page(towns, seed):
    events = towns(languages=("en", "zh"), months=6)
    context, again = context_of(events), context_of(events)
    shuffled = random.Random(seed).sample(SECTIONS, len(SECTIONS))

    content = number({each.name: each.build(context) for each in shuffled}, context)

    expected = compose(again)
    assert render_page(content, context) == render_page(expected, again)
    assert render_markdown(content, context) == render_markdown(expected, again)


def test_a_section_built_twice_takes_no_number(towns):
    context = context_of(towns())
    for each in SECTIONS:
        each.build(context)

    assert render_page(compose(context), context) == render_page(compose(context_of(towns())), context)


def test_citations_are_numbered_as_the_page_is_read(towns):
    context = context_of(towns(languages=("en", "zh"), months=6), full_articles=2, typical=3)

    content = compose(context)

    page = render_page(content, context)
    read = [int(each) for each in re.findall(r'class="cite" id="r(\d+)"', page)]
    assert read == list(range(1, content.citations.count + 1))
    assert len(read) > 20
    first = list(dict.fromkeys(re.findall(r'class="cite"[^>]*>\[(\d+)\]', page)))
    assert first == [str(each + 1) for each in range(len(first))]


def test_other_sections_in_another_order_are_numbered_in_that_order(towns):
    context = context_of(towns())
    backwards = SECTIONS[:1] + SECTIONS[:0:-1]

    content = compose(context, backwards)

    absent = {"empty"} | {each.name for each in SECTIONS if each.build(context) is None}
    assert [each.name for each, _ in content] == [each.name for each in backwards if each.name not in absent]
    assert cites_in(tuple(own for each, own in content if each.name != "sources"))[0] == 1
    read = [int(each) for each in re.findall(r'class="cite" id="r(\d+)"', render_page(content, context))]
    assert read == list(range(1, content.citations.count + 1))


def test_statements_are_numbered_in_whatever_holds_them():
    @dataclass(frozen=True)
    class Held:
        first: Statement
        others: list[dict[str, tuple[Statement, ...]]]
        count: int = 3

    one, two, three = (Statement(str(row), (Reference(row, "here"),)) for row in (7, 8, 9))
    seen = []

    def cite(reference):
        seen.append(reference.row)
        return Cite(len(seen), 1, len(seen))

    numbered = number_statements(Held(one, [{"a": (two,)}, {"b": (three,)}]), cite)

    assert seen == [7, 8, 9]
    assert numbered.others[1]["b"][0] == replace(three, cites=(Cite(3, 1, 3),))
    assert numbered.count == 3


def test_each_section_is_a_module_and_a_template_and_nothing_else_lists_them():
    assert [each.name for each in SECTIONS] == list(NAMES)
    assert {each.name.removesuffix(".html.j2") for each in LISTED.glob("*.j2")} == set(NAMES)
    others = [*LISTED.parent.glob("*.py"), *LISTED.parent.glob("*.j2")]
    assert len(others) > 10
    for name in ("highlights", "timeline", "made"):  # the others are words of other things too
        assert [each.name for each in others if f'"{name}"' in each.read_text(encoding="utf-8")] == []


def test_messages_say_the_same_in_both_languages():
    for section in SECTIONS:
        for name, (english, chinese) in {**COMMON, **section.wording}.items():
            places = [
                sorted(place for _, place, _, _ in string.Formatter().parse(text) if place is not None)
                for text in (english, chinese)
            ]
            assert places[0] == places[1], (section.name, name)
            assert bool(english) == bool(chinese), (section.name, name)


def test_a_message_that_nobody_wrote_is_an_error_and_not_an_empty_text():
    with pytest.raises(AttributeError, match="there is no message 'headnig'"):
        _ = Messages("en").headnig


@pytest.mark.parametrize(("language", "labels"), [("en", ("Ship", "Subjects of a case")), ("zh", ("船舶", "案由"))])
def test_types_of_keys_are_called_as_in_the_schema_of_the_release(towns, language, labels):
    types = [
        {"name": "vessel", "label": {"en": "ship", "zh": "船舶"}},
        {"name": "case_subject", "label": {"en": "subjects of a case", "zh": "案由"}, "aliases": ["topic"]},
    ]
    events = towns(languages=(language,))
    kinds = ["vessel" if kind == "place" else kind for kind in events.keys.types]
    own = replace(events, keys=replace(events.keys, types=kinds, schema=read_schema({"types": types})))
    context = context_of(own, language=language)

    markdown = render_markdown(compose(context), context)

    assert all(f"- **{label}**: " in markdown for label in labels)
    assert markdown.index(f"**{labels[0]}**") < markdown.index(f"**{labels[1]}**")
    assert "vessel" not in markdown.casefold()


@pytest.mark.slow
def test_a_section_is_added_by_its_own_files_and_one_line(tmp_path):
    shutil.copytree(ROOT / "sag_retrieval", tmp_path / "sag_retrieval", ignore=shutil.ignore_patterns("__pycache__"))
    sections = tmp_path / "sag_retrieval" / "reports" / "sections"
    (sections / "languages.py").write_text(MODULE, encoding="utf-8")
    (sections / "languages.html.j2").write_text(TEMPLATE, encoding="utf-8")
    listing = (sections / "__init__.py").read_text(encoding="utf-8")
    added = listing.replace('    "keys",\n', '    "languages",\n    "keys",\n')
    assert len(added.splitlines()) == len(listing.splitlines()) + 1
    (sections / "__init__.py").write_text(added, encoding="utf-8")
    program = (
        "import sys; from pathlib import Path; from tests.support.planted import planted;"
        "import sag_retrieval; assert sag_retrieval.__file__.startswith(sys.argv[2]);"
        "from sag_retrieval.clusters.clustering import build_communities as build;"
        "from sag_retrieval.reports.options import ReportOptions as Options;"
        "from sag_retrieval.reports.report import write_report as write;"
        "from dataclasses import replace; events = planted(200)[0];"
        "events = replace(events, contents=['The harbour office counted 12 boats.'] * 200); write(events, build(events), Options(language='zh'), Path(sys.argv[1]))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out"), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        check=True,
    )

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    markdown = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert '<li><a href="#languages">语言</a></li>' in page
    assert page.index('<section id="communities"') < page.index('<section id="languages"') < page.index('id="keys"')
    assert re.search(r'id="languages-h">语言</h2>\n<ul>\n<li>(en|zh): \d+</li>', page)
    assert re.search(r"## 语言\n\n- (en|zh): \d+\n- .*\[\^\d+\]\n", markdown)
    assert ">语言" in page[page.index('<section id="communities"') :]


@pytest.mark.parametrize(
    ("language", "said"), [("en", "No sentence of them stands alone"), ("zh", "没有可以单独引用的句子")]
)
def test_a_pile_without_a_statement_says_so_and_names_who_is_in_it(towns, language, said):
    events = towns(languages=(language,))
    mute = replace(events, contents=[f"{row} | {row + 1} | 12 | 7" for row in range(len(events))])
    whole, empty = (
        render_markdown(compose(context), context)
        for context in (context_of(each, language=language) for each in (events, mute))
    )

    assert said in empty.splitlines()[2]
    assert said not in whole


@pytest.mark.parametrize(("language", "said"), [("en", "It names Old Town."), ("zh", "其中提到：旧城。")])
def test_a_theme_without_a_statement_names_what_is_in_it(towns, language, said):
    article = COMMUNITIES.build(context_of(towns(languages=(language,)), language=language)).themes[0].articles[0]
    place = "Old Town" if language == "en" else "旧城"
    mute = replace(article, summary=(), community=replace(article.community, main_keys=(place,)))

    assert mute.without_summary(Messages(language, COMMUNITIES.wording)).endswith(said)


def test_a_few_dates_are_not_the_period_of_a_pile(towns):
    events = towns(months=12)
    stray = replace(events, dates=["1843", *[None] * (len(events) - 1)])

    assert HEADER.build(context_of(events)).figures[-1][1] == "January – December 2024"
    assert HEADER.build(context_of(stray)).figures[-1][1] == "–"


def test_markdown_defines_the_footnotes_of_themes_too():
    passages = tuple(
        CitedSource(
            number=number, title="News", document_id="d", chunk_id="c", language="en", pieces=(),
            spans=((0, 5),), approximate=False, cited_by=(), first_cited=place,
        )
        for number, place in ((1, "findings"), (2, "3"))
    )  # fmt: skip

    content = sources.with_sources(sources.Sources(), passages)
    messages = Messages("en", COMMON)

    assert [line[:5] for line in sources.markdown(content, messages)] == ["[^1]:", "[^2]:"]
    assert [each.number for each in content.others] == [1]  # on the page a theme has its own
