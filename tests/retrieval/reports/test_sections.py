"""The sections of a report: one place each, independent of one another, in both languages."""

import os
import random
import re
import shutil
import string
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.citations import Cite, Reference, Statement, number_statements
from sag_retrieval.reports.context import Messages, make_context, messages_in
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.render import compose, number, render_markdown, render_page
from sag_retrieval.reports.sections import SECTIONS
from sag_retrieval.reports.series import Previous
from sag_retrieval.topics.naming import name_communities

ROOT = Path(__file__).parents[3]
LISTED = ROOT / "sag_retrieval" / "reports"

BUILDER = '''

def build_languages(context):
    """How many documents are in each language."""
    from collections import Counter
    counts = Counter(context.events.documents.languages)
    return {"counts": tuple(sorted(counts.items())), "example": context.statement(0, context.messages.heading_languages)}


SECTIONS = (*SECTIONS[:-1], ReportSection(name="languages", build=build_languages), SECTIONS[-1])
'''
HTML = """{% import "parts.html.j2" as parts %}
<ul>
{% for language, count in content.counts %}
<li>{{ language }}: {{ count }}</li>
{% endfor %}
<li>{{ parts.sentence(content.example) }}</li>
</ul>
"""
MARKDOWN = """{% import "parts.md.j2" as parts %}
{% for language, count in content.counts %}
- {{ language }}: {{ count }}
{% endfor %}
- {{ parts.cited(content.example) }}
"""


def context_of(events, **options):
    """What a second report with new statements is built from."""
    named = name_communities(events, build_communities(events)).communities
    communities = replace(named, communities=tuple(replace(each, summary=()) for each in named))  # as for an overview
    half = [row for each in communities.at(0) for row in each.members[::2].tolist()]
    earlier = frozenset(events.event_ids[row] for row in half)
    previous = Previous("r0122", earlier)
    chosen = ReportOptions(title="Town news", release="r0123", **options)
    return make_context(events, communities, chosen, previous)


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
    context = context_of(towns(languages=("en", "zh"), months=6))

    content = compose(context)

    page = render_page(content, context)
    read = [int(each) for each in re.findall(r'class="cite" id="r(\d+)"', page)]
    assert read == list(range(1, content.citations.count + 1))
    assert len(read) > 20
    first = list(dict.fromkeys(re.findall(r'class="cite"[^>]*>\[(\d+)\]', page)))
    assert first == [str(each + 1) for each in range(len(first))]


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


def test_each_section_has_a_template_for_the_page_and_one_for_markdown():
    names = {each.name for each in SECTIONS}

    for ending in (".html.j2", ".md.j2"):
        assert {each.name.removesuffix(ending) for each in (LISTED / "sections").glob(f"*{ending}")} == names


def test_messages_say_the_same_in_both_languages():
    english, chinese = (messages_in(language) for language in ("en", "zh"))

    assert english.keys() == chinese.keys()
    for name in english:
        places = [
            sorted(place for _, place, _, _ in string.Formatter().parse(text) if place is not None)
            for text in (english[name], chinese[name])
        ]
        assert places[0] == places[1], name
        assert bool(english[name]) == bool(chinese[name]) or name == "between", name


def test_every_message_is_used():
    files = [*LISTED.rglob("*.py"), *LISTED.rglob("*.j2")]
    text = "\n".join(each.read_text(encoding="utf-8") for each in files)

    unused = [name for name in messages_in("en") if not re.search(rf"\b{re.escape(name)}\b", text)]
    assert [name for name in unused if not name.startswith(("heading_", "kind_", "list_", "status_", "reason_"))] == []


def test_a_message_that_nobody_wrote_is_an_error_and_not_an_empty_text():
    with pytest.raises(AttributeError, match="there is no message 'headnig'"):
        _ = Messages("en").headnig


@pytest.mark.slow
def test_a_section_is_added_by_a_builder_two_templates_and_a_heading(tmp_path):
    shutil.copytree(ROOT / "sag_retrieval", tmp_path / "sag_retrieval", ignore=shutil.ignore_patterns("__pycache__"))
    reports = tmp_path / "sag_retrieval" / "reports"
    (reports / "sections" / "languages.html.j2").write_text(HTML, encoding="utf-8")
    (reports / "sections" / "languages.md.j2").write_text(MARKDOWN, encoding="utf-8")
    for file, text in (
        ("sections.py", BUILDER),
        ("en.toml", 'heading_languages = "Languages"\n'),
        ("zh.toml", 'heading_languages = "语言"\n'),
    ):
        with (reports / file).open("a", encoding="utf-8") as opened:
            opened.write(text)
    program = (
        "import sys; from pathlib import Path; from tests.support.planted import planted;"
        "import sag_retrieval; assert sag_retrieval.__file__.startswith(sys.argv[2]);"
        "from sag_retrieval.clusters.clustering import build_communities as build;"
        "from sag_retrieval.reports.options import ReportOptions as Options;"
        "from sag_retrieval.reports.report import write_report as write;"
        "from dataclasses import replace; events = planted(200)[0];"
        "events = replace(events, contents=[f'The harbour office counted {n} boats.' for n in range(200)]); write(events, build(events), Options(language='zh'), Path(sys.argv[1]))"
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
    assert page.index('<section id="topics"') < page.index('<section id="languages"') < page.index('id="made"')
    assert re.search(r'id="languages-h">语言</h2>\n<ul>\n<li>(en|zh): \d+</li>', page)
    assert re.search(r"## 语言\n\n- (en|zh): \d+\n- .*\[\^\d+\]\n", markdown)
