"""Make keys with one typed value each; title keys and main keys."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from sag_retrieval.core.records import TITLE, Chunk, Document, EventKey, Key, make_id
from sag_retrieval.language.words import normal_form, normal_name

LONGEST_VALUE = 120
"""Characters of the longest text key; a longer text is no key."""
HEADING = "heading"

_GAP = re.compile(r"\s+")
_EDGES = " \t\n,.;:!?'\"，。；：！？、“”‘’「」『』《》|*_#`"


def make_key(key_type: str, value: str | float | bool, unit: str | None = None) -> Key | None:  # noqa: FBT001  a value
    """Make the key of a type and a value; None for an empty, over-long or infinite value.

    Text is trimmed and in Unicode compatibility form; its case is kept. Two texts with the same normal name are one
    key, as are two equal numbers with the same unit. A truth value is a flag, though it is a number in Python.

    Source: docs/algorithm.md §extraction.5.

    Examples:
        >>> make_key("money", 120_000_000, "CNY").unit, make_key("place", "  ")
        ('CNY', None)
    """
    kind = _kind(key_type)
    if not kind:
        return None
    if isinstance(value, bool):
        return Key(make_id("k", kind, "flag", value), kind, value_bool=value)
    if isinstance(value, int | float):
        return _number_key(kind, value, unit)
    return _text_key(kind, value)


@lru_cache(maxsize=1_024)
def _kind(key_type: str) -> str:
    """The name of a key type as it is stored."""
    return clean_value(key_type).lower()


def clean_value(value: str) -> str:
    """A text value as stored in a key: compatibility form, single spaces, no punctuation at its ends."""
    return _GAP.sub(" ", normal_form("NFKC", value)).strip(_EDGES)


def title_key(document: Document) -> Key | None:
    """The key of a document's title, which every event of the document carries; None for a title without words."""
    return make_key(TITLE, document.title[:LONGEST_VALUE])


def main_keys(document: Document, chunks: Sequence[Chunk]) -> list[EventKey]:
    """What each chunk is about: its document's title, else the heading above it; `event_id` holds the chunk's id."""
    title = title_key(document)
    pairs = [(chunk.chunk_id, title or make_key(HEADING, chunk.heading)) for chunk in chunks]
    return [EventKey(document.document_id, chunk_id, key) for chunk_id, key in pairs if key]


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


@lru_cache(maxsize=16_384)  # a document has the same names and its title in many events
def _text_key(kind: str, value: str) -> Key | None:
    text = clean_value(value)
    if not text or len(text) > LONGEST_VALUE or not any(character.isalnum() for character in text):
        return None
    return Key(make_id("k", kind, "text", normal_name(text)), kind, value_string=text)
