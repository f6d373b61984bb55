"""Facts of a theme: its amounts as rows, its dated statements, and statements of two documents that contradict."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags, Rows
from sag_retrieval.clusters.similarity import cosines
from sag_retrieval.statements.quoting import quotable
from sag_retrieval.topics.distinctive import names_something

_BEARERS: Final = ("organisation", "organization", "company", "person", "product", "place", "entity")
"""Types of keys that can have an amount, first choice first."""
_NO_BEARERS: Final = frozenset({"title", "heading", "topic", "action", "law", "work", "occasion"})
"""Types of texts that have none."""
_COUNTED: Final = frozenset({"quantity", "percentage"})
"""Types of amounts that differ in kind from one to the next; those of one's own and money can be compared."""
_AMOUNTS: Final = 4
_DATED: Final = 3
_JUDGED: Final = 1_500
_FOR_ONE_AMOUNT: Final = 50
_ALIKE: Final = 0.6
_LAST_FIGURE: Final = re.compile(r"\d\D*$")
_NO_SUBJECT: Final = re.compile(
    r"\b(?:of|by|with|from|to|for|at|on|in|between|against|the company|the board)\s+(?:the\s+)?$"
    r"|(?:对|向|与|和|由|被|给|在|公司[^，]{0,12})[“\"]?$|[“\"]$"
)
"""What stands before a name that is not the subject of its sentence."""
_SCALES: Final = {
    "en": ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")),
    "zh": ((1e12, "万亿"), (1e8, "亿"), (1e4, "万")),
}
"""Words for large numbers, the largest first."""
_CONFLICTS: Final = 2


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount that an event states: who has it, how it is shown, its number and unit, and the event's row."""

    who: str
    shown: str
    number: float
    unit: str
    row: int


def amounts_of(events: EventTable, rows: Rows) -> list[Amount]:
    """At most one amount for each event and bearer, of whole statements, in the order of the rows."""
    keys = _keys_by_event(events, rows)
    found: list[Amount] = []
    for row, is_good in zip(rows.tolist(), quotable(events, rows).tolist(), strict=True):
        measured = [key for key in keys[row] if _is_amount(events, key)]
        who = _bearer(events, row, keys[row])
        if len(measured) == 1 and who and is_good:
            key = measured[0]
            number = events.keys.numbers[key]
            found.append(Amount(who, events.keys.values[key], float(number or 0), events.keys.units[key] or "", row))
    return found


def chosen_amounts(events: EventTable, rows: Rows, most: int = _AMOUNTS) -> list[Amount]:
    """The largest amounts in the unit that most of them have, one for each bearer; none for fewer than three."""
    found = amounts_of(events, rows[:_JUDGED])
    units = Counter(each.unit for each in found)
    if not units:
        return []
    unit = min(units, key=lambda name: (-units[name], name))
    best: dict[str, Amount] = {}
    for each in sorted((each for each in found if each.unit == unit), key=lambda each: (-abs(each.number), each.row)):
        best.setdefault(each.who, each)
    chosen = list(best.values())[:most]
    return chosen if len(chosen) >= 3 else []  # noqa: PLR2004  fewer are no comparison


def largest_amounts(events: EventTable, most: int) -> list[Amount]:
    """The largest amounts of all events in the unit that most events have, one for each bearer."""
    keys = [key for key in range(len(events.keys.values)) if _is_amount(events, key)]
    uses = np.bincount(events.links.key, minlength=len(events.keys.values))
    units: Counter[str] = Counter()
    for key in keys:
        units[events.keys.units[key] or ""] += 0 if events.keys.types[key] in _COUNTED else int(uses[key])
    if not units:
        return []
    unit = min(units, key=lambda name: (-units[name], name))
    ordered = sorted(
        (key for key in keys if (events.keys.units[key] or "") == unit),
        key=lambda key: (-abs(events.keys.numbers[key] or 0), key),
    )
    best: dict[str, Amount] = {}
    for key in ordered:
        rows = np.sort(events.links.event[events.links.key == key])[:_FOR_ONE_AMOUNT]
        for each in amounts_of(events, rows):
            best.setdefault(each.who, each)
        if len(best) >= most:
            break
    return list(best.values())[:most]


def readable_amount(amount: Amount, language: str) -> str:
    """The amount with a word for its scale.

    Examples:
        >>> readable_amount(Amount("Marlow", "5,000,000,000 USD", 5e9, "USD", 0), "en")
        '5 billion USD'

    """
    for scale, word in _SCALES["zh" if language == "zh" else "en"]:
        if abs(amount.number) >= scale:
            shown = f"{amount.number / scale:,.4g}"
            return f"{shown} {word} {amount.unit}".rstrip()
    return amount.shown


def most_named(events: EventTable, is_name: Flags, most: int) -> list[tuple[str, int]]:
    """The names that most documents hold, with their count; people, organisations, places and products first."""
    width = len(events.documents.titles) + 1
    pairs = np.unique(events.links.key.astype(np.int64) * width + events.document[events.links.event])
    counts = np.bincount(pairs // width, minlength=len(events.keys.values))
    order = np.lexsort((np.arange(len(counts)), -counts)).tolist()
    for kinds in (_BEARERS[:-1], _BEARERS):
        names = (key for key in order if events.keys.types[key] in kinds and is_name[key])
        found = list(islice(names, most))
        if len(found) == most and counts[found[-1]] > 1:
            break
    return [(events.keys.values[key], int(counts[key])) for key in found]


def _is_amount(events: EventTable, key: int) -> bool:
    numbers = events.keys.numbers
    return bool(numbers) and numbers[key] is not None


def _bearer_rank(kind: str) -> int | None:
    """The place of a type among those that can have an amount; one's own come last, None for one that has none."""
    if kind in _NO_BEARERS:
        return None
    return _BEARERS.index(kind) if kind in _BEARERS else len(_BEARERS)


def _bearer(events: EventTable, row: int, keys: Sequence[int]) -> str:
    """The name that the amount belongs to: the first one in the text, if it is the subject and a figure follows."""
    text = events.contents[row]
    figure = _LAST_FIGURE.search(text)
    places = {
        key: events.keys.place_in(text, key)
        for key in keys
        if _bearer_rank(events.keys.types[key]) is not None and names_something(events.keys, key)
    }
    inside = [key for key in places if places[key] >= 0]
    best = min(inside, key=lambda key: (places[key], _bearer_rank(events.keys.types[key]) or 0), default=None)
    if best is None or figure is None or places[best] > figure.start() or _NO_SUBJECT.search(text[: places[best]]):
        return ""
    return events.keys.values[best]


def _keys_by_event(events: EventTable, rows: Rows) -> dict[int, list[int]]:
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1]))
    return {
        row: events.links.key[start:end].tolist()
        for row, start, end in zip(rows.tolist(), *starts.tolist(), strict=True)
    }


def dated_rows(events: EventTable, rows: Rows, without: Sequence[int], most: int = _DATED) -> list[int]:
    """Statements to quote that have a date, the most typical of each date, at most `most`, in time order."""
    found: dict[str, int] = {}
    judged = np.array([row for row in rows[:_JUDGED].tolist() if events.dates[row]], np.int32)
    for row in judged[quotable(events, judged)].tolist():
        date = events.dates[row] or ""
        if date not in found and row not in without:
            found[date] = row
        if len(found) == most:
            break
    return [found[date] for date in sorted(found)]


def conflicts_in(events: EventTable, rows: Rows, most: int = _CONFLICTS) -> list[tuple[int, int]]:
    """Pairs of alike statements of two documents about one name and date with different amounts of one unit."""
    by_subject: defaultdict[tuple[str, str, str], list[Amount]] = defaultdict(list)
    for each in amounts_of(events, rows[:_JUDGED]):
        date = events.dates[each.row]
        if date:
            by_subject[each.who, date, each.unit].append(each)
    return list(_differing(events, by_subject.values(), most))


def _differing(events: EventTable, groups: Iterable[list[Amount]], most: int) -> Iterator[tuple[int, int]]:
    document, left = events.document, most
    for group in groups:
        for one, two in combinations(group, 2):
            if not left:
                return
            apart = document[one.row] != document[two.row] and one.number != two.number
            if apart and _similarity(events, one.row, two.row) >= _ALIKE:
                left -= 1
                yield one.row, two.row


def _similarity(events: EventTable, one: int, two: int) -> float:
    return float(cosines(events.vectors, np.array([one], np.int32), np.array([two], np.int32))[0])
