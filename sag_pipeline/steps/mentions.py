"""Where keys stand in a text."""

from typing import NamedTuple


class Mention(NamedTuple):
    """`text[start:end]` speaks of a value of a type; a number may have a unit."""

    start: int
    end: int
    key_type: str
    value: str | float | bool
    unit: str | None = None
