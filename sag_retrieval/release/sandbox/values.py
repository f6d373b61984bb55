"""What a field of `where` may be compared with: text, numbers, flags and dates, within bounds."""

import datetime as dt
from typing import Final, Literal

from sag_retrieval.core.errors import FilterError, shown

ColumnKind = Literal["text", "number", "flag"]
WhereValue = str | float | bool

LONGEST: Final = 10_000
"""Characters of a text, and values of a list."""
_BIGGEST: Final = 2.0**63


def kind_of(value: WhereValue) -> ColumnKind:
    """What a value is compared with."""
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number"


def checked_value(name: str, value: object) -> WhereValue:
    """The value, as it is compared.

    Raises:
        FilterError: If no field holds such a value.

    """
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str):
        return checked_value_text(name, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) <= _BIGGEST:
        return value
    raise FilterError(f"filter field {name!r} takes text, a number, a flag or a date, got {shown(value)}")


def checked_value_text(name: str, text: str) -> str:
    """The text, if it is whole and short enough.

    Raises:
        FilterError: Else, with the bound.

    """
    if len(text) > LONGEST:
        raise FilterError(f"filter field {name!r:.80}: {len(text)} characters, allowed are {LONGEST}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilterError(f"filter field {name!r:.80}: broken text, {error.reason}") from error
    return text
