"""Read digits with marks of thousands and decimals, or Chinese figures, as a number."""

from decimal import Decimal
from typing import Final

HAN_DIGITS: Final = "〇零一二两兩三四五六七八九十百千"
"""Figures and units of a Chinese number below ten thousand."""
_LONGEST_NUMBER: Final = 40
_COMMA_LANGUAGES: Final = frozenset("de fr es it nl pl cs sv da nb no fi hu pt ru uk tr ro bg el id vi".split())
"""Languages with a decimal comma."""


def read_number(written: str, language: str) -> Decimal | None:
    """The number that digits with their marks are, in Arabic or Chinese figures; None where they can be read in no way.

    A mark before other than three digits is decimal in every language; before three it is what the language uses.

    Examples:
        >>> [str(read_number(*each)) for each in (("1.500", "en"), ("1.500", "de"), ("1,5", "en"), ("三百五十", "zh"))]
        ['1.500', '1500.0', '1.5', '350']

    """
    if len(written) > _LONGEST_NUMBER:
        return None
    if not written[0].isdecimal():
        return _han_number(written)
    digits, mark, power = written.lower().replace("'", " ").replace("’", " ").partition("e")
    groups = digits.split()
    if any(len(group.partition(".")[0].partition(",")[0]) != 3 for group in groups[1:]):  # noqa: PLR2004  digits
        return None
    plain = _with_point("".join(groups), language)
    return Decimal(f"{plain}e{power}" if mark else plain) if plain else None


def _with_point(digits: str, language: str) -> str | None:
    """Digits with a decimal point and without marks of thousands; None where neither reading is one."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = "," if digits.rfind(",") > digits.rfind(".") else "."
    elif points + commas == 1:
        mark = "." if points else ","
        before, _, after = digits.partition(mark)
        is_group = len(after) == 3 and len(before) <= 3 and before != "0"  # noqa: PLR2004  digits of a group
        in_language = "," if language in _COMMA_LANGUAGES else "."
        decimal = ("," if mark == "." else ".") if is_group and mark != in_language else mark
    else:
        decimal = "," if points else "."
    whole, _, part = digits.rpartition(decimal) if decimal in digits else (digits, "", "")
    first, *groups = whole.replace("," if decimal == "." else ".", " ").split(" ")
    if decimal in whole or decimal in part or any(len(group) != 3 for group in groups):  # noqa: PLR2004
        return None
    if (part and not part.isdecimal()) or (groups and len(first) > 3):  # noqa: PLR2004
        return None
    return f"{first}{''.join(groups)}.{part or 0}"


def _han_number(written: str) -> Decimal | None:
    """`三百五十` is 350; None for digits in a row, which may be a year."""
    total, digit = 0, 0
    last = 10_000
    for character in written:
        if character in "十百千":
            unit = 10 ** ("十百千".index(character) + 1)
            if unit >= last:
                return None
            total, digit, last = total + (digit or 1) * unit, 0, unit
        elif digit:
            return None
        else:
            digit = "零一二三四五六七八九".find(character.replace("〇", "零").replace("两", "二").replace("兩", "二"))
    return Decimal(total + digit)
