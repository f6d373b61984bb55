"""Chart: the largest amounts that the documents name, or where amounts are few, which names are in which themes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.language.words import fold
from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.facts import largest_amounts, readable_amount
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped, table

WORDING: Wording = {
    "heading": ("In figures", "数字"),
    "amounts": ("The largest amounts named, in {unit}", "提到的最大金额或数量（{unit}）"),
    "spread": ("Who and what is in which theme", "哪些名称在哪些主题中"),
    "name": ("Name", "名称"),
    "how": (
        "Documents of each theme that name them; the stronger the colour, the more of all that name them.",
        "各主题中提到该名称的文档数；颜色越浓，占该名称全部文档的比例越大。",
    ),
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
    "gathered_all": (
        "All {total} that name {name} are in “{theme}”.",
        "提到{name}的 {total}全部属于“{theme}”。",
    ),
    "gathered": (
        "{count} of the {total} that name {name} are in “{theme}”.",
        "提到{name}的 {total}中，有 {count} 属于“{theme}”。",
    ),
    "amount_source": (
        "Source: {statements} in {documents}, of each name the largest amount in this unit.",
        "来源：{documents}中的 {statements}，每个名称取该单位的最大值。",
    ),
    "statement_count": ("{count} statements", "{count} 句原文"),
    "name_source": (
        "Source: all {documents}; a document counts once for each name and theme.",
        "来源：全部 {documents}，每篇文档对每个名称和主题计一次。",
    ),
}
_LEADS: Final = 1.2
"""How many times the next one is of which a chart says that it stands out."""
_MOST: Final = 8
_LEAST: Final = 4
_COLUMNS: Final = 12
"""Themes beside each other that a narrow screen has room for."""
_SHADES: Final = 4
_GATHERED, _LEAST_GATHERED = 0.5, 4
"""Share of what names somebody that a chart says to be in one theme, and how much that is at least."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: whose, its share of the longest, what is written beside it, and the statement behind it."""

    name: str
    share: float
    shown: str
    statement: Statement | None


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name, in how many documents it is, and in how many of each theme with their shade from 0 to 4."""

    name: str
    total: int
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A title, its telling point in words, what it rests on, and its bars, the longest first, or names by theme."""

    title: str
    telling: str
    source: str
    bars: tuple[Bar, ...] = ()
    how: str = ""
    themes: tuple[RankedCommunity, ...] = ()
    spread: tuple[NameRow, ...] = ()


def build(context: ReportContext) -> Chart | None:
    """None where neither amounts nor names suffice for a chart."""
    messages = context.messages(WORDING)
    return _amounts(context, messages) or _spread(context, messages)


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
    ratio = abs(found[0].number) / (abs(found[1].number) or 1.0)
    telling = messages[f"amount_{'leads' if ratio >= _LEADS else 'close'}"].format(
        first=bars[0].name, second=bars[1].name, shown=bars[0].shown, next=bars[1].shown, ratio=f"{ratio:.2g}"
    )
    return Chart(title=messages.amounts.format(unit=found[0].unit), telling=telling, bars=bars, source=source)


def _spread(context: ReportContext, messages: Messages) -> Chart | None:
    """Documents that hold a name, by name and theme; of one document the parts show that."""
    largest = sorted(context.ranking.communities, key=lambda each: (-each.size, each.number))[:_COLUMNS]
    themes = tuple(sorted(largest, key=lambda each: each.number))
    keys = _named_keys(context)
    totals, counts = _counts(context.events, keys, themes)
    rows = tuple(
        NameRow(context.events.keys.values[key], int(total), tuple(_shaded(of_key, int(total))))
        for key, total, of_key in zip(keys, totals, counts, strict=True)
        if of_key.any()
    )
    if len(rows) < _LEAST or len(themes) < 2:  # noqa: PLR2004  names of one theme have no order
        return None
    documents = context.counts["documents"]
    told = filter(None, (_most(rows, documents, messages), _gathered(rows, themes, messages)))
    return Chart(
        title=messages.spread,
        telling=("" if messages.stop == "。" else " ").join(told),
        source=messages.name_source.format(documents=messages.counted(messages.document_count, documents)),
        how=messages.how,
        themes=themes,
        spread=rows,
    )


def _shaded(counts: Rows, total: int) -> Iterator[tuple[int, int]]:
    """Each count with its shade: its share of all that are in these themes."""
    whole = min(total, int(counts.sum()))
    return ((int(count), int(np.ceil(_SHADES * count / whole))) for count in counts)


def _named_keys(context: ReportContext) -> list[int]:
    """The keys of the names that most documents hold; none where each is in one."""
    if not context.named or context.named[0][1] < 2:  # noqa: PLR2004  one document each is no order
        return []
    events = context.events
    rows: dict[str, list[int]] = {name: [] for name, _ in context.named}
    for row, value in enumerate(events.keys.values):
        if value in rows and context.keys.is_name[row]:
            rows[value].append(row)
    return [max(found, key=lambda row: (context.keys.total[row], -row)) for found in rows.values() if found]


def _counts(events: EventTable, keys: Sequence[int], themes: Sequence[RankedCommunity]) -> tuple[Rows, Rows]:
    """Documents of each key, and of each key and theme."""
    theme = np.full(len(events), len(themes), np.int32)
    for place, each in enumerate(themes):
        theme[each.members] = place
    totals, counts = np.zeros(len(keys), np.int32), np.zeros((len(keys), len(themes) + 1), np.int32)
    for place, key in enumerate(keys):
        rows = np.unique(events.links.event[events.links.key == key])
        totals[place] = len(np.unique(events.document[rows]))
        pairs = np.unique(np.column_stack([theme[rows], events.document[rows]]), axis=0)
        counts[place] = np.bincount(pairs[:, 0], minlength=len(themes) + 1)
    return totals, counts[:, :-1]


def _most(rows: Sequence[NameRow], documents: int, messages: Messages) -> str:
    """How the first name compares with the next."""
    first, second = rows[0], rows[1]
    ratio = first.total / second.total
    return messages[f"name_{'leads' if ratio >= _LEADS else 'close'}"].format(
        first=first.name, second=second.name, ratio=f"{ratio:.2g}", share=f"{first.total / documents:.0%}"
    )


def _gathered(rows: Sequence[NameRow], themes: Sequence[RankedCommunity], messages: Messages) -> str:
    """The name that is most of all in one theme whose title does not say it; empty where none is."""
    found = [
        (count / row.total, count, row, theme)
        for row in rows[1:]
        for (count, _), theme in zip(row.cells, themes, strict=True)
        if count >= max(_GATHERED * row.total, _LEAST_GATHERED) and fold(row.name) not in fold(theme.title)
    ]
    if not found:
        return ""
    _, count, row, theme = max(found, key=lambda each: each[:2])
    total = messages.counted(messages.document_count, row.total)
    text = messages["gathered_all" if count == row.total else "gathered"]
    return text.format(name=row.name, count=f"{count:,}", total=total, theme=theme.title)


def markdown(content: Chart, messages: Messages) -> Iterator[str]:
    """The telling point, a list or table, and its source."""
    yield from (f"## {content.title}", "", escaped(content.telling), "")
    for each in content.bars:
        note = f": {cited(each.statement)}" if each.statement else ""
        yield f"- **{escaped(each.name)}** {escaped(each.shown)}{note}"
    if content.spread:
        head = [messages.name, messages.documents, *(str(each.number) for each in content.themes)]
        cells = [[str(count) if count else "" for count, _ in row.cells] for row in content.spread]
        yield from table(
            head, [[row.name, f"{row.total:,}", *of_row] for row, of_row in zip(content.spread, cells, strict=True)]
        )
    yield from ("", escaped(content.source), "")


SECTION = ReportSection(name="chart", anchor="chart", build=build, markdown=markdown, wording=WORDING)
