"""Options for reports."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal

Language = Literal["auto", "zh", "en"]
PrintedText = Annotated[str, Internal()]
PrintedCount = Annotated[int, Internal()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(CheckedOptions):
    """Title, subject and length of a report.

    Release, range, counts around the range and models are only printed: the caller has chosen the events.

    Raises:
        SettingsError: If a value is out of bounds, with the value and the bound.

    """

    title: str = ""
    """Title of the page; empty: the kind of page."""
    language: Language = "auto"
    """Of the page's own texts; `auto`: that of most of the text, and of the report before until it has three fifths."""
    template: str = ""
    """Folder whose files replace those of the page that have their names: `page.html.j2`, `style.css`, …"""
    release: PrintedText = ""
    released: PrintedText = ""
    """Date of the release: the report has no other date."""
    scope: PrintedText = ""
    """The `sql` or `where` that chose the events; empty: everything."""
    period: PrintedText = ""
    since: PrintedText = ""
    """Release of the last report, for one about what is new since."""
    events_before: PrintedCount = 0
    events_after: PrintedCount = 0
    """Events before and after the range, printed where the range holds none."""
    models: PrintedText = ""
    cluster: ClusterOptions = field(default_factory=lambda: ClusterOptions(method="topics"))
    """How events become communities: by default topics, which go across documents."""
    articles: Annotated[int, Bounds(1, 10_000)] = 20
    """Topics on the page, the largest; the others are counted."""
    statement_scorer: str = "features"
    """What tells which statements can be quoted: `features`, or the name of one that another package adds."""
    titler: str = "terms"
    """What gives topics their titles without a model: `terms`, or the name of one that another package adds."""
    docx: bool = False
    """Also write `report.docx`, for those who edit the report."""

    model_themes: Annotated[int, Bounds(1, 1_000), Internal()] = 20
    """Topics that a language model writes about, the largest."""
    prompt_tokens: Annotated[int, Bounds(200, 1_000_000)] = 6_000
    """Estimated tokens of events in one prompt."""
    max_calls: Annotated[int, Bounds(0, 100_000)] = 80
    """Calls for one report, kept by leaving out the smallest topics before any is made; 0: no model writes."""
    max_tokens: Annotated[int, Bounds(0)] = 400_000
    """Estimated tokens sent and received for one report, kept in the same way."""
