"""Write a report: the HTML page, the same as Markdown, and its tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.naming import name_communities
from sag_retrieval.core import public
from sag_retrieval.core.errors import QueryError, nearest, shown
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.models.protocols import ChatModel, Usage
from sag_retrieval.reports.compose import compose, render_markdown, render_page, render_preview
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.section import make_context
from sag_retrieval.reports.sections.header import SECTION as HEADER
from sag_retrieval.reports.series import Previous
from sag_retrieval.reports.tables import report_tables

PAGE_FILE = "report.html"
MARKDOWN_FILE = "report.md"


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Convertible):
    """The written files, and the key figures of the report."""

    report_id: str
    folder: Path
    page: Path
    markdown: Path
    tables: Mapping[str, Path]
    headline: str
    counts: Mapping[str, int]
    """events, documents, communities, keys, new, single, citations."""
    preview: str
    """Markdown of at most two kilobytes: facts, five communities, changes."""
    largest: tuple[tuple[str, int, int], ...]
    """Title, events and new events of the ten largest communities."""
    page_bytes: int
    usage: Usage
    """Of titles and summaries, where the communities had none."""
    previous: str = ""
    """Release of the report before it in its series; empty for the first."""
    fault: str = ""
    """Why it could not be compared with the report before; empty if it was, or is the first."""

    def __repr__(self) -> str:
        return f"Report({self.headline!r}, {self.counts['events']} events, {self.counts['communities']} communities)"

    def _repr_html_(self) -> str:
        return public.html("report", made=self)

    def to_dict(self) -> dict[str, Any]:
        """Headline, files and counts as plain values: what `sag report --json` prints."""
        return {
            "headline": self.headline,
            "page": str(self.page),
            "markdown": str(self.markdown),
            "tables": {name: str(path) for name, path in self.tables.items()},
            "counts": dict(self.counts),
            "previous": self.previous,
            "fault": self.fault,
        }

    def to_arrow(self, table: str = "report_communities") -> pa.Table:
        """One of the report's tables, by default one row for each community.

        Example:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     report = release.report(period="2022..2023")
            >>> report.to_arrow("report_events").num_rows == report.counts["events"]
            True

        Args:
            table: One of `report.tables`.

        Raises:
            QueryError: If the report has no table of this name.

        """
        if table not in self.tables:
            known = ", ".join(self.tables)
            raise QueryError(f"table {shown(table)} is none of {known}{nearest(table, self.tables)}")
        return pq.read_table(self.tables[table])


def write_report(
    events: EventTable,
    communities: Communities,
    options: ReportOptions,
    out: Path,
    previous: Previous | None = None,
    chat: ChatModel | None = None,
) -> Report:
    """Write `report.html`, `report.md` and the tables `report_*.parquet` into a folder.

    The same inputs give the same bytes. Communities without a title are named first, by the model if given.

    Raises:
        ModelUnavailable: If communities have to be named and the model's server is gone.
        BudgetExceeded: If the budget is used up meanwhile.

    """
    usage = Usage()
    if any(not each.title for each in communities):
        named = name_communities(events, communities, chat)
        communities, usage = named.communities, named.usage
        options = replace(options, failures=options.failures + named.failures)
    context = make_context(events, communities, options, previous)
    content = compose(context)
    header = content.of(HEADER)
    out.mkdir(parents=True, exist_ok=True)
    page, markdown = out / PAGE_FILE, out / MARKDOWN_FILE
    html = render_page(content, context).encode("utf-8", "replace")
    page.write_bytes(html)
    markdown.write_bytes(render_markdown(content, context).encode("utf-8", "replace"))
    tables = {}
    for name, table in report_tables(content, context, events).items():
        tables[name] = out / f"{name}.parquet"
        pq.write_table(table, tables[name], compression="zstd")
    return Report(
        report_id=content.report_id,
        folder=out,
        page=page,
        markdown=markdown,
        tables=tables,
        headline=header.headline if header else "",
        counts={**context.counts, "citations": content.citations.count},
        preview=render_preview(content, context),
        largest=tuple((each.title, each.size, each.new_count) for each in context.ranking.communities[:10]),
        page_bytes=len(html),
        usage=usage,
    )
