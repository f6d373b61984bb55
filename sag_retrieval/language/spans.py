"""Since when and until when a statement holds, as ISO days; which words revise, and which assert nothing."""

import re
from calendar import monthrange
from functools import cache, lru_cache
from typing import Final, NamedTuple

from sag_retrieval.language.data import language_tables, patterns
from sag_retrieval.language.dates import DATE, dates, with_year
from sag_retrieval.language.words import is_cjk, tokens

UNCONFIRMED: Final = "unconfirmed"
"""Evidence of a contradiction where one statement is a rumour, a proposal, a quotation or of a draft."""


class Validity(NamedTuple):
    """From which day and to which day something holds, both included; empty for an end that is not said."""

    holds_from: str = ""
    holds_to: str = ""


_NEAR = 24
"""Characters around a date in which words say what it begins or ends."""


@cache
def revising(name: str) -> re.Pattern[str]:
    """An expression of `revising.toml` by its name, that of all languages joined.

    Examples:
        >>> [bool(revising("corrects").search(text)) for text in ("The slide was wrong.", "以此为准。", "It is fine.")]
        [True, True, False]
    """
    return re.compile("|".join(_expressions(name)), re.IGNORECASE)


def _expressions(name: str) -> list[str]:
    found = [own["patterns"][name] for own in language_tables("revising.toml") if name in own["patterns"]]
    return [one for each in found for one in ([each] if isinstance(each, str) else each)]


def subject_terms(text: str) -> frozenset[str]:
    """Index terms without digits; of Chinese the pairs alone, as one character stands in many words."""
    return frozenset(filter(_is_of_subject, tokens(text)))


@lru_cache(maxsize=1 << 16)
def _is_of_subject(term: str) -> bool:
    return not any(map(str.isdigit, term)) and (len(term) > 1 or not is_cjk(term))


def is_weak(text: str, *titles: str, is_past: bool = False) -> bool:
    """Whether a statement is a rumour, a proposal, a quotation or of a draft, or only recalls what was.

    Where the past is asked (`is_past`), what is recalled is as good; `titles` are those of its document.

    Examples:
        >>> is_weak("I heard that it costs 5."), is_weak("It costs 5."), is_weak("It costs 5.", "First draft")
        (True, False, True)
    """
    if patterns("all")["quoted_line"].match(text) or revising("hedged").search(text):
        return True
    if any(map(_is_draft, titles)):
        return True
    says_so = revising("corrects").search(text) or revising("changes").search(text)
    return not is_past and not says_so and revising("recalls").search(text) is not None


@lru_cache(maxsize=1 << 14)
def _is_draft(title: str) -> bool:
    return revising("draft").search(title) is not None


_AROUND_WORDS = re.compile(r"\^\\s[+*]|\\s\*\$|[$^]|\(\?<![^)]*\)|\\b")
"""What binds the words of a span to a date beside them or keeps them from other words."""


@cache
def span_words() -> str:
    """An expression, which RE2 knows too, that each statement with a span matches; most others match it nowhere.

    Examples:
        >>> [bool(re.search(span_words(), text)) for text in ("open until May", "自五月起", "It is open.")]
        [True, True, False]
    """
    ends = ("begins_before", "ends_before", "begins_behind", "ends_behind", "is_open")
    return "|".join(_AROUND_WORDS.sub("", revising(name).pattern) for name in ends)


_TO_LOOSEN = re.compile(
    r"\(\?<?[=!](?:[^()\\]|\\.|\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))*\))*\)|\\b|[$^]"
    r"|(?P<often>\{\d+(?:,\d*)?\}|[*+]\+)|(?P<one>\[(?:[^\[\]\\]|\\.)*\]|\\[wsd])"
)
"""What binds words to what stands beside them; how often something stands; a character of a class."""
_AS_RE2 = ((r"\w", r"\pL\pN_"), (r"\s", r"\s\pZ\x0b\x1c-\x1f\x85"), (r"\d", r"\p{Nd}"))


@cache
def may_say(name: str) -> tuple[str, ...]:
    """Expressions for RE2, which reads a column at once: a text where `revising(name)` finds anything matches one.

    Examples:
        >>> import pyarrow.compute as pc
        >>> pc.match_substring_regex(["It was wrong.", "Is it fine?"], may_say("wrong_behind")[0]).to_pylist()
        [True, False]
    """
    return tuple(_TO_LOOSEN.sub(_loosened, each) for each in _expressions(name))


def _loosened(found: re.Match[str]) -> str:
    if not found["one"]:
        return "*" if found["often"] else ""
    read = found[0]
    for own, other in _AS_RE2:
        read = read.replace(own, other)
    return read if read[0] == "[" else f"[{read}]"


def span_of(text: str, language: str = "en", said: str = "") -> Validity:
    """The days from and to which a statement says that it holds; an open end is empty.

    `said`, when it was said: a day without a year is the nearest one, and `until further notice` begins then.

    Examples:
        >>> span_of("From 1 September 2025 until further notice the gate is shut.")
        Validity(holds_from='2025-09-01', holds_to='')
        >>> span_of("自2025年9月1日起施行。"), span_of("Applications by 15 October 2025.").holds_to
        (Validity(holds_from='2025-09-01', holds_to=''), '2025-10-15')
    """
    if not re.search(span_words(), text, re.IGNORECASE):
        return Validity()
    begins, ends, last = "", "", -1
    for start, end, value in _dates_of(text, language, said):
        before, behind = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
        if begins and not ends and last >= 0 and revising("goes_on").match(text[last:start]):
            ends = last_day(value)
        elif revising("begins_before").search(before) or revising("begins_behind").match(behind):
            begins, last = begins or first_day(value), end
        elif revising("ends_before").search(before) or revising("ends_behind").match(behind):
            ends = ends or last_day(value)
    if not begins and revising("is_open").search(text):
        begins = first_day(said) if said else ""
    return Validity(begins, "" if begins and ends and ends < begins else ends)


def _dates_of(text: str, language: str, said: str) -> list[tuple[int, int, str]]:
    """Each date once, as exact as it is written."""
    found: list[tuple[int, int, str]] = []
    for each in dates(text, language):
        for mention in with_year(each, said) if said else (each,):
            if mention.key_type == DATE and (not found or mention.start >= found[-1][1]):
                found.append((mention.start, mention.end, str(mention.value)))
    return found


@lru_cache(maxsize=1 << 14)
def first_day(value: str) -> str:
    """The first day of a day, month or year in ISO form.

    Examples:
        >>> first_day("2025-02"), last_day("2024-02")
        ('2025-02-01', '2024-02-29')
    """
    return value + "-01-01"[len(value) - len("2025") :] if len(value) < len("2025-02-01") else value[:10]


@lru_cache(maxsize=1 << 14)
def last_day(value: str) -> str:
    """The last day of a day, month or year in ISO form."""
    year, *rest = map(int, value[:10].split("-"))
    if len(rest) > 1:
        return value[:10]
    month = rest[0] if rest else 12
    return f"{year:04}-{month:02}-{monthrange(year, month)[1]:02}"
