"""Tell statements of routine: sentences that many documents say with other names in them, and without an amount."""

import re
from collections import defaultdict
from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.statements import fault_counts
from sag_retrieval.communities.talk import TOLD, told
from sag_retrieval.communities.titles import names_something
from sag_retrieval.core.types import Flags, Rows
from sag_retrieval.text.words import STOP_WORDS, is_cjk

_WORD: Final = re.compile(r"(?<![\w-])[a-z][a-z'’-]{2,}")
_OF_DAYS: Final = re.compile(
    r"\d{1,2}[-./ ](?:\d{1,2}|[A-Z][a-z]{2,8})[-./ ]\d{2,4}|\b(?:19|20)\d\d(?:[-/]\d+)*\b|[\d\s]*[年月日]"
)
_FIGURE: Final = re.compile(r"\d")
_NO_CHARACTER: Final = re.compile(r"[^\u4e00-\u9fff]+")
_OPENING_CJK: Final = re.compile(r"^[在于从自为]+")
_WORDS: Final = 3
_CHARACTERS: Final = 6
_JUDGED: Final = 1_000
_OFTEN: Final = 3
"""Documents, and sets of names, that say a sentence."""


def as_quoted(events: EventTable) -> EventTable:
    """The events as a report quotes them: talk that settles something as statements, routine marked."""
    return with_routine(told(events))


def quotable_rows(events: EventTable, topic: Rows) -> Flags:
    """Whether each event of a topic can be quoted; of large topics the first events are judged.

    Args:
        events: The events.
        topic: Topic of each event; -1: none.

    """
    rows = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(np.flatnonzero(topic == number)[:_JUDGED] for number in range(int(topic.max(initial=-1)) + 1)),
        ]
    ).astype(np.int32)
    found = np.zeros(len(events), np.bool_)
    found[rows[fault_counts(as_quoted(events), rows) == 0]] = True
    return found


def with_routine(events: EventTable) -> EventTable:
    """The same events, each with whether it is routine.

    The frame of a sentence is how it begins without its names and figures: three words, or six Chinese characters. A
    sentence is routine if three documents say its frame of three different sets of names, and it has no amount.

    Source:
        docs/algorithm.md §reports.6.

    """
    names = _names_by_event(events)
    frames: defaultdict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(events.contents):
        if frame := _frame(text, names[row]):
            frames[frame].append(row)
    document, flags = events.document, np.zeros(len(events), np.bool_)
    for rows in frames.values():
        said_of = {frozenset(names[row]) for row in rows}
        if len(said_of) >= _OFTEN and len({int(document[row]) for row in rows}) >= _OFTEN:
            flags[[row for row in rows if not _has_amount(events.contents[row])]] = True
    return replace(events, is_routine=_flags(flags))


def _flags(flags: Flags) -> Flags:
    return flags if flags.any() else np.zeros(0, np.bool_)


def _has_amount(text: str) -> bool:
    return _FIGURE.search(_OF_DAYS.sub("", text)) is not None


def _names_by_event(events: EventTable) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(len(events))]
    is_name = [names_something(events.keys, key) for key in range(len(events.keys.values))]
    for event, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        if is_name[key] and events.keys.values[key] in events.contents[event]:
            found[event].append(events.keys.values[key])
    return found


def _frame(text: str, names: list[str]) -> str:
    """How a sentence begins without names and figures; empty for one too short to have a frame, and for talk."""
    if TOLD.match(text):
        return ""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    if is_cjk(text):
        bare = _OPENING_CJK.sub("", _NO_CHARACTER.sub("", _OF_DAYS.sub("", text)))
        return bare[:_CHARACTERS] if len(bare) >= _CHARACTERS else ""
    words = [word for word in _WORD.findall(text) if word not in STOP_WORDS][:_WORDS]
    return " ".join(words) if len(words) == _WORDS else ""
