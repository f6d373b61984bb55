"""Every place where one of many names stands in a text."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sag_pipeline.steps.mentions import Mention

_LETTER = "[A-Za-z0-9À-ɏ]"
_WORD = re.compile(f"(?<!{_LETTER}){_LETTER}+")
_PREFIX = 2
_STICKS = re.compile(_LETTER)


class NameIndex:
    """Finds names as they are spelt, the longest at each place; Latin ones only as whole words.

    Linear in the text for names that share few beginnings: a name is looked up by its first word, or, in Chinese, by
    its first two characters.
    """

    def __init__(self, names: Mapping[str, tuple[str, str]]) -> None:
        """Index surface → (key type, value)."""
        self._names = names
        self._by_start: dict[str, list[str]] = defaultdict(list)
        words: set[str] = set()
        characters: set[str] = set()
        for name in sorted(filter(None, names), key=lambda name: (-len(name), name)):
            word = _WORD.match(name)
            self._by_start[word[0] if word else name[:_PREFIX]].append(name)
            (words if word else characters).add(name[0])
        self._word = re.compile(rf"(?<!{_LETTER})[{''.join(sorted(words))}]{_LETTER}*") if words else None
        self._first = re.compile(f"[{re.escape(''.join(sorted(characters)))}]") if characters else None

    def mentions(self, text: str) -> Iterator[Mention]:
        """Mentions in the text: Latin ones in order, then Chinese ones in order; they may overlap."""
        if self._word:
            for word in self._word.finditer(text):
                if word[0] in self._by_start:
                    yield from self._longest(text, word.start(), word[0])
        if self._first:
            for first in self._first.finditer(text):
                start = text[first.start() : first.start() + _PREFIX]
                if start in self._by_start:
                    yield from self._longest(text, first.start(), start)

    def _longest(self, text: str, start: int, beginning: str) -> Iterator[Mention]:
        for name in self._by_start[beginning]:
            end = start + len(name)
            if text.startswith(name, start) and not (_STICKS.match(name[-1]) and _STICKS.match(text[end : end + 1])):
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
