"""Find the dates that a document gives its events: metadata, letter head, headings, stamps of a chat, file name."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from sag_retrieval.core.records import Document, Event
from sag_retrieval.language.data import pattern_of_all, patterns, source_of_all
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.layout import bare_heading
from sag_retrieval.language.spans import revising
from sag_retrieval.language.words import fold

METADATA, MAIL_HEADER, LETTER_HEAD, HEADING = "metadata", "mail header", "letter head", "heading"
STAMP, FILE_NAME, EFFECTIVE = "stamp", "file name", "effective day"
QUOTATION = "quotation"
"""What a message repeats of an earlier one, below `On 27 March 2019, Iris wrote:`."""

_FIELDS = (
    "date document_date published publication_date sent received created created_at timestamp time modified"
    " datum gesendet 日期 时间 发布日期 发件时间 创建时间"
).split()
"""Names of metadata fields that date a document, the first that is there counts."""
_HEAD = 1_500
"""A letter head stands in this many characters from the start, or in this many lines."""
_HEAD_LINES = 15
_SAYS = patterns("all")
_LABEL = pattern_of_all("date_label")
_MADE = pattern_of_all("document_made")
"""What needs no colon: `Updated September 2025`."""
_PLACE = re.compile(
    rf"[^\W\d_][\w.’'-]{{1,20}}(?: [\w.’'-]{{1,20}}){{0,2}},?(?: (?:{source_of_all('before_day')}))?", re.IGNORECASE
)
"""What stands before the date of a letter: `Kiel, den 3. Mai 2024`."""
_SUBTITLE = 80
"""Characters of a line under a title that may date the document: `Operations · 12 March 2025`."""
_SUBTITLE_LINES = 6
_HOLDS = pattern_of_all("holds_until")
"""What stands before the day from or until which something holds; it is not the day on which it was written."""
_EFFECTIVE = pattern_of_all("effective_date")
"""What stands beside the day from which a policy or a contract holds: better than no day where no other is named."""
_TIME_BEHIND = _SAYS["time_behind"]
_WHOLE_DAY = len("2025-03-02")
_LEVELS = 7
"""A line that is a date alone is a heading below all marked ones."""
_LINE = _SAYS["line_that_dates"]
"""Lines that may date what follows: headings, short lines, and openings of messages."""
_DIGIT = _SAYS["digit"]
_NUMBERED_DAY = patterns("all")["numbered_day"]
"""A day in the name of a file with a number behind it: `2019-03-12-007.txt`."""
QUOTES_BELOW = re.compile(revising("quotes_below").pattern, re.IGNORECASE | re.MULTILINE)
"""The line below which a message repeats an earlier one."""
_ENDS = (".", "!", "?", ";", "。", "！", "？", "；", ",", "，")
_LATEST_SHORT_YEAR = 69
_LONGEST_LINE = 120


class ContextDate(NamedTuple):
    """A date, ISO: a day, a month or a year; and where it stands."""

    value: str
    source: str


def with_context_dates(document: Document, events: Sequence[Event]) -> list[Event]:
    """The events, each with the date that its place gives it: of the nearest stamp or heading, else the document's.

    A date in an event's own words is one of its keys and counts before this one.

    Source: docs/algorithm.md §extraction.8.
    """
    whole = document_date(document)
    places = list(_places(document.text, document.language, document.title))
    starts = [start for start, _ in places]
    dated = []
    for event in events:
        row = bisect_right(starts, event.start) - 1 if event.start is not None else -1
        context = (places[row][1] if row >= 0 else None) or whole
        dated.append(
            event if context is None else replace(event, context_date=context.value, context_source=context.source)
        )
    return dated


class _Day(NamedTuple):
    start: int
    end: int
    value: str


def document_date(document: Document) -> ContextDate | None:
    """The date of a whole document, or None: the most exact one; of equals that of metadata, head, title, file name."""
    candidates = [
        *_of_metadata(document.metadata),
        *_of_head(document.text, document.language),
        *((value, HEADING) for value in _single(document.title, document.language)),
        *((value, FILE_NAME) for value in file_name_dates(document.document_id, document.text[:_HEAD])),
    ]
    if not any(len(value) == _WHOLE_DAY for value, _ in candidates):
        candidates += _effective(document.text, document.language)
    exact = max(candidates, key=lambda one: len(one[0]), default=None)  # of equally exact ones the first
    return ContextDate(*exact) if exact else None


def file_name_dates(name: str, text: str = "") -> list[str]:
    """Dates in the path of a file, those of the file before those of its folders.

    Digits alone may be read in several orders: a reading that is also a date of the text counts first, then
    year, month, day, then day, month, year.

    Example:
        >>> file_name_dates("minutes/Minutes_02032024_v1.docx"), file_name_dates("report-2024-03.pdf")
        (['2024-03-02'], ['2024-03'])
    """
    found: list[str] = []
    for part in reversed(name.split("/")):
        marks = zip(f" {part}", part, strict=False)
        spaced = "".join(" " if mark == "_" or (mark == "-" and before.isalpha()) else mark for before, mark in marks)
        for digits in _SAYS["digits_of_a_date"].findall(spaced):
            readings = list(_readings(digits))
            known = {day.value for day in _days(text, "en")} if len(readings) > 1 else frozenset[str]()
            found += [next((each for each in readings if each in known), readings[0])] if readings else []
        found += _single(_NUMBERED_DAY.sub(r"\1 ", spaced), "en")
    return list(dict.fromkeys(found))


def _readings(digits: str) -> Iterator[str]:
    size = len(digits) - len("0302")  # of the year
    for year_at, month_at, day_at in ((0, size, size + 2), (4, 2, 0), (4, 0, 2)):
        year, month, day = digits[year_at:][:size], digits[month_at:][:2], digits[day_at:][:2]
        full = int(year) + (0 if int(year) > _LATEST_SHORT_YEAR else 2000)
        with suppress(ValueError):
            value = date(full, int(month), int(day))
            if 1900 <= full < 2100:  # noqa: PLR2004  the years that files are named by
                yield value.isoformat()


def _days(text: str, language: str) -> list[_Day]:
    """The dates of a text, each once, as exact as it is written."""
    days: list[_Day] = []
    for mention in dates(text, language):
        if mention.key_type == DATE and (not days or mention.start >= days[-1].end):
            days.append(_Day(mention.start, mention.end, str(mention.value)))
    return days


def _single(text: str, language: str) -> list[str]:
    """The date of a short text, unless it names several."""
    values = {day.value for day in _days(text[:_LONGEST_LINE], language)}
    return list(values) if len(values) == 1 else []


def _of_metadata(metadata: str) -> Iterator[tuple[str, str]]:
    given = json.loads(metadata or "{}")
    if not isinstance(given, Mapping):
        return
    fields = {fold(str(name)).replace(" ", "_").replace("-", "_"): value for name, value in given.items()}
    for name in _FIELDS:
        value = fields.get(name)
        if isinstance(value, str | int):
            source = MAIL_HEADER if name == "date" and "from" in fields else METADATA
            yield from ((day.value, source) for day in _days(str(value), "en")[:1])


def _head_lines(text: str) -> list[str]:
    """The lines of a letter head that are not blank."""
    return [line for line in text[:_HEAD].split("\n")[:_HEAD_LINES] if line.strip()]


def _of_head(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Dates of the head: behind a label, alone on a line, behind the name of a place, or in a line under the title."""
    for number, line in enumerate(_head_lines(text)):
        if len(line) > _LONGEST_LINE or line.startswith("##") or not _DIGIT.search(line):
            continue
        for day in _days(line, language)[:1]:
            before, after = line[: day.start].strip("|*_#> \t"), line[day.end :]
            label = before.rstrip(":：|* \t")
            ends = not after.strip(" .|*_\t") or _TIME_BEHIND.match(after)
            is_labelled = (label != before and _LABEL.fullmatch(label)) or _MADE.fullmatch(label)
            is_alone = ends and (not before or (_PLACE.fullmatch(before) and not _HOLDS.search(before)))
            if is_labelled or is_alone or (number < _SUBTITLE_LINES and _is_subtitle(line, day, language)):
                yield day.value, LETTER_HEAD


def _effective(text: str, language: str) -> Iterator[tuple[str, str]]:
    """The day of the first lines from which the document holds: `Version 3, valid from 1 May 2026`."""
    for line in _head_lines(text)[:_SUBTITLE_LINES]:
        for day in _days(line[:_LONGEST_LINE], language):
            before, after = line[: day.start], line[day.end :]
            if len(day.value) == _WHOLE_DAY and (_EFFECTIVE.search(before) or _EFFECTIVE.match(after)):
                yield day.value, EFFECTIVE


def _is_subtitle(line: str, day: _Day, language: str) -> bool:
    """Whether a short line that is no sentence, item or row says when the document was made."""
    is_short = len(line) <= _SUBTITLE and line[:1] not in "-*+|#" and not line.rstrip().endswith(_ENDS)
    is_exact = len(day.value) > len("2025") and len(_single(line, language)) == 1
    return is_short and is_exact and _HOLDS.search(line[: day.start]) is None


def _days_of_lines(text: str, language: str) -> list[_Day]:
    """The dates of headings, short lines and openings of messages."""
    lines = (found for found in _LINE.finditer(text) if _DIGIT.search(found[0]))
    return [
        _Day(found.start() + day.start, found.start() + day.end, day.value)
        for found in lines
        for day in _days(found[0], language)[:1]
    ]


def _places(text: str, language: str, title: str) -> Iterator[tuple[int, ContextDate | None]]:
    """Where the date that holds changes, at headings, stamps and quotations; None: the document's holds again.

    The title is no such place: what it is about (`Harvest 2025`) may be older than what stands below it.
    """
    marks = [(found.start(), len(found["hashes"])) for found in _SAYS["marked_heading"].finditer(text)]
    dated = [(found, *_kind_of(text, found)) for found in _days_of_lines(text, language)]
    heads = {text.rfind("\n", 0, day.start) + 1: day.value for day, kind, _ in reversed(dated) if kind == HEADING}
    if marks and heads and bare_heading(text[marks[0][0] : text.find("\n", marks[0][0])]) == title:
        heads.pop(marks[0][0], None)
    changes: list[tuple[int, int, ContextDate | None]] = [
        (start, level, ContextDate(heads[start], HEADING) if start in heads else None) for start, level in marks
    ]
    changes += [
        (text.rfind("\n", 0, day.start) + 1, level, ContextDate(day.value, kind))
        for day, kind, level in dated
        if level >= _LEVELS
    ]
    changes += [
        (found.start(), 0, ContextDate(day.value, QUOTATION))
        for found in QUOTES_BELOW.finditer(text)
        for day in _days(found[0], language)[:1]
    ]
    held: list[tuple[int, ContextDate]] = []
    for start, level, context in sorted(changes, key=lambda change: change[:2]):
        while held and held[-1][0] >= level:
            held.pop()
        if context:
            held.append((level, context))
        yield start, held[-1][1] if held else None


def _kind_of(text: str, day: _Day) -> tuple[str, int]:
    """Whether a date opens a chat's message, is a heading or stands in one; and the level of what it dates."""
    before = text[max(0, day.start - _LONGEST_LINE) : day.start].rpartition("\n")[2]
    after = text[day.end : day.end + _LONGEST_LINE].partition("\n")[0]
    if _SAYS["opens_line"].fullmatch(before) and _TIME_BEHIND.match(after):
        return STAMP, _LEVELS + 1
    if before.startswith("#"):
        return HEADING, 0
    if not before.strip("*_ \t") and not after.strip("*_:： \t"):
        return HEADING, _LEVELS
    return "", -1
