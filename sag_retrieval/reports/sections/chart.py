"""Chart: the largest amounts that the documents name, or the names in most documents where amounts are few."""

from collections.abc import Iterator, Sequence
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
    "amount_leads": (
        "{first} stands out with {shown}, {ratio} times the next: {second} with {next}.",
        "{first}以 {shown}居首，是其次{second}（{next}）的 {ratio} 倍。",
    ),
    "amount_close": (
        "The largest lie close together: {first} with {shown}, {second} with {next}.",
        "最大的几项相差不大：{first} {shown}，{second} {next}。",
    ),
    "name_leads": (
        "{first} is named in {share} of the documents, {ratio} times as many as the next, {second}.",
        "{first}出现在 {share} 的文档中，是其次{second}的 {ratio} 倍。",
    ),
    "name_close": (
        "{first} is named in {share} of the documents, {second} in nearly as many.",
        "{first}出现在 {share} 的文档中，{second}的文档数相近。",
    ),
    "amount_source": (
        "Source: {statements} in {documents}, of each name the largest amount in this unit.",
        "来源：{documents}中的 {statements}，每个名称取该单位的最大值。",
    ),
    "statement_count": ("{count} statements", "{count} 句原文"),
    "name_source": (
        "Source: all {documents}; a document counts once for each name.",
        "来源：全部 {documents}，每篇文档对每个名称计一次。",
    ),
}
_LEADS: Final = 1.2
"""How many times the next one is of which a chart says that it stands out."""
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
    """A title, its telling point in words, its bars, the longest first, and what they rest on."""

    title: str
    telling: str
    bars: tuple[Bar, ...]
    source: str


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
    source = messages.amount_source.format(
        statements=messages.counted(messages.statement_count, len({each.row for each in found})),
        documents=messages.counted(
            messages.document_count, len({int(context.events.document[each.row]) for each in found})
        ),
    )
    telling = _telling("amount", bars, abs(found[0].number), abs(found[1].number), messages)
    return Chart(messages.amounts.format(unit=found[0].unit), telling, bars, source)


def _names(context: ReportContext, messages: Messages) -> Chart | None:
    named = context.named
    if len(named) < _LEAST or named[0][1] < 2:  # noqa: PLR2004  one document each is no order
        return None
    most, documents = named[0][1], context.counts["documents"]
    bars = tuple(
        Bar(name, round(count / most, 3), messages.counted(messages.document_count, count), None)
        for name, count in named
    )
    telling = _telling("name", bars, most, named[1][1], messages, share=f"{most / documents:.0%}")
    source = messages.name_source.format(documents=messages.counted(messages.document_count, documents))
    return Chart(messages.named, telling, bars, source)


def _telling(kind: str, bars: Sequence[Bar], most: float, then: float, messages: Messages, share: str = "") -> str:
    """How the longest bar compares with the next: what a reader should see in the chart."""
    ratio = most / then if then else 0.0
    return messages[f"{kind}_{'leads' if ratio >= _LEADS else 'close'}"].format(
        first=bars[0].name,
        second=bars[1].name,
        shown=bars[0].shown,
        next=bars[1].shown,
        ratio=f"{ratio:.2g}",
        share=share,
    )


def markdown(content: Chart, _messages: Messages) -> Iterator[str]:
    """The telling point, a list and its source."""
    yield from (f"## {content.title}", "", escaped(content.telling), "")
    for each in content.bars:
        note = f": {cited(each.statement)}" if each.statement else ""
        yield f"- **{escaped(each.name)}** {escaped(each.shown)}{note}"
    yield from ("", escaped(content.source), "")


SECTION = ReportSection(name="chart", anchor="chart", build=build, markdown=markdown, wording=WORDING)
