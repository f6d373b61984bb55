"""Where sentences begin and end, in Chinese and English."""

import re
from collections.abc import Iterable, Iterator, Mapping

from sag_retrieval.language.data import patterns, words_of_all
from sag_retrieval.language.layout import Line, logical_lines
from sag_retrieval.language.words import is_cjk

_CLOSERS = r"(?:[\u00a0\u202f ]»|[\"'”’“»«›‹」』)）\]】〉》*_])*"
"""Closing marks; `“` and `«` close in German, `»` stands behind a space in French."""
_CJK_MARK = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_SAYS = patterns("all")
_BREAK_IN_CHINESE = _SAYS["break_in_chinese"]
_GAP = re.compile(r"\s+")
_THAI = _SAYS["thai"]
_GAP_IN_THAI = _SAYS["gap_in_thai"]
"""Thai and Lao have no mark at a sentence's end; a space ends a clause."""
_LEAST_THAI = 40
"""Shorter clauses stay together."""
_END = _SAYS["sentence_end"]
_BRACKETED = _SAYS["bracketed"]
_OPENING = frozenset("“«‹")
"""Closing marks of some languages, which open in others."""
_OPENING_BRACKETS = frozenset("《〈「『【（([")
_BOTH_WAYS = ('"', "'")
_LAST_WORD = _SAYS["last_word"]
_SPACE_THEN = _SAYS["space_then"]
_NEXT_WORD = _SAYS["word_ahead"]
_BEFORE_ORDINAL = patterns("de")["before_ordinal"]
"""Words of German that a number with a full stop follows as an ordinal: `am 3. November`, `im 18. Jahrhundert`."""
_LONGEST_ORDINAL = 2
_QUOTED_ON = frozenset("とのをにはもがでなっ")
"""Behind a closing quote these go on with the sentence in Japanese: 「……。」と言った。"""
_ONLY_NUMBER = _SAYS["only_number"]
_ACRONYM = _SAYS["acronym"]

_NEVER_ENDS = words_of_all("NEVER_ENDS")
_SELDOM_ENDS = words_of_all("SELDOM_ENDS")
_STARTERS = words_of_all("STARTERS")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence, in order: trimmed, not overlapping, over all text that is not white space.

    A sentence ends at its mark with closing quotes, and where a heading, list item, table row or paragraph ends. Marks
    in abbreviations, numbers, initials, book titles and short brackets do not end one. Linear in the text.
    Source: docs/algorithm.md §text.1.

    Examples:
        >>> text = "Dr. Li paid 3.5 million. “走吧。”他说。"
        >>> [text[a:b] for a, b in sentence_spans(text)]
        ['Dr. Li paid 3.5 million.', '“走吧。”', '他说。']
    """
    return spans_of(text, logical_lines(text))


def spans_of(text: str, lines: Iterable[Line]) -> list[tuple[int, int]]:
    """The sentences of a text whose logical lines are known."""
    return [span for line in lines for span in spans_within(text, line.start, line.end)]


def sentences(text: str) -> list[str]:
    """The sentences themselves."""
    return [text[start:end] for start, end in sentence_spans(text)]


def one_line(text: str) -> str:
    """The text with every run of white space as one space, and none where a long line of Chinese was broken."""
    return _GAP.sub(" ", _BREAK_IN_CHINESE.sub("", text)).strip()


def spans_within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of one logical line `text[start:end]`."""
    if not _THAI.search(text, start, end):
        yield from _marked_spans(text, start, end)
        return
    for first, last in _marked_spans(text, start, end):
        for gap in _GAP_IN_THAI.finditer(text, first, last):
            if gap.start() - first >= _LEAST_THAI:
                yield first, gap.start()
                first = gap.end()  # noqa: PLW2901  the rest of the span
        yield first, last


def _marked_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a line by their marks; a quotation mark that opens the next one is no part of one."""
    closed = [found.span() for found in _BRACKETED.finditer(text, start, end)]
    bracket = 0
    first = read = start
    quotes = dict.fromkeys(_BOTH_WAYS, 0)
    for mark in _END.finditer(text, start, end):
        while bracket < len(closed) and closed[bracket][1] <= mark.start():
            bracket += 1
        if bracket < len(closed) and _is_inside(mark, closed[bracket], first):
            continue
        if mark.end() < end and _ends(text, first, mark):
            for quote in quotes:
                quotes[quote] += text.count(quote, read, mark.end())
            read = mark.end()
            last = mark.end() - _opens_next(text, mark, quotes)
            yield first, last
            first = last
            while first < end and text[first].isspace():
                first += 1
    if first < end:
        yield first, end


def _opens_next(text: str, mark: re.Match[str], quotes: Mapping[str, int]) -> int:
    """How many quotation marks behind a sentence's end open what follows: a word stands next to the last of them.

    `quotes` counts those that look alike at both ends: an odd one opens.
    """
    after = text[mark.end()]
    if not mark["wide"] or not (after.isalnum() or after in _OPENING_BRACKETS):
        return 0
    last = mark[0][-1]
    return int(last in _OPENING or bool(quotes.get(last, 0) % 2))


def _is_inside(mark: re.Match[str], bracket: tuple[int, int], first: int) -> bool:
    """Whether a mark stands in a bracket that is part of a sentence; a separate bracket may end with its mark."""
    return bracket[0] < mark.start() and (mark.end() < bracket[1] or first < bracket[0] < mark.end() <= bracket[1])


def _ends(text: str, first: int, mark: re.Match[str]) -> bool:
    after = text[mark.end()]
    if mark["wide"]:
        if after in _QUOTED_ON and mark[0][-1] in "」』":
            return False
        return after not in "，、,:：;；）)" and (mark[0][0] != "…" or not after.isalpha() or is_cjk(after))
    if not after.isspace():
        return is_cjk(after) and is_cjk(text[max(mark.start() - 1, 0)])
    following = _SPACE_THEN.match(text, mark.end())
    if following and following["next"].islower():
        return False
    if text[mark.start()] != "." or text.startswith("..", mark.start()):
        return True
    return _full_stop_ends(text, first, mark)


def _full_stop_ends(text: str, first: int, mark: re.Match[str]) -> bool:
    if mark.start() - first <= 8 and _ONLY_NUMBER.fullmatch(text, first, mark.start()):  # noqa: PLR2004  "viii. 1)"
        return False
    found = _LAST_WORD.search(text[max(first, mark.start() - 20) : mark.start()])
    word = found[0].lstrip("'’-.") if found else ""
    if word.lower() in _NEVER_ENDS:
        return False
    if word.lower() in _SELDOM_ENDS or _ACRONYM.fullmatch(word):
        return _starts_sentence(text, mark.end())
    if len(word) == 1 and (word.isupper() or (word.isascii() and word.isalpha())) and not is_cjk(word):
        return word in "Ia" and _starts_sentence(text, mark.end())
    return not _is_ordinal(text, first, mark.start(), word)


def _is_ordinal(text: str, first: int, end: int, word: str) -> bool:
    """Whether a number before a full stop counts in a series, as in German dates."""
    if not word.isdigit() or len(word) > _LONGEST_ORDINAL:
        return False
    start = end - len(word)
    return bool(_BEFORE_ORDINAL.search(text, max(first, start - 12), start))


def _starts_sentence(text: str, position: int) -> bool:
    following = _NEXT_WORD.match(text, position)
    return following is None or following[1].lower() in _STARTERS
