"""A value that a text mentions, with its place."""

from typing import NamedTuple


class Mention(NamedTuple):
    """A value of a key type that `text[start:end]` mentions; a number may have a unit."""

    start: int
    end: int
    key_type: str
    value: str | float | bool
    unit: str | None = None
