"""Build the sections of a report, number its citations, and render it as HTML, Markdown and a preview."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateError, select_autoescape
from markupsafe import Markup

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import make_id
from sag_retrieval.reports.citations import Citations, number_statements
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.sections import SECTIONS, ReportSection

_PACKAGE = "sag_retrieval.reports"
_PREVIEW_BYTES = 1_990
"""Two kilobytes with the end of the last line."""
_EMPTY_LINES: Final = re.compile(r"\n{3,}")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~^$])")
_LEADING: Final = re.compile(r"^(\s*)(?:([-+=])|(\d+)([.)]))")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A finished report: the numbered content of each section that it has, by name, in reading order."""

    parts: Mapping[str, Any]
    citations: Citations
    report_id: str


def compose(context: ReportContext, sections: Sequence[ReportSection] = SECTIONS) -> Content:
    """The whole report.

    Source:
        docs/algorithm.md §reports.6 to §reports.10.

    """
    return number({each.name: each.build(context) for each in sections}, context, sections)


def number(built: Mapping[str, Any], context: ReportContext, sections: Sequence[ReportSection] = SECTIONS) -> Content:
    """The built sections with numbered citations; the order in which they were built does not matter.

    Args:
        built: Content by name of section, None where the report does not have the section.
        context: What they were built from.
        sections: The sections in reading order.

    """
    citations = Citations(context.events)
    parts = {
        each.name: number_statements(built[each.name], citations.cite)
        for each in sections
        if built[each.name] is not None
    }
    if "sources" in parts:
        parts["sources"] = citations.sources()
    options, previous = context.options, context.comparison.previous
    before = previous.release if previous else ""
    report_id = make_id("r", options.release, options.scope, options.period, options.cluster, options.title, before)
    return Content(parts, citations, report_id)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A section as HTML; `heading` is empty where it is only a sentence, or has no heading at all."""

    name: str
    heading: str
    html: Markup
    is_folded: bool


@contextmanager
def own_templates(folder: str) -> Iterator[None]:
    """Name the folder of one's own templates in their errors.

    Raises:
        SettingsError: If it is no folder, or a file in it cannot be used.

    """
    if folder and not Path(folder).is_dir():
        raise SettingsError(f"template {folder!r} is no folder; make it, with files named like those of the page in it")
    try:
        yield
    except (TemplateError, UnicodeDecodeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise SettingsError(f"a file of template {folder!r} cannot be used: {told}") from error


def render_page(content: Content, context: ReportContext) -> str:
    """The page; the same content gives the same text.

    Everything that comes from data is escaped. The page's policy allows one style and one script, by their
    hashes, and no address at all: markup or scripts in a title have no effect.
    """
    folder = context.options.template
    style, script = (_asset(name, folder) for name in ("style.css", "script.js"))
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    rendered = (
        _environment(folder)
        .get_template("page.html.j2")
        .render(
            title=content.parts["header"].title,
            t=context.messages,
            style=Markup(style),  # noqa: S704  our own files
            script=Markup(script),  # noqa: S704
            policy=f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'",
            top=_drawn(content, context, is_top=True),
            main=_drawn(content, context, is_top=False),
            has_events=len(context.events) > 0,
        )
    )
    return rendered.rstrip()


def _drawn(content: Content, context: ReportContext, *, is_top: bool) -> list[_Drawn]:
    found = []
    for section in SECTIONS:
        if section.name in content.parts and section.is_top == is_top:
            html = _rendered(f"sections/{section.name}.html.j2", content, section.name, context)
            if html.strip():  # a heading alone is no section
                heading = _heading(section, content, context)
                found.append(_Drawn(section.name, heading, Markup(html), section.is_folded))  # noqa: S704  its template escapes
    return found


def _heading(section: ReportSection, content: Content, context: ReportContext) -> str:
    """The heading; none at the top, and none for changes that are only a sentence."""
    is_listed = getattr(content.parts[section.name], "statements", True)
    return context.messages[f"heading_{section.name}"] if is_listed and not section.is_top else ""


def _rendered(template: str, content: Content, name: str, context: ReportContext) -> str:
    environment = _environment(context.options.template)
    return environment.get_template(template).render(
        content=content.parts[name], t=context.messages, is_overview=context.is_overview
    )


def _environment(folder: str) -> Environment:
    """The templates of the page; those of a folder of one's own are read again for each report."""
    return _new_environment(folder) if folder else _usual_environment()


@lru_cache
def _usual_environment() -> Environment:
    return _new_environment("")


def _new_environment(folder: str) -> Environment:
    environment = Environment(
        loader=FunctionLoader(partial(_asset, folder=folder)),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["thousands"] = lambda count: f"{count:,}"
    environment.filters["md"] = escaped
    return environment


def _asset(name: str, folder: str = "") -> str:
    """A template, the style or the script of the page: of a folder of one's own where it has a file of that name."""
    own = Path(folder, name) if folder else None
    return own.read_text(encoding="utf-8") if own is not None and own.is_file() else _own_asset(name)


@lru_cache
def _own_asset(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def render_markdown(content: Content, context: ReportContext) -> str:
    """The report as GitHub-flavoured Markdown: same wording, tables instead of pictures, footnotes last."""
    parts = []
    for section in sorted(SECTIONS, key=lambda each: each.name == "sources"):
        if section.name in content.parts:
            told = _rendered(f"sections/{section.name}.md.j2", content, section.name, context).strip("\n")
            heading = _heading(section, content, context)
            has_heading = heading and told and section.name != "sources"
            parts += [f"## {heading}" if has_heading else "", told]
    lines = (line.rstrip() for part in filter(None, parts) for line in (*part.split("\n"), ""))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).rstrip() + "\n"


def render_preview(content: Content, context: ReportContext) -> str:
    """Figures, findings, the largest topics and changes as Markdown of at most 2,000 bytes, cut after a whole line."""
    environment = _environment(context.options.template)
    told = environment.get_template("preview.md.j2").render(parts=content.parts, t=context.messages)
    text = ""
    for line in _EMPTY_LINES.sub("\n\n", told).strip("\n").split("\n"):
        if len((text + line).encode()) > _PREVIEW_BYTES:
            return text
        text += line + "\n"
    return text


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, no list, no table cell that ends early."""
    return _LEADING.sub(_escape_start, _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))).replace("\n", " ")


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[1]}{match[3]}\\{match[4]}"
