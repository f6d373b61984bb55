"""Tell names that sentences say from words of headings, labels and rows that were taken for names."""

from collections.abc import Sequence

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.registers import opinion_words
from sag_retrieval.communities.statements import is_sentence
from sag_retrieval.communities.titles import names_something

_LOOKED_AT = 24
"""Events of a key that are looked at, spread evenly."""
_MOSTLY = 0.5
_GENERIC = "entity"
_STOPS = '.!?:;"”'
_LEGAL_FORMS = frozenset({"ltd", "inc", "plc", "gmbh", "corp", "llc", "pty", "sarl"})
_SHORTEST = 3
"""Letters of a name of no known type: `PM` is none."""
_BEFORE = 24
"""Characters before the first speaker of a talk: a time stamp."""
_NO_NAMES = frozenset({"title", "section", "heading"})
"""Types of keys that name a text, not something it speaks of."""


class SaidNames:
    """The keys of a set of events that are names: most of the events that carry one are sentences that say it."""

    def __init__(self, events: EventTable) -> None:
        """Order the links by key; nothing is judged before it is asked for."""
        self._events = events
        order = np.argsort(events.links.key, kind="stable")
        self._event = events.links.event[order]
        self._starts = np.searchsorted(events.links.key[order], np.arange(len(events.keys.values) + 1))
        self._known: dict[int, bool] = {}

    def __contains__(self, key: int) -> bool:
        if key not in self._known:
            self._known[key] = self._is_said(key)
        return self._known[key]

    def _is_said(self, key: int) -> bool:
        keys = self._events.keys
        kind, value = keys.types[key].casefold(), keys.values[key].casefold()
        if kind in _NO_NAMES or not names_something(keys, key) or value in opinion_words():
            return False
        rows = self._event[self._starts[key] : self._starts[key + 1]]
        looked_at = rows[:: max(1, len(rows) // _LOOKED_AT)].tolist()
        texts = [self._events.contents[row] for row in looked_at]
        if kind == _GENERIC and keys.values[key].isascii() and not _is_proper(keys.values[key], texts):
            return False
        value = keys.values[key]
        return sum(is_sentence(text) or _is_speaker(value, text) for text in texts) >= _MOSTLY * len(texts)


def _is_speaker(name: str, text: str) -> bool:
    """Whether a text begins with a turn of the one who is named."""
    place = text.find(name)
    return 0 <= place <= _BEFORE and text[place + len(name) :].lstrip()[:1] in {":", "：", "(", "（"}


def _is_proper(value: str, texts: Sequence[str]) -> bool:
    """Whether a word of no known type is a name: it has a capital letter that no beginning of a sentence asks for."""
    if len(value) < _SHORTEST or value == value.lower() or value.casefold() in _LEGAL_FORMS:
        return False
    return any(character.isupper() for character in value[1:]) or any(
        (place := text.find(value)) > 1 and text[place - 1] == " " and text[place - 2] not in _STOPS for text in texts
    )
