"""Which kinds of value a sentence states: names, dates, durations, numbers, places, reasons."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from sag_retrieval.ask.question import AnswerKind, AskedUnit
from sag_retrieval.language.dates import DATE, MONTH, MONTHS, dates
from sag_retrieval.language.units import CURRENCIES
from sag_retrieval.language.words import is_cjk, normal_name

NAME_TYPES = frozenset({"person", "organisation", "organization", "entity", "name", "company", "group"})
PLACE_TYPES = frozenset({"place", "location", "entity", "name"})
STRICT: frozenset[AnswerKind] = frozenset({"name", "date", "duration", "number"})
"""Kinds whose values a sentence without them cannot answer."""

_MONTH_ALONE = re.compile(
    rf"\b(?:in|of|by|during|since|until|early|late|from|to|last|next)[\s-]({MONTH})(?!,?\s?\d)", re.IGNORECASE
)
_CHINESE_MONTH_ALONE = re.compile(r"(?<![年\d])(\d{1,2})\s?月")
_IDENTIFIER = re.compile(
    r"(?<![\w-])[A-Za-z](?=[\w]{0,40}-?\d)[\w-]*+|\[\d{4}-\d\d-\d\d[^\]]{0,60}\]"
    r"|\b(?:[Vv]ersion|[Nn]o\.|[Ss]ection|[Aa]rticle|[Cc]hapter|[Pp]age|[Pp]hase|[Ss]tep) ?\d[\d.]*+"
    r"|版本\s?\d[\d.]*+|第\s?\d+\s?[条章节页号]"
)
"""`FA-2021-108`, `KA24082`, `version 4.0` and the time stamp of a chat line: figures that count nothing."""
_WORDED = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety"
    r"|hundred|thousand|million|billion|half|dozen|once|twice)"
)
_CLAUSE_END = re.compile(r"[，；。！？]|[,;.!?](?=\s)")
_NUMBER = re.compile(
    rf"\d[\d,.]*|(?!one (?:of|another)\b)(?<!no )(?<!the )(?<!this )(?<!that )(?<!which )\b{_WORDED}\b"
    r"|(?!(?<![有只仅共达为])一[个名人家座台艘套种项份次])(?<![一二三四五六七八九十百千两零〇])"
    r"[一二三四五六七八九十百千两零〇]++(?=[个名人家座台艘套种项份次倍成年月天日周米吨元万亿])"
    r"|百分之[一二三四五六七八九十]+|一半",
    re.IGNORECASE,
)
"""`一` with a measure word is mostly an article, like `one` in `one of`."""
_DURATION = re.compile(
    rf"(?:(?<![\d,.])\d[\d,.]*+|\b{_WORDED}\b)[\s-]*+"
    r"(?:working |calendar )?(?:second|minute|hour|day|week|month|year|decade)s?\b"
    r"|(?:(?<![\d,.])\d[\d,.]*+|(?<![一二三四五六七八九十百两半])[一二三四五六七八九十百两半]++)"
    r"\s?(?:个)?(?:多)?(?:秒|分钟|小时|天|日|周|星期|月|年)(?![\d一二三四五六七八九十]{0,3}[月日])",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\bbecause\b|\bdue to\b|\bowing to\b|\bcaus(?:e|ed|es)\b|\breasons?\b|\bsince\b(?!\s+(?:\d|[A-Z]\w+\s\d))"
    r"|\bso that\b|\bas a result\b|\btherefore\b|\bled to\b|\bin order to\b|\bto (?:prevent|avoid|ensure)\b"
    r"|\bpoints? to\b|\bafter\b|\bthanks to\b|\bblam(?:e[ds]?|ing)\b|\battribut(?:e[ds]?|able)\b"
    r"|\bstem(?:s|med)? from\b|因|由于|导致|造成|所以|原因|为了|以便|从而|以免|理由|引起|引发|致使|缘于|源于|归咎|归因",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|at|near|from|to|behind|beside|under|above|inside|outside|opposite)\s(?:the\s)?[\w]"
    r"|位于|[在于往]|地处|坐落|迁|搬|抵达|来自|[省市区县镇村路楼室港岛湾]",
)
_CAPITALISED = re.compile(
    r"\b[A-Z0-9ÀÁÂÄÇÉÈÊËÍÎÏÑÓÔÖØÚÜŠŽ][\w'’&.-]*(?:\s(?:of|the|de|van|von|[A-ZÀÁÂÄÇÉÈÊËÍÎÏÑÓÔÖØÚÜŠŽ][\w'’&.-]*))*"
)


def _money() -> str:
    """The pattern of amounts of money: a currency before the number or behind it, or in a label."""
    names = sorted(CURRENCIES, key=lambda name: (-len(name), name))
    words = "|".join(re.escape(name) for name in names if name.isascii() and name.isalpha())
    others = "|".join(re.escape(name) for name in names if is_cjk(name) or not name[-1].isalnum())
    scale = r"(?:\s?(?:thousand|million|billion|trillion|bn|[kmb])\b|\s?[十百千万亿]+)?"
    return (
        rf"\b(?:{words})\b[^:\d]{{0,20}}:|"
        rf"(?:{others}|\b(?:{words})\s)\s?\d|\d{scale}\s?(?:{others}|块)|[一二三四五六七八九十百千万亿两]元"
        rf"|\d{scale}[\s-](?:{words}|pence|penny|cent|crown|krone|kroner|rupee)(?:e?s)?\b"
    )


_UNITS: dict[AskedUnit, re.Pattern[str]] = {
    "money": re.compile(_money(), re.IGNORECASE),
    "share": re.compile(
        r"\d\s?[%％‰]|\bper ?cent|百分|[\d一二三四五六七八九]成"
        r"|\b(?:half|third|quarter|fifth|tenth)s?\b|分之|一半|过半",
        re.IGNORECASE,
    ),
}


def states_unit(unit: AskedUnit, clauses: str) -> bool:
    """Whether clauses with a number hold an amount of money, or a share, where one is asked for.

    Examples:
        >>> [states_unit("money", text) for text in ("It cost 3.1 million dollars.", "罚款180万元", "It grew by 6 %.")]
        [True, True, False]
        >>> [states_unit("share", text) for text in ("It grew by 6 %.", "降幅为四成", "It cost $ 5.")]
        [True, True, False]

    """
    return unit == "" or _UNITS[unit].search(clauses) is not None


def states(kind: AnswerKind, text: str, question: str, keys: Sequence[tuple[str, str]] = ()) -> bool:
    """Whether a sentence states a value of a kind that the question does not hold itself.

    Args:
        kind: What is expected.
        text: The sentence.
        question: What was asked.
        keys: Typed keys of the passage, type and value; the sentence states those that stand in it.

    Example:
        >>> states("date", "The plant opened on June 5, 2024.", "When did it open?")
        True
        >>> states("number", "2021年的营业收入为150亿元。", "2021年的营业收入是多少？")
        True
        >>> states("name", "The plant was founded in 1998.", "Who founded the plant?", [("person", "Ann Lee")])
        False

    """
    return _CHECKS[kind](text, question, keys)


def stating_clauses(kind: AnswerKind, text: str, question: str, keys: Sequence[tuple[str, str]] = ()) -> str:
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


def full_dates(text: str) -> set[str]:
    """The days and months of a text as `2021-10` or `2021-10-05`, whatever their form; years alone are left out."""
    return {value for *_, value in _spans(text) if "-" in value}


def holds_date(date: str, text: str) -> bool:
    """Whether a text holds a day or month that `full_dates` gave, if only without its year.

    Examples:
        >>> [holds_date("2021-01", text) for text in ("It opened in January.", "2021年3月投产。")]
        [True, False]

    """
    return any(date in other or other in date for other in full_dates(text)) or date.split("-")[1] in months_alone(text)


def holds_another_date(question: str, text: str) -> bool:
    """Whether a text has days or months, and none of those that a question asks of."""
    has_any = bool(full_dates(text) or months_alone(text))
    return has_any and not any(holds_date(date, text) for date in full_dates(question))


def months_alone(text: str) -> set[str]:
    """The months of a text that have no year, as `03`."""
    english = {f"{MONTHS.index(found[1][:3].lower()) + 1:02}" for found in _MONTH_ALONE.finditer(text)}
    return english | {f"{int(found[1]):02}" for found in _CHINESE_MONTH_ALONE.finditer(text)}


def numbers_in(text: str) -> set[str]:
    """The numbers of a text that belong to no date and no name such as `Chaoming-2`."""
    bare = _IDENTIFIER.sub(" ", _without_dates(text))
    return {match[0].lower().replace(",", "").rstrip(".") for match in _NUMBER.finditer(bare)}


def names_in(text: str, keys: Sequence[tuple[str, str]], types: frozenset[str] = NAME_TYPES) -> set[str]:
    """Names that stand in a text, folded: keys of some types, and capitalised words but a single one at its start."""
    folded = normal_name(text)
    named = {normal_name(value) for kind, value in keys if kind in types}
    found = {name for name in named if len(name) > 1 and _stands_in(name, folded)}
    for match in _CAPITALISED.finditer(text):
        is_at_start = not text[: match.start()].strip(" -*#|\"'“‘(\t\n")
        if match[0][0].isalpha() and (not is_at_start or " " in match[0]):
            found.add(normal_name(match[0]))
    return found


def _stands_in(name: str, folded: str) -> bool:
    return name in folded if not name.isascii() else f" {name} " in f" {folded} "


def _has_name(text: str, question: str, keys: Sequence[tuple[str, str]]) -> bool:
    """Also true where no name of the passage is known: then a sentence without one cannot be told from one with one."""
    asked = normal_name(question)
    is_known_of = any(kind in NAME_TYPES and not is_known(normal_name(value), asked) for kind, value in keys)
    return not is_known_of or _has_new_name(text, question, keys, NAME_TYPES)


def _has_new_name(text: str, question: str, keys: Sequence[tuple[str, str]], types: frozenset[str]) -> bool:
    asked = normal_name(question)
    return any(not is_known(name, asked) for name in names_in(text, keys, types))


def is_known(name: str, asked: str) -> bool:
    """Whether a folded name, or each of its words, stands in a folded question."""
    words = set(asked.split())
    return name in asked or all(word in words for word in name.split())


def _has_date(text: str, question: str, _: Sequence[tuple[str, str]]) -> bool:
    known = dates_in(question)
    return any(not any(date in each or each in date for each in known) or _adds(date, known) for date in dates_in(text))


def _adds(date: str, known: set[str]) -> bool:
    return all(len(date) > len(each) for each in known)


def _has_number(text: str, question: str, _: Sequence[tuple[str, str]]) -> bool:
    return bool(numbers_in(text) - numbers_in(question))


def _has_duration(text: str, question: str, _: Sequence[tuple[str, str]]) -> bool:
    bare = _without_dates(text) if is_cjk(text) else text
    asked = {found[0] for found in _DURATION.finditer(question)}
    return any(found[0] not in asked for found in _DURATION.finditer(bare))


def _has_place(text: str, question: str, keys: Sequence[tuple[str, str]]) -> bool:
    return bool(_PLACE.search(text)) or _has_new_name(text, question, keys, PLACE_TYPES)


_CHECKS: dict[AnswerKind, Callable[[str, str, Sequence[tuple[str, str]]], bool]] = {
    "name": _has_name,
    "date": _has_date,
    "duration": _has_duration,
    "number": _has_number,
    "place": _has_place,
    "comparison": lambda text, question, keys: _has_number(text, question, keys) or _has_date(text, question, keys),
    "reason": lambda text, *_: bool(_REASON.search(text)),
    "statement": lambda *_: True,
}
