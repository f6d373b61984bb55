"""What the cells of a table's row, or the words behind a label, hold: decisions, risks, owners, deadlines, amounts."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple, get_args

from sag_retrieval.language.asked import asked_words, language_tables
from sag_retrieval.language.words import fold, is_cjk

HeaderClass = Literal["decision", "risk", "open", "action", "owner", "status", "deadline", "amount", "level"]
"""What a header names; `open` is what is not settled, `level` how severe, likely or urgent something is."""
CLASSES: Final[tuple[HeaderClass, ...]] = get_args(HeaderClass)
MAIN: Final[frozenset[HeaderClass]] = frozenset({"decision", "risk", "action"})
"""Classes that a row is about; the others say something of it."""

_LABEL: Final = re.compile(r"(?:^|; ?|；)([^:：;；。]{1,60}?)\s?[:：](?: |(?=[^\s/\d])|$)")
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
    found = list(_LABEL.finditer(text))
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
