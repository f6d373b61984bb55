"""Keys: made in one place, with one value each; and what documents and chunks are mainly about."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from sag_retrieval.core.records import TITLE, Chunk, Document, EventKey, Key, make_id
from sag_retrieval.text.words import fold, normal_form, normal_name

LONGEST_VALUE = 120
"""A longer text is no key."""
HEADING = "heading"

_GAP = re.compile(r"\s+")
_EDGES = " \t\n,.;:!?'\"，。；：！？、“”‘’「」『』《》|*_#`"


def make_key(key_type: str, value: str | float | bool, unit: str | None = None) -> Key | None:  # noqa: FBT001  a value
    """The key of a type and a value; None for an empty, over-long or infinite one. Nothing else makes keys.

    Text is trimmed and in compatibility form, with its case. Two texts of one normal name are one key, as are two
    numbers that are equal and have one unit. A truth value is a flag, though Python counts it as a number.

    Source:
        docs/algorithm.md §extraction.5.

    Example:
        >>> make_key("money", 120_000_000, "CNY").unit, make_key("place", "  ")
        ('CNY', None)

    """
    kind = clean_value(key_type).lower()
    if not kind:
        return None
    if isinstance(value, bool):
        return Key(make_id("k", kind, "flag", value), kind, value_bool=value)
    if isinstance(value, int | float):
        return _number_key(kind, value, unit)
    return _text_key(kind, value)


def clean_value(value: str) -> str:
    """A text value as keys keep it: compatibility form, single spaces, no punctuation at its ends."""
    return _GAP.sub(" ", normal_form("NFKC", value)).strip(_EDGES)


def title_key(document: Document) -> Key | None:
    """The key that a document's title is; every event of the document carries it. None for a title without words."""
    return make_key(TITLE, document.title[:LONGEST_VALUE])


def main_key(document: Document, chunk: Chunk) -> Key | None:
    """What a chunk is mainly about: the document's title, else the heading above it, else nothing."""
    return title_key(document) or make_key(HEADING, chunk.heading)


def main_keys(document: Document, chunks: Sequence[Chunk]) -> list[EventKey]:
    """The main key of each chunk that has one, with the chunk's id in the place of the event's."""
    pairs = [(chunk.chunk_id, main_key(document, chunk)) for chunk in chunks]
    return [EventKey(document.document_id, chunk_id, key) for chunk_id, key in pairs if key]


def count_in_text(key: Key, text: str) -> int:
    """Times a text key's value stands in the text, cases and widths alike; 0 for numbers and flags.

    A Latin name stands only between other words: `AI` is not in `said`.

    Example:
        >>> count_in_text(make_key("entity", "AI"), "AI said: ai, 302AI 用AI。")
        3

    """
    if not key.value_string:
        return 0
    return len(_standing(fold(key.value_string)).findall(_folded(text)))


@lru_cache(maxsize=4096)
def _standing(name: str) -> re.Pattern[str]:
    before = r"(?<![a-z0-9])" if name[0].isascii() and name[0].isalnum() else ""
    after = r"(?![a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
    return re.compile(before + re.escape(name) + after)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return fold(text)


def _number_key(kind: str, value: float, unit: str | None) -> Key | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    number += 0.0  # -0.0 is 0.0
    own_unit = clean_value(unit or "") or None
    return Key(make_id("k", kind, "number", repr(number), own_unit or ""), kind, value_number=number, unit=own_unit)


def _text_key(kind: str, value: str) -> Key | None:
    text = clean_value(value)
    if not text or len(text) > LONGEST_VALUE or not any(character.isalnum() for character in text):
        return None
    return Key(make_id("k", kind, "text", normal_name(text)), kind, value_string=text)


Smoothing = Literal["none", "add-one"]


def idf(event_count: int, total_events: int, *, smoothing: Smoothing = "none") -> float:
    """`ln(total_events / event_count)`, never negative: 0 for a key that every event carries, or that none does.

    Args:
        event_count: Events that carry the key.
        total_events: All events, at least `event_count`.
        smoothing: `add-one` divides by `event_count + 1` as the seed's appendix does, and stops at 0.

    Raises:
        ValueError: If a count is negative or more events carry the key than there are.

    Source:
        docs/algorithm.md §extraction.7.

    Example:
        >>> round(idf(2, 200), 4), round(idf(2, 200, smoothing="add-one"), 4)
        (4.6052, 4.1997)

    """
    if not 0 <= event_count <= total_events:
        raise ValueError(f"event_count={event_count} must lie in [0, total_events={total_events}]")
    if event_count == 0:
        return 0.0
    divisor = event_count + 1 if smoothing == "add-one" else event_count
    return max(0.0, math.log(total_events / divisor))
