"""Say how the amounts of statements that say alike are spread: from the least to the most, and whose the most is."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median_low
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.reports.facts import Amount, readable_amount

_LEAST: Final = 3
"""Documents that have an amount in the unit."""
_MOSTLY: Final = 0.5
"""Share of the documents that have one."""
_TYPES: Final = ("money", "quantity", "percentage")
_PER: Final = re.compile(r"\bper (?:share|unit|head|capita|cent)\b|每股|每件|每人|\bfrom \W?\d|从\d")
"""An amount of something else than the others of its unit, or one that was left behind."""
_ZH: Final = {
    "CNY": "元",
    "USD": "美元",
    "EUR": "欧元",
    "GBP": "英镑",
    "HKD": "港元",
    "JPY": "日元",
    "week": "周",
    "month": "个月",
    "day": "天",
    "hour": "小时",
    "minute": "分钟",
    "year": "年",
    "person": "人",
    "t": "吨",
    "unit": "件",
    "item": "项",
    "year old": "岁",
}
"""Units as they are written in Chinese."""
_PLURALS: Final = frozenset("unit week day hour month year minute item piece person ton share".split())


@dataclass(frozen=True, slots=True)
class AmountSpread:
    """The least and the most of amounts in one unit, what lies in the middle, and how many documents have one."""

    least: Amount
    most: Amount
    middle: Amount
    documents: int


def spread_of(events: EventTable, rows: Rows) -> AmountSpread | None:
    """The spread of the amounts in the unit that most documents have; None where fewer than half have one.

    A statement with two amounts of a unit has none in it: which of them compares with the others is not known.
    """
    by_unit: defaultdict[tuple[str, str], list[Amount]] = defaultdict(list)
    for row in rows.tolist():
        for kind, amount in _amounts(events, row):
            by_unit[kind, amount.unit].append(amount)
    document = events.document
    wide = {unit: len({int(document[each.row]) for each in found}) for unit, found in by_unit.items()}
    whole = len(np.unique(document[rows]))
    usable = [unit for unit, count in wide.items() if count >= max(_LEAST, _MOSTLY * whole)]
    if not usable:
        return None
    unit = min(usable, key=lambda each: (-wide[each], _TYPES.index(each[0]) if each[0] in _TYPES else 9, each))
    found = sorted(by_unit[unit], key=lambda each: (each.number, each.row))
    most = max(found, key=lambda each: (each.number, -each.row))
    middle = median_low([each.number for each in found])
    return AmountSpread(found[0], most, next(each for each in found if each.number == middle), wide[unit])


def _amounts(events: EventTable, row: int) -> list[tuple[str, Amount]]:
    """The amounts of a statement that are the only ones of their unit."""
    if _PER.search(events.contents[row]):
        return []
    keys = events.keys
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    found = [
        (keys.types[key], Amount("", keys.values[key], float(keys.numbers[key] or 0), keys.units[key] or "", row))
        for key in events.links.key[start:end].tolist()
        if keys.numbers and keys.numbers[key] is not None and keys.types[key] != "date"
    ]
    counts = Counter((kind, each.unit) for kind, each in found)
    return [(kind, each) for kind, each in found if counts[kind, each.unit] == 1]


def told_range(least: Amount, most: Amount, language: str) -> tuple[str, str]:
    """Two amounts of one unit for readers of a language; the first without what the second repeats.

    Examples:
        >>> told_range(Amount("", "", 2e6, "USD", 0), Amount("", "", 3e8, "USD", 1), "en")
        ('2', '300 million USD')

    """
    (low, low_scale, low_unit), (high, scale, unit) = (_parts(each, language) for each in (least, most))
    if unit == "%" or (low_scale != scale and not (low_scale and scale)):
        return f"{low}{low_scale}{low_unit}", f"{high}{scale}{unit}"
    return (low if low_scale == scale else f"{low}{low_scale}"), f"{high}{scale}{unit}"


def told_amount(amount: Amount, language: str) -> str:
    """An amount for readers of a language: with a word for its scale, and its unit as it is written there.

    Examples:
        >>> [told_amount(Amount("", "", 2.5e8, "CNY", 0), language) for language in ("en", "zh")]
        ['250 million CNY', '2.5 亿元']

    """
    return "".join(_parts(amount, language))


def _parts(amount: Amount, language: str) -> tuple[str, str, str]:
    """The number, the word for its scale, and the unit."""
    shown = readable_amount(Amount("", f"{amount.number:,.10g}", amount.number, "", amount.row), language)
    number, _, scale = shown.partition(" ")
    scale, unit = f" {scale}" if scale else "", amount.unit
    if language == "zh":
        unit = _ZH.get(unit, unit)
    elif unit in _PLURALS and amount.number != 1:
        unit = "people" if unit == "person" else f"{unit}s"
    is_glued = unit in {"", "%"} or (bool(scale) and not unit.isascii())
    return number, scale, unit if is_glued else f" {unit}"
