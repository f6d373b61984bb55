"""Find known names that a text gives in full, in part or as initials."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from sag_pipeline.steps.extract_keys import KnownKey
from sag_pipeline.steps.name_matching import spelling
from sag_retrieval.text.words import fold, is_cjk, normal_name

_COMMON = 64
"""A term of more names finds none: it would find too many."""
_LEAST_SHARE = 0.4
"""Least share of a name's weight that a text must hold."""
_LINKING = frozenset("of the and for in on at de la du des der die das von van y e &".split())
_LONGEST_RUN = 8
"""Capitalised words whose initials are taken together."""
_SHORTEST = 2
_LONGEST_SHORT = 8
_RUN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MARK = "="
"""Before the terms that are initials, so that no word is taken for one."""


@dataclass(slots=True)
class KnownNames:
    """Known keys by the terms of their names: words, pairs of Chinese characters, initials."""

    _keys: list[KnownKey] = field(default_factory=list)
    _terms: list[frozenset[str]] = field(default_factory=list)
    _rows: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, keys: Iterable[KnownKey]) -> None:
        """Add keys that were not added before."""
        for key in keys:
            terms = frozenset(_terms_of(key.value)) | set(_initials(key.value))
            for term in terms:
                self._rows[term].append(len(self._keys))
            self._keys.append(key)
            self._terms.append(terms)

    def find(self, text: str, count: int) -> list[tuple[float, KnownKey]]:
        """The known keys whose names the text holds best, with the share that it holds; equal shares by name.

        The share is that of the weight `ln(1 + names / names with the term)`; initials that agree count as the whole.
        """
        terms = frozenset(_terms_of(text)) | set(_initials(text))
        found: set[int] = set()
        for term in terms:
            rows = self._rows.get(term, ())
            if len(rows) <= _COMMON:
                found.update(rows)
        ranked = sorted((-self._share(row, terms), self._keys[row]) for row in found)
        return [(-share, key) for share, key in ranked[:count] if -share >= _LEAST_SHARE]

    def _share(self, row: int, terms: frozenset[str]) -> float:
        own = self._terms[row]
        shared = own & terms
        if any(term[0] == _MARK for term in shared):
            return 1.0
        words = [term for term in own if term[0] != _MARK]
        whole = sum(map(self._weight, words))
        return sum(map(self._weight, shared)) / whole if whole else 0.0

    def _weight(self, term: str) -> float:
        return math.log(1 + len(self._keys) / len(self._rows[term]))


def is_written(name: str, text: str) -> bool:
    """Whether a text holds a name as it is spelt, and not as a part of a longer name.

    Examples:
        >>> is_written("Air Tanzania", "Air Tanzania Ltd flies."), is_written("Air Tanzania", "It is Air Tanzania.")
        (False, True)

    """
    at = text.find(name)
    if at < 0:
        return False
    behind = text[at + len(name) :][:2]
    is_longer = behind[:1].isalnum() or (behind[:1] == " " and behind[1:].isupper()) or text[:at][-1:].isalnum()
    return is_cjk(name) or not is_longer


def _terms_of(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word in normal_name(text).split():
        if is_cjk(word):
            found.update(dict.fromkeys(map("".join, pairwise(word))))
        elif len(word) >= _SHORTEST and word not in _LINKING:
            found[spelling(word)] = None
    return tuple(found)


def _initials(text: str) -> tuple[str, ...]:
    """The initials of runs of capitalised words, and short names in capitals, each behind a mark."""
    found: dict[str, None] = {}
    for run in _runs(text):
        for start in range(len(run)):
            for end in range(start + _SHORTEST, len(run) + 1):
                found[_MARK + fold("".join(word[0] for word in run[start:end]))] = None
    for word in _RUN.findall(text):
        if _SHORTEST <= len(word) <= _LONGEST_SHORT and word.isupper() and word.isascii():
            found[_MARK + fold(word)] = None
    return tuple(found)


def _runs(text: str) -> Iterator[list[str]]:
    """Runs of capitalised words; small words between them are read over."""
    run: list[str] = []
    for word in _RUN.findall(text):
        if word[0].isupper() and len(run) < _LONGEST_RUN:
            run.append(word)
        elif word not in _LINKING:
            if len(run) >= _SHORTEST:
                yield run
            run = [word] if word[0].isupper() else []
    if len(run) >= _SHORTEST:
        yield run
