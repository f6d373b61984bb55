"""Where sentences begin and end, in Chinese and English."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from sag_retrieval.language.layout import Line, logical_lines
from sag_retrieval.language.words import is_cjk, tokens

_CLOSERS = r"(?:[\u00a0\u202f ]»|[\"'”’“»«›‹」』)）\]】〉》*_])*"
"""Closing marks; `“` and `«` close in German, `»` stands behind a space in French."""
_CJK_MARK = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_BREAK_IN_CHINESE = re.compile(rf"(?<=[{_CJK_MARK}]{{20}})(?<!\s)[^\S\n]*+\n\s*+(?=[{_CJK_MARK}])")
_GAP = re.compile(r"\s+")
_THAI = re.compile("[\u0e00-\u0eff]")
_GAP_IN_THAI = re.compile(r"(?<=[\u0e00-\u0eff])[ \u00a0]+(?=[\u0e00-\u0eff])")
"""Thai and Lao have no mark at a sentence's end; a space ends a clause."""
_LEAST_THAI = 40
"""Shorter clauses stay together."""
_END = re.compile(rf"(?P<wide>[。！？；…؟۔।॥։።]+{_CLOSERS})|(?P<narrow>[.!?]+{_CLOSERS})")
_BRACKETED = re.compile(r"《[^《》\n]{1,60}》|（[^（）\n]{1,80}）|\([^()\n]{1,80}\)|【[^【】\n]{1,60}】")
_OPENING = frozenset("“«‹")
"""Closing marks of some languages, which open in others."""
_OPENING_BRACKETS = frozenset("《〈「『【（([")
_BOTH_WAYS = ('"', "'")
_LAST_WORD = re.compile(r"[\w.'’-]{0,20}\Z")
_SPACE_THEN = re.compile(r"\s+[\"'“‘„«»¿¡(\[「『*_]*(?P<next>\S?)")
_NEXT_WORD = re.compile(r"[\s\"'“‘„«»¿¡(\[*_]*(\w+)")
_BEFORE_ORDINAL = re.compile(
    r"\b(?:am|dem|den|der|des|die|das|im|vom|zum|zur|bis|seit|ab|beim|jede[mnrs]?|und|oder|nach)\s\Z", re.IGNORECASE
)
"""Words of German that a number with a full stop follows as an ordinal: `am 3. November`, `im 18. Jahrhundert`."""
_LONGEST_ORDINAL = 2
_QUOTED_ON = frozenset("とのをにはもがでなっ")
"""Behind a closing quote these go on with the sentence in Japanese: 「……。」と言った。"""
_ONLY_NUMBER = re.compile(r"[\W\d_]*(?:[A-Za-z]|[IVXLC]{1,5})?[\W\d_]*")
_ACRONYM = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")

_NEVER_ENDS = re.compile(
    "mr|mrs|ms|mx|dr|prof|rev|hon|st|ste|gen|col|capt|cpt|lt|sgt|maj|cmdr|adm|gov|sen|rep|pres|messrs|mme|mlle|fig|fr|sr"
    "|mt|ft|no|nos|vol|vols|pp|p|ch|chap|sec|art|figs|eq|tab|ref|cf|vs|v|e.g|i.e|viz|approx|ca|c|dept|est|al|ed|eds|trans"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|cit|op|ibid|incl"
    "|abs|bspw|bzw|dipl|evtl|geb|ggf|hr|hrsg|inkl|ing|mio|mrd|nr|tsd|vgl|zzgl|env|mgr|mm|mlles"
    "|dña|dra|dras|ee|uu|núm|pág|págs|sra|sras|sres|ud|uds|avda"
    "|акад|д|е|и|им|илл|обл|п|пер|просп|проф|рис|св|см|стр|т|табл|ул",
    re.IGNORECASE,
)
_SELDOM_ENDS = re.compile(
    "inc|ltd|co|corp|plc|llc|bros|jr|sr|esq|etc|ph.d|m.d|b.a|m.a|b.sc|m.sc|a.m|p.m|u.s|u.k|u.n|e.u|d.c|ave|blvd",
    re.IGNORECASE,
)
_STARTERS = re.compile(
    "the|a|an|in|on|at|by|for|from|with|it|its|he|she|they|we|i|you|his|her|their|our|this|that|these|those|there|but|and|or"
    "|so|yet|however|although|though|when|while|if|after|before|as|since|during|because|then|thus|therefore|meanwhile"
    "|moreover|furthermore|one|two|three|some|many|most|all|both|each|no|not|what|who|where|why|how|once|until|unless|under"
    "|over|between",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every sentence, in order: trimmed, not overlapping, over all text that is not white space.

    A sentence ends at its mark with closing quotes, and where a heading, list item, table row or paragraph ends. Marks
    in abbreviations, numbers, initials, book titles and short brackets do not end one. Linear in the text.

    Source:
        docs/algorithm.md §text.1.

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
    if _NEVER_ENDS.fullmatch(word):
        return False
    if _SELDOM_ENDS.fullmatch(word) or _ACRONYM.fullmatch(word):
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
    return following is None or _STARTERS.fullmatch(following[1]) is not None


class SumyTokenizer:
    """What sumy asks of a tokenizer, by this project's own reading of text: no download, both languages."""

    def __init__(self, most_words: int, shortest_word: int = 1) -> None:
        """Weigh the first `most_words` terms of a sentence that have at least `shortest_word` characters."""
        self._most_words = most_words
        self._shortest_word = shortest_word

    def to_sentences(self, text: str) -> tuple[str, ...]:
        """The sentences of a text."""
        return tuple(sentences(text))

    def to_words(self, sentence: str) -> tuple[str, ...]:
        """The first terms of a sentence that are long enough."""
        terms = (term for term in tokens(sentence) if len(term) >= self._shortest_word)
        return tuple(islice(terms, self._most_words))
