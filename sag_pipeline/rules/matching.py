"""Every place where one of many names stands in a text."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sag_pipeline.steps.keys import Mention
from sag_pipeline.steps.places import LONGEST_NAME

_LETTER = "[A-Za-z0-9À-ɏ]"
_WORD = re.compile(f"(?<!{_LETTER}){_LETTER}+")
_PREFIX = 2
_STICKS = re.compile(_LETTER)


class NameIndex:
    """Finds names as they are spelt, the longest at each place; Latin ones only as whole words.

    Linear in the text: a name is looked up by its first word, or, in Chinese, by its first two characters, and then by
    the few lengths that names with this beginning have.
    """

    def __init__(self, names: Mapping[str, tuple[str, str]]) -> None:
        """Index surface → (key type, value)."""
        self._names = names
        lengths: dict[str, set[int]] = defaultdict(set)
        words: set[str] = set()
        characters: set[str] = set()
        for name in names:
            if 0 < len(name) <= LONGEST_NAME:
                word = _WORD.match(name)
                lengths[word[0] if word else name[:_PREFIX]].add(len(name))
                (words if word else characters).add(name[0])
        self._lengths = {beginning: sorted(each, reverse=True) for beginning, each in lengths.items()}
        self._words = frozenset(words)
        self._characters = frozenset(characters)

    def mentions(self, text: str) -> Iterator[Mention]:
        """Mentions in the text: Latin ones in order, then Chinese ones in order; they may overlap."""
        for word in _WORD.finditer(text) if self._words else ():
            if word[0] in self._lengths:
                yield from self._longest(text, word.start(), word[0])
        for place, character in enumerate(text) if self._characters else ():
            if character in self._characters and (beginning := text[place : place + _PREFIX]) in self._lengths:
                yield from self._longest(text, place, beginning)

    def _longest(self, text: str, start: int, beginning: str) -> Iterator[Mention]:
        for length in self._lengths[beginning]:
            end = start + length
            name = text[start:end]
            if name in self._names and not (_STICKS.match(name[-1]) and _STICKS.match(text[end : end + 1])):
                yield Mention(start, end, *self._names[name])
                return


def longest_only(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions in order without those that overlap a longer one; of equals the first stays."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


def outside(mentions: Iterable[Mention], others: Iterable[Mention]) -> list[Mention]:
    """Mentions that overlap none of the others."""
    taken = longest_only(others)
    kept = []
    row = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        while row < len(taken) and taken[row].end <= mention.start:
            row += 1
        if row == len(taken) or taken[row].start >= mention.end:
            kept.append(mention)
    return kept
