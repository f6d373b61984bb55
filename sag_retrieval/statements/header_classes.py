"""What the cells of a table's row, or the words behind a label, hold: decisions, risks, owners, deadlines, amounts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple, get_args

from sag_retrieval.language.data import asked_words, language_tables, patterns
from sag_retrieval.language.layout import bare_heading
from sag_retrieval.language.units import is_currency, unit_name
from sag_retrieval.language.words import fold, is_cjk

HeaderClass = Literal["decision", "risk", "action", "owner", "status", "deadline", "amount", "level", "open"]
"""What a header names; `level` is how severe, likely or urgent something is, `open` what is not settled."""
CLASSES: Final[tuple[HeaderClass, ...]] = get_args(HeaderClass)
MAIN: Final[tuple[HeaderClass, ...]] = ("decision", "risk", "open", "action")
"""Classes that a row or a part of a document is about, as pages list them; the others say something of it."""

_LABEL: Final = re.compile(r"(?:^|; ?|；)([^:：;；。]{1,60}?)\s?[:：](?: |(?=[^\s/\d])|$)")
"""A name and a colon at the beginning of a text or behind a semicolon, as events of table rows have them."""
_OUTSIDE: Final = re.compile(r"[(（\[].*|\bof\b.*", re.IGNORECASE)
"""What stands behind the noun of a header: a unit in brackets, `of …`."""
_HEADING: Final = patterns("all")["heading_or_label"]
_BELOW_LABEL: Final = patterns("all")["below_label"]
_LABEL_LEVEL: Final = 7
"""Of a short line with a colon: below that of every heading."""
_BEHIND: Final = 2
"""Chinese characters behind the word of a heading's class: `风险提示`."""


class Cell(NamedTuple):
    """A value of a row, the name of its column, and what that names; None where it is of no class."""

    column: str
    value: str
    kind: HeaderClass | None


def row_cells(text: str) -> tuple[Cell, ...]:
    """The cells of the event of a table's row, `column: value; column: value`, or of a labelled line.

    What stands before the first name belongs to no cell, nor does a sentence with a colon that introduces the table.

    Examples:
        >>> [(cell.kind, cell.value) for cell in row_cells("Risk: late parts; Risk owner: Ann Lee; Due: 5 May")]
        [('risk', 'late parts'), ('owner', 'Ann Lee'), ('deadline', '5 May')]
        >>> row_cells("风险: 供货延误; 责任人: 李宁")[1].kind, row_cells("The risk is small.")
        ('owner', ())
    """
    found = list(_LABEL.finditer(text))
    if len(found) > 1 and not header_class(found[0][1]) and _LABEL.match(rest := text[found[0].end() :]):
        return row_cells(rest)
    ends = [*(each.start() for each in found[1:]), len(text)][: len(found)]
    return tuple(
        Cell(each[1].strip(), text[each.end() : end].strip(" ;；"), header_class(each[1]))
        for each, end in zip(found, ends, strict=True)
    )


@cache
def header_class(column: str) -> HeaderClass | None:
    """What a header cell or a label names: its last word that names any (a `risk owner` is an owner), or a currency.

    Examples:
        >>> [header_class(name) for name in ("Risk description", "Total (EUR)", "风险等级", "截止日期", "Supplier")]
        ['risk', 'amount', 'level', 'deadline', None]
    """
    found = _named(_OUTSIDE.sub("", fold(column)))
    for kind in ("owner", "deadline"):  # words that name a column alone, and mean none in a longer header or a question
        if fold(column).strip() in header_words(f"only_{kind}"):
            return kind
    if not found and any(is_currency(unit_name(word)) for word in column.replace("(", " ").replace(")", " ").split()):
        return "amount"
    return max(found, key=lambda each: (each[0], -each[1]))[2] if found else None


@cache
def classes_in(text: str) -> frozenset[HeaderClass]:
    """Every class whose words a header, a title or a question holds.

    Examples:
        >>> sorted(classes_in("Who owns the main risks?")), sorted(classes_in("主要风险和应对措施有哪些？"))
        (['risk'], ['action', 'risk'])
    """
    return frozenset(kind for *_, kind in _named(fold(text)))


def headed_parts(text: str) -> Iterator[tuple[int, int, HeaderClass]]:
    r"""The parts of a document below headings that name a main class, or deadlines: first character, end, class.

    A heading without a class below such a one keeps it. Below a short line with a colon stands a list, or a paragraph.

    Examples:
        >>> text = "# Board\n## Main risks\n- Frost.\n## Menu\nSoup. \n决定：\n- 停售半瓶装。\n\n散会。"
        >>> [(text[start:end].strip(), kind) for start, end, kind in headed_parts(text)]
        [('- Frost.', 'risk'), ('- 停售半瓶装。', 'decision')]
    """
    above: list[tuple[int, HeaderClass | None]] = []
    found = list(_HEADING.finditer(text))
    for place, each in enumerate(found):
        level = len(each["hashes"] or "#" * _LABEL_LEVEL)
        while above and above[-1][0] >= level:
            above.pop()
        kind = heading_class(bare_heading(each[0])) or (above[-1][1] if above and each["hashes"] else None)
        end = found[place + 1].start() if place + 1 < len(found) else len(text)
        if each["hashes"]:
            above.append((level, kind))
        else:
            end = min(end, below.end()) if (below := _BELOW_LABEL.match(text, each.end())) else end
        if kind:
            yield each.end(), end, kind


@cache
def heading_class(heading: str) -> HeaderClass | None:
    """The first main class, or deadlines, that a heading is: its last word, a plural, or a Chinese word near its end.

    Examples:
        >>> [heading_class(each) for each in ("Risks and measures", "2. Decisions taken", "Risk policy", "风险提示")]
        ['risk', 'decision', None, 'risk']
    """
    folded = _OUTSIDE.sub("", fold(heading)).strip(" .:：")
    for end, _, kind in sorted(_named(folded), key=lambda each: (each[1], -each[0])):
        behind = len(folded) - end
        is_head = behind <= _BEHIND if is_cjk(folded) else not behind or folded[end - 1] == "s"
        if is_head and kind in (*MAIN, "deadline") and len(folded.split()) <= _LABEL_LEVEL:
            return kind
    return None


def is_done(status: str) -> bool:
    """Whether the value of a status, or a list's item by its mark or its last brackets, leaves nothing to do.

    Examples:
        >>> [is_done(each) for each in ("Done (3 May)", "已完成", "open", "未完成", "[x] Call", "Call (closed)")]
        [True, True, False, False, True, True]
    """
    folded = fold(status).strip()
    first, last = _OUTSIDE.sub("", folded).strip(" ."), folded.rstrip(")）] .").replace("（", "(").rpartition("(")[2]
    return first in header_words("done") or last in header_words("done") or folded.startswith("[x]")


@cache
def header_words(name: str) -> frozenset[str]:
    """The folded words of all languages under a name of `headers.toml`."""
    return frozenset(fold(word) for listed in language_tables("headers.toml") for word in listed.get(name, ()))


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
