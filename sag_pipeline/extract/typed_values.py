"""Read the values that a model writes as the kind of their type: text, numbers with a unit, dates or flags."""

import re
from datetime import date
from typing import Final

from sag_pipeline.extract.keys import LONGEST_VALUE, make_key
from sag_retrieval.core.errors import nearest, shown
from sag_retrieval.core.key_schema import KeyType
from sag_retrieval.core.records import Key
from sag_retrieval.language.amounts import WrittenAmount, in_unit, read_amount
from sag_retrieval.language.dates import DATE, DAY, dates
from sag_retrieval.language.quantities import MONEY, PERCENTAGE, QUANTITY
from sag_retrieval.language.units import is_currency
from sag_retrieval.language.words import fold, normal_name

_BY_UNIT: Final = frozenset({MONEY, PERCENTAGE, QUANTITY})
"""Types that say no more than what their unit measures, so that the unit decides."""
_ISO: Final = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ]\d\d:.{0,30})?")
_FLAGS: Final = {
    **dict.fromkeys("true yes y 是 有 对 真 ja oui sí si да はい 예".split(), True),
    **dict.fromkeys("false no n 否 无 不是 没有 假 nein non нет いいえ 아니요".split(), False),
}
_DIMENSION: Final = re.compile(r"\s{0,4}([^\W\d][\w -]{0,59}?)\s{0,4}[=:：]\s{0,4}(\S.{0,20})")


class ValueRefused(ValueError):  # noqa: N818  always caught
    """A value is none of its type; the message says which value and what the type takes."""


def typed_keys(key_type: KeyType, value: str | float | bool, language: str = "en") -> list[Key]:  # noqa: FBT001  a value
    """The keys of one value: of a full date also its month and year, of a range its two ends.

    A number that cannot be read for certain stays text, such as `over 340`. Whatever else is no value of the type's
    kind is refused; an empty text gives no key.

    Examples:
        >>> from sag_retrieval.core.schema_file import default_schema
        >>> types = default_schema().default
        >>> [key.value for key in typed_keys(types.named("date"), "March 5, 2019")]
        ['2019-03-05', '2019-03', '2019']
        >>> [(key.value, key.unit) for key in typed_keys(types.named("quantity"), "10-12 MW")]
        [(10.0, 'MW'), (12.0, 'MW')]

    Raises:
        ValueRefused: If the value is none of the type.

    Source: docs/algorithm.md §extraction.28.
    """
    if isinstance(value, str) and not value.strip():
        return []
    text = value.strip() if isinstance(value, str) else str(value) if isinstance(value, bool) else f"{value:.15g}"
    if key_type.kind == "boolean":
        return _flag(key_type, text)
    if isinstance(value, bool):
        raise ValueRefused(f"{text} is no value of {key_type.name!r}, which takes a {key_type.kind}")
    if key_type.kind == "date":
        return _dates(key_type, text, language)
    return _numbers(key_type, text, language) if key_type.kind == "number" else _texts(key_type, text)


def _made(*keys: Key | None) -> list[Key]:
    return list(dict.fromkeys(key for key in keys if key is not None))


def _texts(key_type: KeyType, text: str) -> list[Key]:
    if key_type.values:
        allowed = {normal_name(each): each for each in key_type.values}
        if normal_name(text) not in allowed:
            known = ", ".join(key_type.values)
            raise ValueRefused(
                f"{shown(text)} is no value of {key_type.name!r}, which takes {known}{nearest(text, key_type.values)}"
            )
        text = allowed[normal_name(text)]
    found = _made(make_key(key_type.name, text))
    if not found:
        raise ValueRefused(
            f"{shown(text)} is no value of {key_type.name!r}: no word, or over {LONGEST_VALUE} characters"
        )
    return found


def _flag(key_type: KeyType, text: str) -> list[Key]:
    named = _DIMENSION.fullmatch(text)
    dimension, said = (named[1], named[2]) if named else ("", text)
    flag = _FLAGS.get(fold(said.strip()))
    if flag is None:
        raise ValueRefused(f"{shown(text)} is no value of {key_type.name!r}, which takes true or false")
    known = {fold(name.replace("_", " ")) for name in key_type.names}
    if not key_type.open and dimension and fold(dimension.replace("_", " ")) not in known:
        raise ValueRefused(f"{shown(text)} says nothing of {key_type.name!r}, which takes true or false")
    if not key_type.open:
        return _made(make_key(key_type.name, flag))
    if not dimension:
        raise ValueRefused(f"{shown(text)} of {key_type.name!r} does not say what is {text}; is_listed={text} would")
    return _made(make_key("_".join(dimension.split()), flag))


def _dates(key_type: KeyType, text: str, language: str) -> list[Key]:
    iso = _ISO.fullmatch(text)
    found = [] if iso else [(mention.key_type, str(mention.value)) for mention in dates(text, language)]
    if iso:
        found = [(DATE, day) for day in _iso_dates(*iso.groups())]
    if not found:
        raise ValueRefused(f"{shown(text)} is no value of {key_type.name!r}, which takes a date such as 2024-03-05")
    return _made(*(make_key(DAY if kind == DAY else key_type.name, day) for kind, day in found))


def _iso_dates(year: str, month: str | None, day: str | None) -> list[str]:
    """A day, its month and its year; none if there is no such day."""
    try:
        found = date(int(year), int(month or 1), int(day or 1)).isoformat()
    except ValueError:
        return []
    return [found[:length] for length, given in ((10, day), (7, month), (4, year)) if given]


def _numbers(key_type: KeyType, text: str, language: str) -> list[Key]:
    amount = read_amount(text, language)
    if amount is None:
        return _made(make_key(key_type.name, text))
    if key_type.unit is not None:
        in_own = in_unit(amount, key_type.unit)
        if in_own is None:
            raise ValueRefused(
                f"{shown(text)} is no value of {key_type.name!r}, which takes a number in {key_type.unit}"
            )
        amount = in_own
    name = _by_unit(amount) if key_type.name in _BY_UNIT and amount.unit else key_type.name
    return _made(*(make_key(name, number, amount.unit) for number in amount.numbers))


def _by_unit(amount: WrittenAmount) -> str:
    if is_currency(amount.unit):
        return MONEY
    return PERCENTAGE if amount.unit == "%" else QUANTITY
