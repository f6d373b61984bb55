"""The form of a sentence, told from its characters: prose or a row, speech, and whether it refers back."""

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import resources
from typing import Final, Literal, NamedTuple, get_args

from sag_retrieval.language.asked import asked_words, language_tables
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold, is_cjk

_ROW = patterns("all")["row"]
"""Cells of a table: bars, tabs, two amounts or shares beside each other."""
_ADDRESS = patterns("all")["address"]
_SPEECH = patterns("all")["speech"]
_LABEL = patterns("all")["statement_label"]
_END = patterns("all")["statement_end"]
_FIRST = patterns("all")["first_word"]
_PRONOUN = patterns("en")["third_person"]
_NAME = patterns("all")["capital_inside"]
"""A capital letter that no beginning of a sentence asks for."""
_OPENING: Final = "“”\"'「『（("
_IN_FORCE = patterns("en")["in_force"]
"""`As of 27 May 2023 …` begins a statement of its own."""
_LETTERS, _LETTERS_CJK = 0.6, 0.4
"""Share of letters in a text that is more than figures; a Chinese character says as much as several letters."""


def is_prose(text: str) -> bool:
    """Whether a text is made of words: no row of a table, no figures alone, no address."""
    return not (_ROW.search(text) or is_figures(text) or _ADDRESS.search(text))


def is_sentence(text: str) -> bool:
    """Whether a text is prose that ends as a sentence does, without a label or the number of a list before it."""
    bare = text.strip()
    return is_prose(bare) and _END.search(bare) is not None and _LABEL.match(bare) is None


def is_speech(text: str) -> bool:
    """Whether a text asks, exclaims, or speaks of or to somebody present."""
    return _SPEECH.search(text) is not None


def is_figures(text: str) -> bool:
    """Whether a text has too few letters to be more than figures."""
    letters, characters = sum(map(str.isalpha, text)), sum(not each.isspace() for each in text)
    return letters < (_LETTERS_CJK if is_cjk(text) else _LETTERS) * characters


def refers_back(text: str) -> bool:
    """Whether the first word of a sentence, or a pronoun before any name in it, stands for something said before.

    Examples:
        >>> refers_back("It rose by 3 %."), refers_back("In return, he paid 3."), refers_back("Oban rose by 3 %.")
        (True, True, False)

    """
    if is_cjk(text):
        return text.lstrip(_OPENING).startswith(_referring_cjk())
    pronoun = _PRONOUN.search(text)
    if pronoun is not None and not _NAME.search(text, 1, pronoun.start()):
        return True
    first = None if _IN_FORCE.match(text) else _FIRST.match(text)
    return first is not None and first[1].casefold() in _referring()


@lru_cache
def _referring() -> frozenset[str]:
    """Words that stand for something said before."""
    text = resources.files("sag_retrieval.statements").joinpath("referring_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@lru_cache
def _referring_cjk() -> tuple[str, ...]:
    return tuple(sorted(word for word in _referring() if is_cjk(word)))


HeaderClass = Literal["decision", "risk", "action", "owner", "status", "deadline", "amount", "level"]
"""What a header names; `level` is how severe, likely or urgent something is."""
CLASSES: Final[tuple[HeaderClass, ...]] = get_args(HeaderClass)
MAIN: Final[frozenset[HeaderClass]] = frozenset({"decision", "risk", "action"})
"""Classes that a row is about; the others say something of it."""

_LABELLED: Final = re.compile(r"(?:^|; ?|；)([^:：;；。]{1,60}?)\s?[:：](?: |(?=[^\s/\d])|$)")
"""A name and a colon at the beginning of a text or behind a semicolon, as events of table rows have them."""
_OUTSIDE: Final = re.compile(r"[(（\[].*|\bof\b.*", re.IGNORECASE)
"""What stands behind the noun of a header: a unit in brackets, `of …`."""


class Cell(NamedTuple):
    """A value of a row, the name of its column, and what that names; None where it is of no class."""

    column: str
    value: str
    kind: HeaderClass | None


def row_cells(text: str) -> tuple[Cell, ...]:
    """The cells of the event of a table's row, `column: value; column: value`, or of a labelled line.

    Examples:
        >>> [(cell.kind, cell.value) for cell in row_cells("Risk: late parts; Risk owner: Ann Lee; Due: 5 May")]
        [('risk', 'late parts'), ('owner', 'Ann Lee'), ('deadline', '5 May')]
        >>> row_cells("风险: 供货延误; 责任人: 李宁")[1].kind, row_cells("The risk is small.")
        ('owner', ())

    Args:
        text: The content of an event. What stands before the first name belongs to no cell.

    """
    found = list(_LABELLED.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)][: len(found)]
    return tuple(
        Cell(each[1].strip(), text[each.end() : end].strip(" ;；"), header_class(each[1]))
        for each, end in zip(found, ends, strict=True)
    )


@cache
def header_class(column: str) -> HeaderClass | None:
    """What a header cell or a label names, by its last word that names any: a `risk owner` is an owner.

    Examples:
        >>> [header_class(name) for name in ("Risk description", "Total (EUR)", "风险等级", "截止日期", "Supplier")]
        ['risk', 'amount', 'level', 'deadline', None]

    """
    found = _named(_OUTSIDE.sub("", fold(column)))
    return max(found, key=lambda each: (each[0], -each[1]))[2] if found else None


@cache
def classes_in(text: str) -> frozenset[HeaderClass]:
    """Every class whose words a header, a title or a question holds.

    Examples:
        >>> sorted(classes_in("Who owns the main risks?")), sorted(classes_in("主要风险和应对措施有哪些？"))
        (['risk'], ['action', 'risk'])

    """
    return frozenset(kind for *_, kind in _named(fold(text)))


def class_words(kind: HeaderClass) -> re.Pattern[str]:
    """The words of headers of a class, in a folded text."""
    return _patterns()[kind]


@cache
def says(kind: HeaderClass) -> re.Pattern[str]:
    """What a folded sentence holds that says what headers of a class name: `failed` says a risk.

    Examples:
        >>> bool(says("risk").search("the pump failed")), bool(says("amount").search("it cost 3 euros"))
        (True, False)

    """
    words = asked_words(kind, "says")
    return re.compile("|".join(map(_word, _longest_first(map(fold, words)))) if words else r"(?!)")


def _named(folded: str) -> list[tuple[int, int, HeaderClass]]:
    """Where each word of a class ends and begins in a folded text, and its class."""
    return [
        (found.end(), found.start(), kind)
        for kind, pattern in _patterns().items()
        for found in pattern.finditer(folded)
    ]


@cache
def _patterns() -> Mapping[HeaderClass, re.Pattern[str]]:
    """The words of all languages that have a list, as one expression for each class; Chinese ones without borders."""
    words: dict[HeaderClass, list[str]] = {kind: [] for kind in CLASSES}
    for listed in language_tables("headers.toml"):
        for kind in CLASSES:
            words[kind] += [fold(word) for word in listed.get(kind, ())]
    return {kind: re.compile("|".join(map(_word, _longest_first(own)))) for kind, own in words.items()}


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(set(words), key=lambda word: (-len(word), word))


def _word(word: str) -> str:
    return re.escape(word) if is_cjk(word) else rf"\b{re.escape(word)}\b"
