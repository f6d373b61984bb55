"""Judge which events read as statements that a report can quote: whole sentences about something, not fragments."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Final, Literal

import numpy as np

from sag_retrieval.communities.events import EventTable, Floats, Keys, Rows
from sag_retrieval.communities.headings import heading_end
from sag_retrieval.communities.registers import has_figure, is_claim, is_note, is_notice, is_opinion, tells_effect
from sag_retrieval.communities.subjects import has_name, lacks_subject, named_in, refers_outside
from sag_retrieval.communities.talk import TOLD
from sag_retrieval.communities.titles import names_something
from sag_retrieval.text.words import is_cjk

Fault = Literal[
    "length",
    "end",
    "start",
    "speech",
    "row",
    "heading",
    "address",
    "time",
    "figures",
    "reference",
    "subject",
    "opinion",
    "claim",
    "note",
    "notice",
]
MEASURED: Final = ("money", "quantity", "percentage")
"""Types of keys that are amounts, the most telling first."""
_LENGTHS: Final = (30, 320)
"""Characters of a sentence in an alphabet."""
_LENGTHS_CJK: Final = (10, 140)
_DIGIT: Final = re.compile(r"\d")
_FULL: Final = 120
"""Characters of a sentence in an alphabet that says a lot."""
_FULL_CJK: Final = 40
ROUTINE: Final = 0.9
"""Of a fault: routine, and what holds no figure to check, is quoted only where there is nothing else."""
_UNSAID: Final = 0.5
"""Of a statement that does not say who, or says it after a subject that only its document makes clear."""
_WIDE: Final = 3
"""Documents from which on what has no name could be of any of them."""
_FEW: Final = 3
"""Such statements of a theme at most."""
_EFFECT: Final = 0.2
"""What a statement loses that ends with praise of what it tells."""
_MUST_TELL: Final = 0.25
"""What a statement has to hold that does not say who: an amount, a date in figures, or a name and some length."""
_ENDS: Final = re.compile(r"[.。…][”’\"'」』）)\]]*$")
_SPEECH: Final = re.compile(
    r"[!?！？]|^[^\s.。:：]{1,30}[:：]\s*[\"“]?(?:I|we|you)\b|\bI\b|\b(?i:my|me|you|your|we|our|us|let['’]s)\b|[我你您咱]"
)
_QUOTED: Final = re.compile(r"[\"“'‘「『](?:[^\"”’」』]{0,300}[,.!?;，。！？…][\"”'’」』]|[^\"”'’」』]*$)")
"""Words that somebody says; a title in quotation marks has no comma or stop before they close."""
_ROW: Final = re.compile(
    r"\||\t|(?:[$€£¥] ?\d[\d,.]* +){2}|(?:\d[\d,.]{0,12} ?% +){2}"
    r"|(?<=[^:：;；])[:：][^:：;；]{1,80}[;；]\s*[^:：;；]{1,40}[:：][^:：;；]{1,80}[;；]"
)
_LABELLED: Final = re.compile(
    r"(?:(?:^|[\s。.;；])[^\s:：。.;；]{1,30}[:：]\s*){2}|^[^:：。.]{1,40}[:：]"
    r"|\. \d{1,4}[A-Z][a-z]|\b\d{1,4}(?:ITEM|NOTE|PART)\b|\b(?:ITEM|NOTE|PART) [\dIVX]{1,4}[A-Z]?\.$"
    r"|^(?:[A-Z][A-Z-]{2,}[,.]? ){2,}[A-Z][a-z]|^(?:[A-Z][A-Z-]+[,.]? ){2,}(?:\d{1,3}[A-Z]|\d[\d.]* ?%)"
    r"|^\d{1,4} [A-Z]{3,} \d|\b[A-Z]{3,} \d+ [—–-] [A-Z]{3,}"
    r"|^(?!(?:In|On|At|By|From|Since|During|Until|After|Before|As|For|Around|Between|To|Over|Under|About|Of)\b)"
    r"[A-Z]\w{0,30}(?: [a-z]\w{0,30}){0,2} \d[\w/.-]{0,12} [A-Z][a-z]+ "
)
_NUMBERED: Final = re.compile(
    r"^\s*(?:[#*•·>-]+|\d+(?:\.\d+)*[.)、]|[(（]?[一二三四五六七八九十\divx]+[)）、])\s*", re.IGNORECASE
)
_PAIRS: Final = ("（）", "「」", "『』", "《》", "“”")
_LOGGED: Final = re.compile(
    r"^(?:\d{4}年\d{1,2}月\d{1,2}日|(?:[A-Z][a-z]+ )?\d{1,2}(?:st|nd|rd|th)?,?(?: [A-Z][a-z]+,?)?(?: \d{4})?)[。.] ?\S"
    r"|^(?:[A-Z][\w'’-]{0,30} ){1,6}1[.)] [A-Z]|^[“「][^”」]{1,60}[”」](?:系?指|是指)"
)
"""The date of a log, or the term of a definition."""
_FIRST_ITEM: Final = re.compile(r"[:：] ?(?:1[.)、]|[(（][1ai][)）]|①)(?!.{0,300}(?:\b2[.)、]|[(（](?:2|b|ii)[)）]|②))")
"""A list with its first item alone."""
_ADDRESS: Final = re.compile(r"https?://|www\.|\S@[^\s@]{1,80}\.\w|(?:^|\s)/\w+/\w+|\w\.(?:html?|php|pdf|docx?)\b")
_TIME: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?|^\W*(?:19|20)\d{6}|^\[")
_JOINED: Final = re.compile(
    r"^(?:In (?:conclusion|summary|short|addition|contrast|particular|other words|fact|turn|general|terms of)"
    r"|(?:See|Refer to|Let|For (?:further|more|additional) (?:information|details))\b|In (?:return|the end)"
    r"|On (?:the other hand|top of)"
    r"|As (?:a result|a consequence|such|well)|For (?:example|instance)|At the same time|To this end"
    r"|(?:After|When|While|Once|Until|Before|If|As) (?:it|he|she|they|this|that)\b"
    r"|详见|参见|接着|接下来|进一步|综合来看|总体而言|总的来说)"
)
"""Beginnings that continue what was said before."""
_IN_FORCE: Final = re.compile(r"^As (?:of|from|at) \S*\d")
"""`As of 27 May 2023 …` begins a statement of its own."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_SPACE: Final = re.compile(r"\s+")
_LETTERS: Final = 0.6
_LETTERS_CJK: Final = 0.4
"""Share of letters in a text that is more than figures; a Chinese character says as much as several letters."""
_PRONOUN: Final = re.compile(r"\b(?:he|she|him|his|her|hers)\b")
_THEY: Final = re.compile(r"^(?:[^,]{0,60}, )?[Tt]hey\b|\b(?:we|our)\b")
_CAPITAL: Final = re.compile(r"(?<![.!?] )\b[A-Z]")
_UNNAMED: Final = re.compile(
    r"(?:^|, )[Tt]h(?:e|is|ese) (?:[a-z-]+ ){1,2}"
    r"(?!(?:of|in|for|at|by|on|from|to|between|that|which|who)\b)[a-z]"
    r"|(?:^|[，；])(?:本|全)?(?:公司|企业|集团|患者|病人|被告人?|原告|法院|院方|双方|部门|项目|系统|该项)"
)
"""A subject that only its document makes clear: `the company bought …`, `公司收购了…`."""
_FIRST: Final = re.compile(r"^[\"“'‘(（「『]*([^\W\d_]+)")


def faults(text: str, names: Sequence[str] = ()) -> tuple[Fault, ...]:
    """What keeps a text from being quoted as a statement; empty for a good one.

    Args:
        text: The statement.
        names: What it names, as far as that is known.

    Examples:
        >>> faults("Marlow Seals delivered 400 O-rings to the shipyard in May 2022.")
        ()
        >>> faults("It rose by 3 %.")
        ('length', 'reference')
        >>> faults("Looking forward to it!")
        ('length', 'end', 'speech', 'note')

    """
    return () if TOLD.match(text) else _checked(text, tuple(names))


@lru_cache(maxsize=1 << 15)
def _checked(text: str, names: tuple[str, ...]) -> tuple[Fault, ...]:
    """The faults, kept: topics, their order, findings and articles ask about the same sentences."""
    cjk = is_cjk(text)
    low, high = _LENGTHS_CJK if cjk else _LENGTHS
    bare = text.strip()
    checks: dict[Fault, bool] = {
        "length": not low <= len(bare) <= high,
        "end": not _ENDS.search(bare),
        "start": bare[:1].islower() or _is_torn(bare),
        "speech": _SPEECH.search(bare) is not None or _QUOTED.match(bare) is not None,
        "row": _ROW.search(bare) is not None,
        "heading": _is_headed(bare),
        "address": _ADDRESS.search(bare) is not None,
        "time": _TIME.search(bare) is not None,
        "figures": _is_figures(bare),
        "reference": _refers_back(bare, cjk) or refers_outside(bare),
        "subject": lacks_subject(bare, names),
        "opinion": is_opinion(bare),
        "claim": is_claim(bare),
        "note": is_note(bare),
        "notice": is_notice(bare),
    }
    return tuple(name for name, holds in checks.items() if holds)


def _is_torn(text: str) -> bool:
    """Whether a bracket or quotation mark has no counterpart: a part of a longer sentence."""
    return any(text.count(opening) != text.count(closing) for opening, closing in _PAIRS)


def _is_headed(text: str) -> bool:
    """Whether a label, a number of a list, a date of a log or a heading stands before the sentence."""
    begins = _NUMBERED.match(text) or _LOGGED.match(text) or heading_end(text)
    return bool(begins or _LABELLED.search(text) or _FIRST_ITEM.search(text))


def _refers_back(text: str, cjk: bool) -> bool:  # noqa: FBT001  a property of the text
    """Whether the first word, or a pronoun before any name, stands for something said before."""
    if cjk:
        return bool(_JOINED.match(text)) or text.lstrip("“”\"'「『（(").startswith(tuple(_referring()))
    first = None if _IN_FORCE.match(text) else _FIRST.match(text)
    if _JOINED.match(text) or (first is not None and first[1].casefold() in _referring()):
        return True
    if _THEY.search(text):
        return True
    pronoun = _PRONOUN.search(text)
    return pronoun is not None and not _CAPITAL.search(text, 1, pronoun.start())


def continues(text: str) -> bool:
    """Whether the first words of a text join it to what was said before."""
    if is_cjk(text):
        return _refers_back(text, cjk=True)
    first = None if _IN_FORCE.match(text) else _FIRST.match(text)
    return bool(_JOINED.match(text)) or (first is not None and first[1].casefold() in _referring())


@lru_cache
def _referring() -> frozenset[str]:
    """Words that stand for something said before, and words that join a sentence to the one before."""
    text = resources.files("sag_retrieval.communities").joinpath("referring_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def fault_counts(events: EventTable, rows: Rows) -> Floats:
    """Faults of each event's text; one more for a plan; less for routine, no figure, no name, a subject without one."""
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1])).T
    counted = np.zeros(len(rows))
    is_wide = len(events.documents.titles) >= _WIDE
    for place, (row, (start, end)) in enumerate(zip(rows.tolist(), starts.tolist(), strict=True)):
        text = events.contents[row]
        is_plan = len(events.is_forecast) > 0 and bool(events.is_forecast[row]) and not TOLD.match(text)
        is_routine = len(events.is_routine) > 0 and bool(events.is_routine[row])
        is_poor = is_routine or not (TOLD.match(text) or has_figure(text))
        named = named_in(events, events.links.key[start:end].tolist(), text)
        less = ROUTINE if is_poor else _less_for_names(named, text, is_wide=is_wide)
        counted[place] = len(faults(text, tuple(named))) + is_plan + less
    return counted


def _less_for_names(named: Mapping[str, int], text: str, *, is_wide: bool) -> float:
    """What is added for not saying who: most where nothing has a name and many documents could be meant."""
    unnamed = _UNNAMED.search(text)
    if named and (unnamed is None or min(named.values()) < unnamed.end()):
        return 0.0
    if named or not is_wide:
        return _UNSAID
    return ROUTINE if unnamed or not has_name(text) else _UNSAID


def is_amount(keys: Keys, key: int) -> bool:
    """Whether a key is an amount: of one of the types that are, or a number of a type of one's own."""
    return keys.types[key] in MEASURED or bool(keys.numbers and keys.numbers[key] is not None)


def telling(events: EventTable, rows: Rows) -> Floats:
    """How much there is to check in each event: an amount, a date, up to two names, the length; 0 to 1.2.

    A little less where it ends with what the matter is good for.
    """
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1])).T
    found = np.zeros(len(rows))
    for place, (row, (start, end)) in enumerate(zip(rows.tolist(), starts.tolist(), strict=True)):
        keys = events.links.key[start:end].tolist()
        text = events.contents[row]
        named = [key for key in keys if names_something(events.keys, key) and events.keys.place_in(text, key) >= 0]
        measured = any(is_amount(events.keys, key) for key in keys)
        dated = any(events.keys.types[key] == "date" for key in keys)
        length = min(1.0, len(text) / (_FULL_CJK if is_cjk(text) else _FULL))
        told = 0.4 * measured + 0.2 * dated + 0.2 * min(2, len(named)) + 0.2 * length
        found[place] = max(0.0, told - _EFFECT * tells_effect(text))
    return found


def good_rows(events: EventTable, rows: Rows, least: int) -> Rows:
    """The rows without a fault, in their order.

    Where they are fewer than `least`, those fill up that hold a figure or a name, but do not say who; where there are
    none at all, a few that are routine or hold no figure.
    """
    counted = fault_counts(events, rows)
    clean = rows[counted == 0]
    if len(clean) >= min(least, len(rows)):
        return np.asarray(clean)
    is_poor = not (counted < ROUTINE).any()
    usable = np.flatnonzero(counted < (1 if is_poor else ROUTINE))
    usable = usable[(counted[usable] == 0) | (telling(events, rows[usable]) >= _MUST_TELL)]
    order = usable[np.lexsort((usable, counted[usable]))][: min(least, len(rows), _FEW if is_poor else least)]
    return np.asarray(rows[np.sort(order)])


def is_prose(text: str) -> bool:
    """Whether a text is made of words: no row of a table, no figures alone, no address."""
    return not (_ROW.search(text) or _is_figures(text) or _ADDRESS.search(text))


def is_sentence(text: str) -> bool:
    """Whether a text is a sentence of whatever quality: prose, no heading or label, with a verb."""
    bare = text.strip()
    return is_prose(bare) and not (_LABELLED.search(bare) or _NUMBERED.match(bare) or is_note(bare))


def _is_figures(text: str) -> bool:
    least = _LETTERS_CJK if is_cjk(text) and _ENDS.search(text) else _LETTERS
    return len(_LETTER.findall(text)) < least * len(_SPACE.sub("", text))


def share_of_filler(texts: Sequence[str]) -> float:
    """Share of texts with a fault; 0 for none."""
    return sum(1 for text in texts if faults(text)) / len(texts) if texts else 0.0
