"""Whether a text supports what a model wrote about it: its words, its numbers and its negation occur there."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.data import patterns
from sag_retrieval.language.dates import dates
from sag_retrieval.language.quantities import quantities
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import STOP_WORDS, fold, is_cjk, stem, words

_LEAST_NAME = 3
"""Chinese characters in a row that no text has, from this many on, may be a name; two with a surname are."""
_SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田姜范石姚"
    "谭廖邹熊陆郝孔白崔康毛邱秦江史顾侯邵孟龙段雷钱汤尹黎乔贺赖龚"
)
_ORGANISED = patterns("zh")["ends_organisation"]
"""What ends the name of an organisation."""
_GENERIC: Final = 2
"""Characters of a trade, such as 能源, between a name and its legal form."""
_PROPER: Final = ("nr", "ns", "nt", "nz")
"""Tags of proper nouns in the dictionary."""
_NAMING: Final = "najbxsgz"
"""First letters of the tags of words that names of organisations are made of: nouns, adjectives, abbreviations."""
_OPENERS: Final = frozenset(
    "according additionally afterwards also although altogether among based because besides both certain considering"
    " consequently despite due during each eventually every following furthermore given hence however including"
    " initially instead many meanwhile moreover most nevertheless nonetheless notably overall regarding several"
    " similarly since some subsequently such therefore throughout thus together ultimately unlike upon various"
    " whereas within".split()
)
"""Words without a meaning of their own that begin a sentence; capitals there show no name."""


def opening_words(text: str) -> frozenset[str]:
    """The capitalised words of a text that open a sentence without a meaning of their own."""
    found = patterns("en")["opening_word"].finditer(text)
    return frozenset(each[1] for each in found if each[1].lower() in _OPENERS)


def may_be_name(piece: str, run: str) -> bool:
    """Whether a piece of a run of Chinese characters may name something, and is not made of ordinary words.

    Examples:
        >>> [may_be_name("充满信心", "对未来充满信心"), may_be_name("真实制造", "收购真实制造有限公司")]
        [False, True]
    """
    import rjieba  # noqa: PLC0415  its dictionary is read once, and only where such a piece is in doubt

    start = run.find(piece)
    end, at, words_of = start + len(piece), 0, list[tuple[int, str, str]]()
    for word, tag in rjieba.tag(run):
        at += len(word)
        words_of.append((at, word, tag[:2]))
    if any(
        _is_organisation(found, words_of)
        for found in _ORGANISED.finditer(run)
        if found.start() - _GENERIC * (found["legal"] is not None) <= end and start < found.end()
    ):
        return True
    within = [(word, tag) for at, word, tag in words_of if start < at < end + len(word)]
    is_long = len(piece) + (piece[0] in _SURNAMES) >= _LEAST_NAME
    return is_long and any(tag in _PROPER or (len(word) > 1 and not rjieba.has_word(word)) for word, tag in within)


def _is_organisation(found: re.Match[str], words_of: Sequence[tuple[int, str, str]]) -> bool:
    """Whether what stands before `公司` and the like names one: always before legal forms, else if it is no verb.

    Two characters that make no word of the dictionary, as in 信达百货, are a name too.
    """
    before = next((place for place, (at, *_) in enumerate(words_of) if at >= found.start()), 0)
    is_unknown = before > 0 and all(len(word) == 1 for _, word, _ in words_of[before - 1 : before + 1])
    return found["legal"] is not None or is_unknown or words_of[before][2][:1] in _NAMING


_SAYS = patterns("all")
_DIGITS = patterns("all")["grouped_number"]
_INTEGER = re.compile(r"\d+")
_SEPARATORS = str.maketrans("．", ".", ",，'’ ")
_CLAUSE = patterns("all")["clause_border"]
_CHINESE = patterns("all")["cjk_run"]
_NEGATING = patterns("zh")["negating"]
_SMALL: Final = frozenset("的了是在和与及将为其等也都并于被把由向对从以而且则这那该此有")
"""Characters that hold a Chinese sentence together and say nothing by themselves."""
_EDGES = "\"'“”‘’()（）[].,;:!?*_"
_NUMBER_WORDS: Final = {
    name: float(value)
    for value, names in enumerate(
        "zero|one once first a|two twice second|three third|four fourth|five fifth|six sixth|seven seventh|eight eighth"
        "|nine ninth|ten tenth|eleven eleventh|twelve twelfth".split("|")
    )
    for name in names.split()
} | {character: float(value) for value, character in enumerate("零一二三四五六七八九十")}
_NEGATIONS: Final = frozenset(
    "not no never none nobody nothing neither nor without cannot deny denies denied fail fails failed refuse refuses"
    " refused reject rejects rejected unable false untrue 不 没 未 无 非 否 勿 莫".split()
)
_LAST_ITEM = patterns("all")["before_last_item"]
_MOST_LISTED: Final = 30
_LEAST_STEM = 4
"""Two words of one family (`founder`, `founded`) begin with the whole shorter stem, of at least this many letters."""
_SHOWN = 3
_LONGER = 2
"""A clause with more than twice the words of a statement, and two, speaks of more than that."""
_SAME = 0.75
"""Share of a statement's words that a clause has which says the same or its opposite."""
_OWN = 0.5
"""Share of the bound that the passage itself must reach: title and summary alone support nothing."""


EVENT_WORDS: Final = 0.7
"""Share of an event's words that its passage, title and summary must have; its numbers and names must all occur. Of
events that models wrote 2 % are below, and 98 % of events of other passages."""
KEY_WORDS: Final = 0.75
"""Share of the words of a key, or of the head or tail of a triple, that its event or passage must have. Of names that a
model listed .1 % are below."""
TEXT_WORDS: Final = 0.4
"""Share of the words of a summary or title that its text must have, else rules write it."""


class Clause(NamedTuple):
    """The stems and characters of a part of a sentence, and whether it is negated."""

    stems: frozenset[str]
    characters: frozenset[str]
    is_negated: bool

    def share(self, stems: frozenset[str]) -> float:
        """The share of the stems of a statement that it has; of a Chinese pair both characters do."""
        shared = sum(one in self.stems or (is_cjk(one) and self.characters.issuperset(one)) for one in stems)
        return shared / len(stems) if stems else 0.0


class SupportingText:
    """The words, numbers and negated clauses of a passage, and of what stands above it."""

    def __init__(self, passage: str, *above: str, language: str = "en", document: str = "") -> None:
        """Take a passage and what was shown above it; names may also be from `document`, for `it` and `the firm`."""
        self._document = document
        self.text = "\n".join(filter(None, (passage, *above)))
        self._passage = fold(passage)
        self._language = language
        self._own = _stems(passage)
        self._every = _stems(self.text)
        self._begins = {one[:_LEAST_STEM] for one in self._every}

    def fault(self, statement: str) -> str:
        """Why the passage does not support a statement; empty if it does."""
        if fold(statement) in self._passage:
            return ""
        fault = self.lacks(statement, EVENT_WORDS)
        if fault:
            return fault
        stems = _stems(statement)
        if len(stems & self._own) < EVENT_WORDS * _OWN * len(stems):
            return "its passage says little of it"
        return next(filter(None, map(self._reversed, _CLAUSE.split(statement))), "")

    def lacks(self, text: str, least: float = KEY_WORDS) -> str:
        """Which numbers, words or capitalised words of a text do not occur; empty if enough of them do."""
        if numbers := list(self._missing_numbers(text)):
            return f"numbers that its text does not have: {', '.join(numbers[:_SHOWN])}"
        stems = [one for one in _stems(text) if not is_cjk(one)]
        runs = _CHINESE.findall(_NEGATING.sub("", fold(text)))
        openers, elsewhere = opening_words(text), _stems(self._document)
        named = [part.strip(_EDGES) for part in text.split()]
        named = [part for part in named if part[:1].isupper() and part not in openers]
        unknown = [part for part in named if not all(self._has(one) or one in elsewhere for one in _stems(part))]
        known = frozenset[str]().union(*map(_stems, {*named} - {*unknown}))
        missing = sorted(one for one in stems if one not in known and not self._has(one))
        pieces = [(run, piece) for run in runs for piece in self._uncovered(run)]
        pieces = [each for each in pieces if each[1] not in self._document or not may_be_name(each[1], each[0])]
        if (
            len(missing) + sum(len(piece) for _, piece in pieces)
            > (1 - least) * (len(stems) + sum(map(len, runs))) + 1e-9
        ):
            shown = [*missing, *(piece for _, piece in pieces)][:_SHOWN]
            return f"words that its text does not have: {', '.join(shown)}"
        unknown += [piece for run, piece in pieces if len(piece) > 1 and may_be_name(piece, run)]
        return f"names that its text does not have: {', '.join(unknown[:_SHOWN])}" if unknown else ""

    def names(self, value: str) -> bool:
        """Whether a name, a date or an amount occurs, however it is written."""
        amount = read_amount(value, self._language)
        if amount is not None and amount.numbers:
            return all(_rounded(number) in self._numbers for number in amount.numbers)
        return not self.lacks(value)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        return frozenset(_numbers(self.text, self._language))

    @cached_property
    def _clauses(self) -> tuple[Clause, ...]:
        return tuple(_clauses(self.text))

    def _has(self, one: str) -> bool:
        if one in self._every:
            return True
        if is_cjk(one) or one[:_LEAST_STEM] not in self._begins:
            return False
        return any(_is_family(one, other) for other in self._every)

    def _uncovered(self, run: str) -> Iterator[str]:
        """The pieces of a run of Chinese characters that stand beside neither neighbour in the texts."""
        pairs = [False, *(pair in self._every for pair in map("".join, pairwise(run))), False]
        is_alone = len(run) == 1 and run in self.text
        unseen = "".join(
            " " if is_alone or before or behind or character in _SMALL else character
            for character, before, behind in zip(run, pairs, pairs[1:], strict=False)
        )
        yield from unseen.split()

    def _missing_numbers(self, statement: str) -> Iterator[str]:
        statement = _SAYS["full_hour"].sub("  ", statement)
        digits = [found for found in _DIGITS.finditer(statement) if _value(found[0]) not in self._numbers]
        if digits:
            digits = [found for found in digits if not _is_counted(statement, found)]
            spans = [span for *span, value in _mentions(statement, self._language) if value in self._numbers]
            yield from (found[0] for found in digits if not any(start <= found.start() < end for start, end in spans))

    def _reversed(self, statement: str) -> str:
        """Whether the clauses that a clause is about are negated and it is not, or the other way round."""
        own, negates = _stems(statement), is_negated(statement)
        if negates and not any(one.is_negated for one in self._clauses):
            return "it negates what its passage states"
        near = [one for one in self._clauses if len(one.stems) <= _LONGER * len(own) + _LONGER]
        shares = [one.share(own) for one in near]
        best = max(shares, default=0.0)
        about = {one.is_negated for one, share in zip(near, shares, strict=True) if share == best}
        if best < _SAME or about != {not negates}:
            return ""
        return "it negates what its passage states" if negates else "it states what its passage negates"


def _is_counted(statement: str, number: re.Match[str]) -> bool:
    """Whether a number counts what the statement lists behind it: `3 tests, namely A, B and C`."""
    count = number[0]
    if not count.isdecimal() or not 1 < int(count) <= _MOST_LISTED:
        return False
    end = _SAYS["list_end"].search(statement, number.end())
    rest = statement[number.end() : end.start() if end else len(statement)]
    opening = _SAYS["announces_list"].search(rest)
    if opening is None:
        return False
    items = [part for part in _SAYS["list_comma"].split(rest[opening.end() :]) if part.strip()]
    joined = sum(
        1 for part in items for piece in _LAST_ITEM.split(part)[1:] if _LAST_ITEM.split(part)[0].strip() and piece
    )
    return len(items) <= int(count) <= len(items) + joined


def is_negated(text: str) -> bool:
    """Whether a text has a word that negates."""
    said = words(patterns("en")["numbering"].sub(" ", text))
    return any(word in _NEGATIONS or word.endswith("n't") for word in said)


@lru_cache(maxsize=4_096)
def _stems(text: str) -> frozenset[str]:
    """Stems of the words that mean something; of Chinese the pairs of neighbouring characters."""
    plain = fold(text)
    runs = _CHINESE.findall(_NEGATING.sub("", plain))
    pairs = {"".join(pair) for run in runs for pair in pairwise(run)}
    others = (word for word in words(plain) if not is_cjk(word))
    return frozenset(
        pairs | {stem(w) for w in others if w not in STOP_WORDS and w not in _NEGATIONS and not w.isdigit()}
    )


def _is_family(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    return shorter >= _LEAST_STEM and one[:shorter] == other[:shorter]


def _clauses(text: str) -> Iterator[Clause]:
    for sentence in sentences(text):
        for part in _CLAUSE.split(sentence):
            found, negates = _stems(part), is_negated(part)
            if found or negates:
                yield Clause(found, frozenset(fold(part)), negates)


def _numbers(text: str, language: str) -> Iterator[float]:
    """The numbers of a text: as written, with their scale, parts of dates, and small ones in words."""
    for found in _DIGITS.finditer(text):
        yield _value(found[0])
        yield from map(_value, _INTEGER.findall(found[0]))
    yield from (value for *_, value in _mentions(text, language))
    yield from (_NUMBER_WORDS[word] for word in words(text) if word in _NUMBER_WORDS)


def _mentions(text: str, language: str) -> Iterator[tuple[int, int, float]]:
    """Where amounts and dates stand, with the value of the amount or of each part of the date."""
    for mention in quantities(text, language):
        yield mention.start, mention.end, _rounded(float(mention.value))
    for mention in dates(text, language):
        for part in _INTEGER.findall(str(mention.value)):
            yield mention.start, mention.end, float(part)


def _value(digits: str) -> float:
    return _rounded(float(digits.translate(_SEPARATORS)))


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")
