"""Cast: who is named in which part of a long document, as a grid of names and parts with counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, escaped

WORDING: Wording = {
    "heading": ("Who and what is in which part", "各部分提到的名称"),
    "name": ("Name", "名称"),
    "everywhere": ("{name} is named in every part.", "{name}见于每个部分。"),
    "throughout": ("{name} is named in {count} of {all} parts.", "{name}见于 {all} 个部分中的 {count} 个。"),
    "only": ("{name} ({events}) is named in “{title}” alone.", "{name}（{events}）只见于“{title}”。"),
    "how": (
        "Events of each part that carry the name; the number above a column leads to the part.",
        "数字为该部分中带有此名称的事件数；列首的序号链接到该部分。",
    ),
}
_MOST: Final = 10
_LEAST: Final = 3
"""Names and parts of a grid, and events of a name, at least."""
_SHADES: Final = 4
_ALONE: Final = 2
"""Names of one part alone that the sentence says, at most."""


@dataclass(frozen=True, slots=True)
class CastRow:
    """A name: its events in each part, with the shade of each number, 0 for none."""

    name: str
    cells: tuple[tuple[int, int], ...]

    @property
    def parts(self) -> int:
        """Count of parts that name it."""
        return sum(1 for count, _ in self.cells if count)

    @property
    def events(self) -> int:
        """Count of events in all parts."""
        return sum(count for count, _ in self.cells)


@dataclass(frozen=True, slots=True)
class Cast:
    """The grid, and what stands out in it in words."""

    parts: tuple[RankedCommunity, ...]
    rows: tuple[CastRow, ...]
    telling: tuple[str, ...]


def build(context: ReportContext) -> Cast | None:
    """None where the themes are no parts in reading order, or too few names recur."""
    parts = context.ranking.communities
    if not context.communities.is_ordered or len(parts) < _LEAST:
        return None
    counts = context.keys.counts.tocsc()
    events = np.asarray(counts.sum(axis=0)).ravel()
    order = np.lexsort((np.arange(len(events)), -events)).tolist()
    named = [key for key in order if events[key] >= _LEAST and key in context.keys.said]
    if len(named) < _LEAST:
        return None
    rows = [_row(context, key, counts[:, [key]].toarray().ravel().tolist()) for key in named]
    return Cast(parts, tuple(rows[:_MOST]), tuple(_telling(context, parts, rows)))


def _row(context: ReportContext, key: int, counts: list[float]) -> CastRow:
    most = max(counts)
    shades = [ceil(_SHADES * count / most) for count in counts]
    return CastRow(
        context.events.keys.values[key], tuple((int(n), shade) for n, shade in zip(counts, shades, strict=True))
    )


def _telling(context: ReportContext, parts: tuple[RankedCommunity, ...], rows: list[CastRow]) -> Iterator[str]:
    """In how many parts the name of most events is, and the names that most events of one part alone carry."""
    messages, first = context.messages(WORDING), rows[0]
    told = messages.everywhere if first.parts == len(parts) else messages.throughout
    yield told.format(name=first.name, count=first.parts, all=len(parts))
    for each in [row for row in rows[:_MOST] if row.parts == 1][:_ALONE]:
        place = next(place for place, (count, _) in enumerate(each.cells) if count)
        counted = messages.counted(messages.event_count, each.events)
        yield messages.only.format(name=each.name, events=counted, title=parts[place].title)


def markdown(content: Cast, messages: Messages) -> Iterator[str]:
    """What stands out, and the grid."""
    yield from (f"## {messages.heading}", "", escaped(("" if messages.lang != "en" else " ").join(content.telling)), "")
    yield f"| {messages.name} | {' | '.join(f'{each.number}' for each in content.parts)} |"
    yield f"| --- |{' ---: |' * len(content.parts)}"
    for row in content.rows:
        yield f"| {escaped(row.name)} | {' | '.join(str(count) if count else '' for count, _ in row.cells)} |"
    yield ""


SECTION = ReportSection(name="cast", anchor="cast", build=build, markdown=markdown, wording=WORDING)
