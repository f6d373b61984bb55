"""Find what of a text stands in quotation marks, or in a turn of a talk after a dash."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.communities.events import EventTable

_MARK: Final = re.compile(r"[“「『«”」』»\"'‘’]")
_OPENING: Final = "“「『«"
CLOSING: Final = "”」』»"
_TURN: Final = re.compile(r"^[–—-]\s*[^\W\d_]")
"""A turn of a talk after a dash, up to the end of its paragraph."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What of a sentence stands in quotation marks."""

    outside: str
    """The text with blanks in place of what is spoken."""
    is_any: bool
    is_half: bool
    """Whether it begins or ends amid what somebody says."""


def spoken_parts(events: EventTable, ordered: Sequence[int]) -> list[Spoken]:
    """What of each row stands in quotation marks; a mark left open holds to the end of its paragraph."""
    found, is_open, last = list[Spoken](), False, (-1, -1)
    for row in ordered:
        chunk, (start, end) = int(events.chunk[row]), events.spans[row].tolist()
        if chunk != last[0] or start < 0 or "\n\n" in events.chunks.texts[chunk][last[1] : start]:
            is_open = False
        last = (chunk, end)
        if _TURN.match(events.contents[row]):
            is_open = True
        one, is_open = _spoken(events.contents[row], is_open=is_open)
        found.append(one)
    return found


def _spoken(text: str, *, is_open: bool) -> tuple[Spoken, bool]:
    """What is spoken of one text, and whether its last mark is left open."""
    began, since, outside, is_any = is_open, 0, "", is_open
    for place, opens in _marks(text):
        outside += (" " * (place - since)) if is_open else text[since:place]
        is_open, since, is_any = opens, place, True
    outside += (" " * (len(text) - since)) if is_open else text[since:]
    return Spoken(outside, is_any, began or is_open), is_open


def _marks(text: str) -> Iterator[tuple[int, bool]]:
    """The place of each quotation mark, and whether it opens; an apostrophe is none."""
    for match in _MARK.finditer(text):
        place, mark = match.start(), match[0]
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        starts = not before or before in " \n([—–-"
        if mark in CLOSING or mark in _OPENING:
            yield place, mark not in CLOSING
        elif starts and (after.isalnum() or after == "_"):
            yield place, True
        elif before and before in ".,!?;:…—-" and (not after or after in " )]—–-"):
            yield place + 1, False
