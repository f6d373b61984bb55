"""Which kinds of value a sentence states: names, dates, durations, numbers, places, reasons."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from sag_retrieval.ask.question import AnswerKind
from sag_retrieval.language.data import asking, patterns, word_lists
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.words import fold, is_cjk, normal_name, stem, words

NAME_TYPES = frozenset({"person", "organisation", "organization", "entity", "name", "company", "group"})
PLACE_TYPES = frozenset({"place", "location", "entity", "name"})
STRICT: frozenset[AnswerKind] = frozenset({"name", "date", "duration", "number"})
"""Kinds whose values a sentence without them cannot answer."""

TextKeys = Sequence[tuple[str, str]]
"""Type and value of typed keys of a passage; a sentence states those that stand in it."""

_CLAUSE_END = patterns("all")["clause_end"]
_FIGURE = patterns("all")["figure"]
_YEAR = patterns("all")["year"]
_CALENDAR = word_lists("en")["CALENDAR"]
_BESIDE, _BESIDE_CJK = (25, 35), (6, 10)
"""Characters between a number and what it counts, where that stands behind it, and where before."""
_CAPITALISED = patterns("en")["capitalised_name"]


def states(kind: AnswerKind, text: str, question: str, keys: TextKeys = ()) -> bool:
    """Whether a sentence states a value of a kind that the question does not hold itself.

    Example:
        >>> states("date", "The plant opened on June 5, 2024.", "When did it open?")
        True
        >>> states("number", "2021年的营业收入为150亿元。", "2021年的营业收入是多少？")
        True
        >>> states("name", "The plant was founded in 1998.", "Who founded the plant?", [("person", "Ann Lee")])
        False
    """
    return _CHECKS[kind](text, question, keys)


def stating_clauses(kind: AnswerKind, text: str, question: str, keys: TextKeys = ()) -> str:
    """The clauses of a sentence that state a number, each with the clause before; all of it for other kinds."""
    if kind not in ("number", "duration", "comparison"):
        return text
    clauses = _CLAUSE_END.split(text)
    holding = [at for at, clause in enumerate(clauses) if states(kind, clause, question, keys)]
    near = sorted({place for at in holding for place in (at - 1, at) if place >= 0})
    return " ".join(clauses[place] for place in near)


@lru_cache(maxsize=4_096)
def _spans(text: str) -> tuple[tuple[int, int, str], ...]:
    """Where the dates of a text stand, and the most exact value of each."""
    found: dict[tuple[int, int], str] = {}
    for mention in dates(text, "zh" if is_cjk(text) else "en"):
        found.setdefault((mention.start, mention.end), str(mention.value) if mention.key_type == DATE else "")
    return tuple((*span, value) for span, value in found.items())


def _without_dates(text: str) -> str:
    for start, end, _ in _spans(text):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def dates_in(text: str) -> set[str]:
    """The dates of a text as they stand, without spaces."""
    return {"".join(text[start:end].split()).lower() for start, end, _ in _spans(text)}


def years_in(terms: Iterable[str]) -> set[str]:
    """The terms that are years."""
    return {term for term in terms if _YEAR.fullmatch(term)}


def full_dates(text: str) -> set[str]:
    """The days and months of a text as `2021-10` or `2021-10-05`, whatever their form; years alone are left out."""
    return {value for *_, value in _spans(text) if "-" in value}


def holds_date(date: str, text: str) -> bool:
    """Whether a text holds a day or month that `full_dates` gave, or its month.

    Examples:
        >>> [holds_date("2021-01", text) for text in ("It opened on 5 January 2021.", "2021年3月投产。")]
        [True, False]
    """
    return any(date in other or other in date for other in full_dates(text))


def numbers_in(text: str) -> set[str]:
    """The numbers of a text that belong to no date and no name such as `Chaoming-2`."""
    return {match[0].lower().replace(",", "").rstrip(".") for match in _numbers(text)}


def _numbers(text: str) -> list[re.Match[str]]:
    bare = asking("identifier", "values").sub(lambda found: " " * len(found[0]), _without_dates(text))
    return [*_FIGURE.finditer(bare), *asking("number", "values").finditer(bare)]


def counts(text: str, nouns: frozenset[str]) -> bool:
    """Whether a number of a text stands beside one of some nouns, as far as an adjective or a verb stands between.

    Examples:
        >>> counts("两家每年夏天互派员工。", frozenset({"员工"})), counts("工厂有员工约120人。", frozenset({"员工"}))
        (False, True)
    """
    folded, numbers = fold(text), _numbers(text)
    behind, before = _BESIDE_CJK if is_cjk(text) else _BESIDE
    named = {word for word in words(folded) if word in nouns or stem(word) in nouns}
    named |= {noun for noun in nouns if is_cjk(noun)}
    places = ((at, at + len(name)) for name in named for at in range(len(folded)) if folded.startswith(name, at))
    return any(
        0 <= start - number.end() <= behind or 0 <= number.start() - end <= before
        for start, end in places
        for number in numbers
    )


def names_in(text: str, keys: TextKeys, types: frozenset[str] = NAME_TYPES) -> set[str]:
    """Names that stand in a text, folded: keys of some types, and capitalised words but a single one at its start."""
    folded = f" {normal_name(text)} "
    named = {normal_name(value) for kind, value in keys if kind in types}
    found = {name for name in named if len(name) > 1 and (f" {name} " if name.isascii() else name) in folded}
    for match in _CAPITALISED.finditer(text):
        is_at_start = not text[: match.start()].strip(" -*#|\"'“‘(\t\n")
        if match[0][0].isalpha() and (not is_at_start or " " in match[0]) and match[0].lower() not in _CALENDAR:
            found.add(normal_name(match[0]))
    return found


def is_known(name: str, asked: str) -> bool:
    """Whether a folded name, or each of its words, stands in a folded question."""
    words = set(asked.split())
    return name in asked or all(word in words for word in name.split())


def _has_name(text: str, question: str, keys: TextKeys) -> bool:
    """Also true where no name of the passage is known: then a sentence without one cannot be told from one with one."""
    asked = normal_name(question)
    is_known_of = any(kind in NAME_TYPES and not is_known(normal_name(value), asked) for kind, value in keys)
    return not is_known_of or has_new_name(text, question, keys, NAME_TYPES)


def has_new_name(text: str, question: str, keys: TextKeys, types: frozenset[str] = NAME_TYPES) -> bool:
    """Whether a text holds a name of some types that the question does not."""
    asked = normal_name(question)
    return any(not is_known(name, asked) for name in names_in(text, keys, types))


def _without_persons(text: str, keys: TextKeys) -> str:
    for name in sorted((value for kind, value in keys if kind == "person"), key=len, reverse=True):
        text = text.replace(name, " ")
    return text


def _has_date(text: str, question: str, _: TextKeys) -> bool:
    known = dates_in(question)
    return any(
        not any(date in each or each in date for each in known) or all(len(date) > len(each) for each in known)
        for date in dates_in(text)
    )


def _has_number(text: str, question: str, _: TextKeys) -> bool:
    return bool(numbers_in(text) - numbers_in(question))


def _has_duration(text: str, question: str, _: TextKeys) -> bool:
    bare = _without_dates(text) if is_cjk(text) else text
    found = asking("duration", "values")
    asked = {each[0] for each in found.finditer(question)}
    return any(each[0] not in asked for each in found.finditer(bare))


_CHECKS: dict[AnswerKind, Callable[[str, str, TextKeys], bool]] = {
    "name": _has_name,
    "date": _has_date,
    "duration": _has_duration,
    "number": _has_number,
    "place": lambda text, question, keys: (
        bool(asking("place", "values").search(text))
        or has_new_name(_without_persons(text, keys), question, keys, PLACE_TYPES)
    ),
    "comparison": lambda text, question, keys: _has_number(text, question, keys) or _has_date(text, question, keys),
    "reason": lambda text, *_: bool(asking("reason", "values").search(text)),
    "statement": lambda *_: True,
}
