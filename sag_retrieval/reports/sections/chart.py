"""Chart: the largest amounts that the documents name, or the names in most documents where amounts are few."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.facts import largest_amounts, readable_amount
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped

WORDING: Wording = {
    "heading": ("In figures", "数字"),
    "amounts": ("The largest amounts named, in {unit}", "提到的最大金额或数量（{unit}）"),
    "named": ("Named in most documents", "出现在最多文档中的名称"),
}
_MOST: Final = 8
_LEAST: Final = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: whose, its share of the longest, what is written beside it, and the statement behind it."""

    name: str
    share: float
    shown: str
    statement: Statement | None


@dataclass(frozen=True, slots=True)
class Chart:
    """A title and its bars, the longest first."""

    title: str
    bars: tuple[Bar, ...]


def build(context: ReportContext) -> Chart | None:
    """None where neither amounts nor names suffice for a chart."""
    messages = context.messages(WORDING)
    return _amounts(context, messages) or _names(context, messages)


def _amounts(context: ReportContext, messages: Messages) -> Chart | None:
    found = largest_amounts(context.events, _MOST)
    if len(found) < _LEAST or not found[0].unit:
        return None
    most = max(abs(each.number) for each in found) or 1.0
    bars = tuple(
        Bar(
            each.who,
            round(abs(each.number) / most, 3),
            readable_amount(each, context.language),
            context.statement(each.row, messages.heading),
        )
        for each in found
    )
    return Chart(messages.amounts.format(unit=found[0].unit), bars)


def _names(context: ReportContext, messages: Messages) -> Chart | None:
    named = context.named
    if len(named) < _LEAST or named[0][1] < 2:  # noqa: PLR2004  one document each is no order
        return None
    most = named[0][1]
    return Chart(
        messages.named,
        tuple(
            Bar(name, round(count / most, 3), messages.counted(messages.document_count, count), None)
            for name, count in named
        ),
    )


def markdown(content: Chart, _messages: Messages) -> Iterator[str]:
    """A list."""
    yield from (f"## {content.title}", "")
    for each in content.bars:
        note = f": {cited(each.statement)}" if each.statement else ""
        yield f"- **{escaped(each.name)}** {escaped(each.shown)}{note}"
    yield ""


SECTION = ReportSection(name="chart", anchor="chart", build=build, markdown=markdown, wording=WORDING)
