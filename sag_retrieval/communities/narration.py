"""Tell which sentences of a long document a reader understands alone: told, not spoken, about somebody it names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_retrieval.communities.called import source_of
from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.registers import has_figure, is_opinion
from sag_retrieval.communities.said import SaidNames
from sag_retrieval.communities.spoken import CLOSING, Spoken, spoken_parts
from sag_retrieval.communities.statements import continues, faults, is_sentence
from sag_retrieval.text.words import is_cjk

_FIGURES: Final = 0.2
"""With figures in a larger share of its sentences a document reports; with fewer it tells."""
_PERSON: Final = "person"
_NOBODY: Final = -2
_OTHERS: Final = -1
_AROUND: Final = " ,.;'’‘“”\"-–—"
_REPORTED: Final = 60
_LONGEST: Final = 320
_OUTCRY: Final = re.compile(r"[!?！？]")
_POINTING_IN_TALK: Final = re.compile(r"\b(?:it|it's|he|she|they|them|that)\b|[他她它这那]", re.IGNORECASE)
_BACK: Final = 12
"""Events between a pronoun and the name that it stands for, at most."""
_SHORTEST_NAME: Final = 3
_TOLERATED: Final = frozenset({"opinion", "claim", "note", "reference"})
"""Faults of a statement that are none of a told sentence, or are judged here."""
_CAPTION: Final = re.compile(r"^(?:[A-Z*][A-Z'’.*-]{0,30} ){2,14}(?=[A-Z][a-z])")
"""A heading in capitals that was read together with the first sentence below it."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_POINTING: Final = re.compile(
    r"\b(?:this|these|those|such|thereupon|ce|cet|cette|c['’]est|cela|tel|telle|the (?:latter|former|same|other))\b"
    r"|\b(?:in|of|to|at|by|for|on|from|with) that (?!(?:he|she|it|they|which|the)\b)[a-z]",
    re.IGNORECASE,
)
"""Words that point at something said before, wherever they stand."""
_VAGUE: Final = re.compile(r"\b(?:it|another|again|(?:would|could|might|should) have)\b", re.IGNORECASE)
_TOO_LONG: Final = 240
_HE: Final = re.compile(r"\b(?:he|him|his|himself|il)\b|他", re.IGNORECASE)
_SHE: Final = re.compile(r"\b(?:she|her|hers|herself|elle)\b|她", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|it|its|il|elle|ils|elles|lui|leur|leurs|sa|ses)\b|[他她它]",
    re.IGNORECASE,
)
_BY_PRONOUN: Final = re.compile(
    r"^(?:(?:in|on|at|by|after|before|when|while|as|then|here|again|still|now|for|with|from|to|\w+ing|\w+ly)\b,?"
    r"(?: \w+,?){0,6}? )?(he|she|il|elle)\b|^(?:[^，,]{1,30}[，,])?([他她])(?!们)",
    re.IGNORECASE,
)
"""A sentence about somebody whom only a pronoun names: `He rose`, `In the afternoon, she left`."""
_ENTRY: Final = re.compile(r"^\d|^[^:：]{1,80}[:：][^:：]{1,40}$")
"""A note with its number, or an entry of a list."""
_ITEM: Final = re.compile(r"^[†‡*]|^(?:及|和|或|以及|and |or )?[(（][^)）]{1,6}[)）]")
"""An item amid a sentence: `and (iv) 300 shares`."""
_ASIDE: Final = re.compile(r"[(（][^()（）]{0,200}[)）]")
_INVERTED: Final = re.compile(r"^[^,.;:]{0,60}[A-Z]\w+ (?:he|she) ")
"""`Captain Voss he called him`: a pronoun acts, though a name comes first."""
_FEWEST_WORDS: Final = 5
_RECURS: Final = 3
_FIRST_PERSON: Final = re.compile(r"\b(?:je|j['’]\w+|nous|vous|tu|moi|ich|wir|yo|nosotros|io|noi)\b", re.IGNORECASE)
_FULL: Final = 150
_FULL_CJK: Final = 50
_SUBORDINATE: Final = frozenset("when while as although though until since where all other quand lorsque comme".split())
"""First words that do not refer back where a name follows soon."""
_SOON: Final = 40
_VERBS: Final = (
    "said|says|asked|repeated|replied|cried|answered|inquired|demanded|questioned|interjected|whispered|muttered"
    "|murmured|exclaimed|returned|added|remarked|observed|shouted|called|began|continued|resumed|mused|dit|说|道|问|答"
)
_SAYS: Final = re.compile(rf"\b(?:{_VERBS})\b")
_SAYING: Final = re.compile(rf"^[^,;]{{0,40}}\b(?:{_VERBS})\b")
"""What follows the words somebody says: `Ida asked, the lamp in her hand`."""


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of the narration."""

    row: int
    text: str
    about: int = -1
    """The key that its pronoun stands for; of one that stands alone, the only key it says; -1: none or several."""
    stands: bool = True
    """Whether it can be understood alone; else a pronoun stands for what `about` names."""
    weight: float = 0.0
    """What speaks for quoting it beside how much it holds, and against it."""

    def quoted(self, name: str) -> str:
        """The text with a name in brackets in place of the pronoun that it begins with."""
        pronoun = _BY_PRONOUN.match(self.text)
        if pronoun is None:
            return self.text
        start, end = pronoun.span(1 if pronoun[1] else 2)
        return f"{self.text[:start]}[{name}]{self.text[end:]}"


def tells(events: EventTable) -> bool:
    """Whether the sentences of a document tell rather than report: few of them hold a figure."""
    texts = [text for text in events.contents if is_sentence(text)]
    return sum(map(has_figure, texts)) < _FIGURES * len(texts)


@dataclass(frozen=True, slots=True)
class _Before:
    """A sentence before another, for what it says of whom a pronoun stands for."""

    row: int
    spoken: Spoken
    named: Mapping[int, int]

    def holder(self) -> int:
        """The only key that it names; `_NOBODY` if it leaves open who acts, `_OTHERS` if that may be another."""
        outside = self.spoken.outside
        if not _WORD.search(outside) or (not self.named and _BY_PRONOUN.match(outside.strip(_AROUND))):
            return _NOBODY
        if _leads(outside, min(self.named.values(), default=-1)) and _BY_PRONOUN.match(outside.strip(_AROUND)):
            return _NOBODY
        return next(iter(self.named)) if len(self.named) == 1 else _OTHERS


def is_independent(text: str) -> bool:
    """Whether a statement is no item of a list and does not begin with `he` or `she`."""
    return _ITEM.match(text) is None and _BY_PRONOUN.match(text) is None


class Narration:
    """The told sentences of one or two long documents."""

    def __init__(self, events: EventTable, said: SaidNames) -> None:
        """Count how often each key is carried; nothing else before it is asked for."""
        self._events, self._said = events, said
        order = np.argsort(events.links.event, kind="stable")
        self._key = events.links.key[order]
        self._starts = np.searchsorted(events.links.event[order], np.arange(len(events) + 1))
        self._carried = np.bincount(events.links.key, minlength=len(events.keys.values))
        self._pronouns: dict[int, tuple[int, int]] | None = None

    def told(self, rows: Rows) -> list[Told]:
        """Those of the rows, in the order of the text, of the narration, understood alone or by the name before."""
        found, before = list[Told](), list[_Before]()
        for row, spoken in zip(np.sort(rows).tolist(), spoken_parts(self._events, np.sort(rows).tolist()), strict=True):
            is_changed = self._is_changed(row)
            named = {} if is_changed else self.names(row, _ASIDE.sub(_blank, spoken.outside))
            if not (spoken.is_half or is_changed or (before and self._is_saying(before[-1].row, row))):
                one = self._judged(row, spoken, named, before)
                found += [one] if one is not None else []
            before.append(_Before(row, spoken, named))
        return found

    def names(self, row: int, outside: str = "") -> dict[int, int]:
        """The keys of an event that its text says, with the place of each."""
        text, keys, found = outside or self._events.contents[row], self._events.keys, dict[int, int]()
        for key in self._key[self._starts[row] : self._starts[row + 1]].tolist():
            if key not in self._said:
                continue
            place = _place_of(keys.values[key], text)
            if place >= 0:
                found[key] = place
        return dict(sorted(found.items(), key=lambda pair: (pair[1], pair[0])))

    def _judged(self, row: int, spoken: Spoken, named: Mapping[int, int], before: Sequence["_Before"]) -> Told | None:
        whole = self._events.contents[row]
        text = _CAPTION.sub("", whole)
        cut = len(whole) - len(text)
        own = {key: place - cut for key, place in named.items() if place >= cut}
        first = min(own.values(), default=len(text))
        about = next(iter(own)) if len(own) == 1 else -1
        stands = spoken.is_any or not _leads(text, first)
        if not _is_sound(text, spoken, is_named=bool(own)):
            return None
        if not stands:
            about = self._antecedent(text, before) if _BY_PRONOUN.match(text) and not _joins(text) else -1
            if about < 0 or about in own:
                return None
        elif not own or (not spoken.is_any and _points_back(text, first)):
            return None
        recurring = sum(1 for key in own if self._carried[key] >= _RECURS)
        weight = _weight(text, recurring if stands else recurring + 1, first if stands else 0, spoken)
        return Told(row, text, about, stands, weight if stands else weight - 0.15)

    def _antecedent(self, text: str, before: Sequence["_Before"]) -> int:
        """The key that `he` or `she` stands for: the only one named last, if such pronouns stand for it elsewhere.

        Between it and the sentence, whoever acts has to be called by the pronoun.
        """
        key = next((each.holder() for each in reversed(before[-_BACK:]) if each.holder() != _NOBODY), _OTHERS)
        if key < 0 or self._events.keys.types[key] != _PERSON:
            return -1
        he, she = self._counted_pronouns().get(key, (0, 0))
        says_he, says_she = _HE.search(text) is not None, _SHE.search(text) is not None
        return key if (says_he and not says_she and he > she) or (says_she and not says_he and she > he) else -1

    def _counted_pronouns(self) -> dict[int, tuple[int, int]]:
        """How many sentences that name one key alone, and it first, go on with `he`, and with `she`."""
        if self._pronouns is None:
            counted = dict[int, tuple[int, int]]()
            for row in range(len(self._events)):
                named = self.names(row)
                if len(named) == 1:
                    key, text = next(iter(named)), self._events.contents[row]
                    he, she = counted.get(key, (0, 0))
                    counted[key] = (he + bool(_HE.search(text)), she + bool(_SHE.search(text)))
            self._pronouns = counted
        return self._pronouns

    def _is_changed(self, row: int) -> bool:
        """Whether extraction put a name where the document has a pronoun: it may be another's."""
        source = source_of(self._events, row).lstrip(" *#-–—'\"“‘")
        word, own = _PRONOUN.match(source), _PRONOUN.match(self._events.contents[row].lstrip(" *#-–—'\"“‘"))
        return word is not None and own is None

    def _is_saying(self, before: int, row: int) -> bool:
        """Whether the sentence only says who spoke the words before it."""
        ends = source_of(self._events, before).rstrip()[-1:]
        return ends in {*CLOSING, "'", "’", '"'} and _SAYING.match(self._events.contents[row]) is not None


def _is_reported(text: str, outside: str) -> bool:
    """Whether a sentence says who spoke, and what, without a question or an outcry."""
    bare = text.strip()
    return (
        _REPORTED <= len(bare) <= _LONGEST
        and not _OUTCRY.search(bare)
        and not _POINTING_IN_TALK.search(bare)
        and not _POINTING.search(bare)
        and bare[-1:] in {".", "。", "'", "’", "”", '"', "」"}
        and _SAYS.search(outside) is not None
    )


def _weight(text: str, named: int, first: int, spoken: Spoken) -> float:
    """What speaks for quoting a sentence: whom it names and how early, its length; against it: vague words, talk."""
    full = min(1.0, len(text) / (_FULL_CJK if is_cjk(text) else _FULL))
    vague = 0.15 * min(2, len(_VAGUE.findall(text))) + 0.3 * is_opinion(text)
    against = 0.2 * spoken.is_any + 0.1 * (len(text) > _TOO_LONG)
    return 0.25 * min(2, named) + 0.25 * (first < _SOON) + 0.5 * full - vague - against


def _is_sound(text: str, spoken: Spoken, *, is_named: bool) -> bool:
    """Whether a text is a whole sentence that points at nothing outside it; a spoken one says who speaks."""
    if spoken.is_any:
        return not set(faults(text)) - _TOLERATED - {"speech"} and is_named and _is_reported(text, spoken.outside)
    is_first_person = _FIRST_PERSON.search(text) is not None
    return not (
        set(faults(text)) - _TOLERATED
        or _is_entry(text)
        or is_first_person
        or _POINTING.search(text)
        or _INVERTED.match(text)
    )


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _is_entry(text: str) -> bool:
    """Whether a text is no sentence but a note, an entry of a list or a date."""
    return _ENTRY.search(text) is not None or (not is_cjk(text) and len(_WORD.findall(text)) < _FEWEST_WORDS)


def _leads(text: str, first: int) -> bool:
    """Whether a pronoun stands before the first name."""
    pronoun = _PRONOUN.search(text)
    return pronoun is not None and (first < 0 or pronoun.start() < first)


def _joins(text: str) -> bool:
    """Whether a sentence about somebody begins with another joining word than the pronoun: `But he rose`."""
    word = _WORD.search(text)
    is_plain = word is not None and (word[0].casefold() in _SUBORDINATE or _PRONOUN.fullmatch(word[0]) is not None)
    return not is_plain and continues(text)


def _points_back(text: str, first: int) -> bool:
    """Whether the sentence begins by joining or pointing to what was said before; `When Ida woke` does not."""
    if is_cjk(text):
        return continues(text)
    word = _WORD.search(text)
    if word is not None and word[0].casefold() in _SUBORDINATE:
        return first > _SOON
    return continues(text)


def _place_of(value: str, text: str) -> int:
    """Where a text says a name, or a capitalised word of it; -1: nowhere."""
    place = text.find(value)
    if place >= 0 or is_cjk(value):
        return place
    parts = {word for word in value.split() if len(word) >= _SHORTEST_NAME and word[:1].isupper()}
    return next((match.start() for match in _WORD.finditer(text) if match[0] in parts), -1)
