"""Compose a report: build every section, then number all citations in reading order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sag_retrieval.core.records import make_id
from sag_retrieval.reports.citations import Citations, number_statements
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections import SECTIONS

T = TypeVar("T")


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
