"""Build the sections of a report, number its citations, and render it as HTML, Markdown and a preview."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import make_id
from sag_retrieval.reports.citations import Citations, number_statements
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections import SECTIONS
from sag_retrieval.reports.sections.header import SECTION as HEADER
from sag_retrieval.reports.theme_pages import ThemePage, theme_name

T = TypeVar("T")
_PACKAGE = "sag_retrieval.reports"
_PREVIEW_BYTES = 1_990
"""Two kilobytes with the end of the last line."""


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A finished report: the sections that it has, in reading order, with their numbered content."""

    sections: tuple[tuple[ReportSection[Any], Any], ...]
    citations: Citations
    report_id: str

    def of(self, section: ReportSection[T]) -> T | None:
        """The content of a section; None where the report does not have it."""
        return next((content for each, content in self.sections if each.name == section.name), None)

    def __iter__(self) -> Iterator[tuple[ReportSection[Any], Any]]:
        """The sections in reading order."""
        return iter(self.sections)


def compose(context: ReportContext, sections: Sequence[ReportSection[Any]] = SECTIONS) -> Content:
    """The whole report.

    Source:
        docs/algorithm.md §reports.6 to §reports.10.

    """
    return number({each.name: each.build(context) for each in sections}, context, sections)


def number(
    built: Mapping[str, Any], context: ReportContext, sections: Sequence[ReportSection[Any]] = SECTIONS
) -> Content:
    """The built sections with numbered citations; the order in which they were built does not matter.

    Args:
        built: Content by name of section, None where the report does not have the section.
        context: What they were built from.
        sections: The sections in reading order.

    """
    citations = Citations(context.events)
    kept = [each for each in sections if built[each.name] is not None]
    numbered = {each.name: number_statements(built[each.name], citations.cite) for each in kept}
    sources = citations.sources()
    for each in kept:
        if each.with_sources:
            numbered[each.name] = each.with_sources(numbered[each.name], sources)
    return Content(tuple((each, numbered[each.name]) for each in kept), citations, _report_id(context))


def _report_id(context: ReportContext) -> str:
    options, previous = context.options, context.comparison.previous
    before = previous.release if previous else ""
    return make_id("r", options.release, options.scope, options.period, options.cluster, options.title, before)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A section as HTML; `anchor` and `heading` are empty where it has no heading."""

    name: str
    anchor: str
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
    style, script, header = _asset("style.css", folder), _asset("script.js", folder), content.of(HEADER)
    page = _environment(folder).get_template("page.html.j2")
    text = page.render(
        title=header.title if header else "",
        t=context.messages(),
        top=_drawn(content, context, "top"),
        main=_drawn(content, context, "main"),
        has_events=len(context.events) > 0,
        style=Markup(style),  # noqa: S704  our own file
        script=Markup(script),  # noqa: S704  our own file
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
    )
    return text.rstrip()


def render_theme(page: ThemePage, content: Content, context: ReportContext) -> str:
    """The page of a theme: all of its events."""
    folder = context.options.template
    style, header = _asset("style.css", folder), content.of(HEADER)
    return (
        _environment(folder)
        .get_template("theme.html.j2")
        .render(
            page=page,
            title=header.title if header else "",
            t=context.messages(),
            style=Markup(style),  # noqa: S704  our own file
            policy=f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'",
        )
        .rstrip()
    )


def _drawn(content: Content, context: ReportContext, place: str) -> list[_Drawn]:
    found = []
    for section, own in content:
        if section.place == place:
            messages = context.messages(section.wording)
            template = _environment(context.options.template).get_template(f"sections/{section.name}.html.j2")
            html = Markup(template.render(content=own, t=messages))  # noqa: S704  its template escapes
            if html.strip():  # a heading alone is no section
                anchor = section.anchor if section.needs_heading(own) else ""
                heading = messages.heading if anchor else ""
                found.append(_Drawn(section.name, anchor, heading, html, section.is_folded))
    return found


def _environment(folder: str) -> Environment:
    """The templates of the page; those of a folder of one's own are read again for each report."""
    return _new_environment(folder) if folder else _usual_environment()


@lru_cache
def _usual_environment() -> Environment:
    return _new_environment("")


def _new_environment(folder: str) -> Environment:
    environment = Environment(
        loader=FunctionLoader(partial(_asset, folder=folder)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["thousands"] = lambda count: f"{count:,}"
    environment.filters["theme_name"] = theme_name
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
    return "\n".join(line.rstrip() for line in _lines(content, context)).rstrip() + "\n"


def _lines(content: Content, context: ReportContext) -> Iterator[str]:
    for section, own in sorted(content, key=lambda each: each[0].is_footnotes):
        lines = section.markdown(own, context.messages(section.wording))
        needs_heading = section.needs_heading(own)
        yield from (line for line in lines if needs_heading or not line.startswith("#"))


def render_preview(content: Content, context: ReportContext) -> str:
    """Key figures, highlights and changes as Markdown of at most 2,000 bytes, cut after a whole line."""
    text = ""
    for section, own in content:
        for line in section.preview(own, context.messages(section.wording)):
            if len((text + line).encode()) > _PREVIEW_BYTES:
                return text
            text += line + "\n"
    return text
