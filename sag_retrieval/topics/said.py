"""Tell names that sentences say from words of headings, labels and rows that were taken for names."""

import re
from collections.abc import Sequence

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.language.words import is_cjk
from sag_retrieval.statements.form import is_sentence
from sag_retrieval.statements.word_lists import opinion_words
from sag_retrieval.topics.titles import names_something

_LOOKED_AT = 24
"""Events of a key that are looked at, spread evenly."""
_MOSTLY = 0.5
_TYPED = 0.25
"""Of a name whose form shows what it names: it also heads tables and their rows."""
_FORMED = frozenset({"organisation", "organization", "company", "place", "product"})
_GENERIC = "entity"
_STOPS = '.!?:;"”'
_LEGAL_FORMS = frozenset({"ltd", "inc", "plc", "gmbh", "corp", "llc", "pty", "sarl"})
_SHORTEST = 3
"""Letters of a name of no known type: `PM` is none."""
_BEFORE = 24
"""Characters before the first speaker of a talk: a time stamp."""
_STAMP = re.compile(r"(?:[^a-z\u4e00-\u9fff]|[a-z]{1,3}(?![a-z])|[年月日时分秒上下午])*")
"""Figures and short words, such as `12 Jan, 9 a.m.`."""
_OWNED = re.compile(r"\b(?:its|their|his|her|our|my|your|every|each|['’]s)\s\Z|(?:其|该|各|本|位|名|个|新任?的?)\Z")
"""What stands before a common noun, and before no name of an organisation: `its Board of Directors`."""
_LONGEST_OWNER = 8
_MOST_OWNED = 0.2
_INITIALISMS = frozenset(
    "api ceo cfo coo cto cv eta faq gdp gst hr id iot ip ipo it kpi nda pdf pr qa rfp roi rpm sla sms tv url usb vat"
    " ct ecg eeg icu iv mri dna rna hiv".split()
)
"""Common nouns that are written in capitals."""
_TELLING = 4
"""Characters of a Chinese topic that says what it is; of one in an alphabet two words."""
_TOPIC, _PERSON = "topic", "person"
_OWNABLE = frozenset({"organisation", "organization", "company"})
_NO_NAMES = frozenset({"title", "section", "heading"})
"""Types of keys that name a text, not something it speaks of."""


_EVERYWHERE, _FEW = 0.9, 3
"""A key of a larger share of the events of fewer documents names the document, not something in it."""


class SaidNames:
    """The keys of a set of events that are names: most of the events that carry one are sentences that say it."""

    def __init__(self, events: EventTable) -> None:
        """Order the links by key; nothing is judged before it is asked for."""
        self._events = events
        order = np.argsort(events.links.key, kind="stable")
        self._event = events.links.event[order]
        self._starts = np.searchsorted(events.links.key[order], np.arange(len(events.keys.values) + 1))
        self._is_long = len(events) >= _LOOKED_AT and len(set(events.document.tolist())) < _FEW
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
        if self._is_long and len(rows) >= _EVERYWHERE * len(self._events):
            return False
        looked_at = rows[:: max(1, len(rows) // _LOOKED_AT)].tolist()
        texts = [self._events.contents[row] for row in looked_at]
        value = keys.values[key]
        if kind == _GENERIC and value.isascii() and not _is_proper(value, texts):
            return False
        if kind != _PERSON and _is_common(kind, value, texts):
            return False
        said = sum(is_sentence(text) or (kind == _PERSON and _is_speaker(value, text)) for text in texts)
        return said >= (_TYPED if kind in _FORMED else _MOSTLY) * len(texts)


def _is_common(kind: str, value: str, texts: Sequence[str]) -> bool:
    """Whether a word is a common noun: a topic of one word, capitals of everyday use, or what somebody has."""
    if kind == _TOPIC:
        return len(value) < _TELLING if is_cjk(value) else " " not in value
    if kind == _GENERIC and value.casefold() in _INITIALISMS:
        return True
    if kind not in _OWNABLE and not (value.isascii() and value.isalpha() and value.isupper()):
        return False
    places = ((text, text.find(value)) for text in texts)
    owned = sum(
        place > 0 and bool(_OWNED.search(text[max(0, place - _LONGEST_OWNER) : place])) for text, place in places
    )
    return owned >= _MOST_OWNED * len(texts)


def _is_speaker(name: str, text: str) -> bool:
    """Whether a text begins with a turn of the one who is named."""
    place = text.find(name)
    return (
        0 <= place <= _BEFORE
        and bool(_STAMP.fullmatch(text[:place]))
        and text[place + len(name) :].lstrip()[:1] in {":", "：", "(", "（"}
    )


def _is_proper(value: str, texts: Sequence[str]) -> bool:
    """Whether a word of no known type is a name: it has a capital letter that no beginning of a sentence asks for."""
    if len(value) < _SHORTEST or value == value.lower() or value.casefold() in _LEGAL_FORMS:
        return False
    return any(character.isupper() for character in value[1:]) or any(
        (place := text.find(value)) > 1 and text[place - 1] == " " and text[place - 2] not in _STOPS for text in texts
    )
