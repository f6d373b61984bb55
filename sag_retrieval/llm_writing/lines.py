"""Numbered lines of a prompt, packed by tokens, and what may be kept of an answer that cites them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import CitedSentence, Community
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.words import fold, normal_name, tokens
from sag_retrieval.llm_writing.support import Checked, EventEvidence, check, figures, unstated
from sag_retrieval.llm_writing.written import Finding, LeftOut, LeftOutKind, WrittenFinding, WrittenSentence
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.prompts import as_lines
from sag_retrieval.statements.form import is_prose, refers_back
from sag_retrieval.topics.titler import fits

_LONGEST: Final = 1_500
"""Characters of an event that a prompt shows."""
_LONGEST_SENTENCE: Final = 600
_LONGEST_REASON: Final = 200
_TITLE_WORDS: Final = 0.5
"""Share of the terms of a title that the shown events must hold."""
_AROUND_TITLES: Final = ' *_#`"“”‘’「」.。:：'
_SHORTEST_NAME: Final = 2
_NAMES: Final = frozenset({"person", "organisation", "organization", "company", "place", "geo", "location", "product"})
"""Types of keys that are names; the value of another type may be a common word."""


@dataclass(frozen=True, slots=True)
class PromptLine:
    """What a number of a prompt stands for: the line's fields, and the rows of the events behind it."""

    shown: dict[str, object]
    rows: tuple[int, ...]


def in_prompt(lines: Sequence[PromptLine]) -> str:
    """The lines as JSON objects numbered from 1: no text can end its line or pose as an instruction."""
    return as_lines({"n": number} | line.shown for number, line in enumerate(lines, 1))


def packed(lines: Sequence[PromptLine], most: int) -> list[list[PromptLine]]:
    """The lines in parts of at most `most` estimated tokens, in their order; a longer line is a part of its own."""
    parts: list[list[PromptLine]] = []
    used = 0
    for line in lines:
        size = estimate_tokens(in_prompt([line])) + 2
        if not parts or used + size > most:
            parts.append([])
            used = 0
        parts[-1].append(line)
        used += size
    return parts


def event_lines(events: EventTable, rows: Sequence[int]) -> list[PromptLine]:
    """Events as lines: date, document and text."""
    return [PromptLine(_shown(events, row), (row,)) for row in rows]


def _shown(events: EventTable, row: int) -> dict[str, object]:
    text = events.contents[row]
    title = events.documents.titles[int(events.document[row])]
    told = {"date": events.dates[row], "document": title, "text": text if len(text) <= _LONGEST else text[:_LONGEST]}
    return {name: value for name, value in told.items() if value}


def first_rows(events: EventTable, community: Community, most: int) -> list[int]:
    """The most typical members whose lines have at most `most` estimated tokens together, by date."""
    chosen: list[int] = []
    used = 0
    for row in community.members.tolist():
        used += estimate_tokens(in_prompt(event_lines(events, [row]))) + 2
        if chosen and used > most:
            break
        chosen.append(row)
    return sorted(chosen, key=lambda row: (events.dates[row] is None, events.dates[row] or "", row))


@dataclass(frozen=True, slots=True)
class PromptLines:
    """The lines of a prompt, and the names that occur in them."""

    lines: Sequence[PromptLine]
    names: Sequence[str]

    @classmethod
    def of(cls, events: EventTable, lines: Sequence[PromptLine]) -> "PromptLines":
        """The lines with the names that the events behind them carry as keys."""
        keys = {key for line in lines for row in line.rows for key in _keys_of(events, row)}
        named = {normal_name(events.keys.values[key]) for key in keys if events.keys.types[key] in _NAMES}
        return cls(lines, sorted(name for name in named if len(name) >= _SHORTEST_NAME))

    def __len__(self) -> int:
        """Count of the lines."""
        return len(self.lines)


def _keys_of(events: EventTable, row: int) -> list[int]:
    """Rows of the keys of an event; links are ordered by event."""
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    found: list[int] = events.links.key[start:end].tolist()
    return found


@dataclass
class Judge:
    """Keeps what events support of what a model wrote, and remembers what it left out and why."""

    events: EventTable
    left_out: list[LeftOut] = field(default_factory=list)
    _evidence: dict[int, EventEvidence] = field(default_factory=dict)

    def leave_out(self, community_id: str, kind: LeftOutKind, reason: str, text: str = "") -> None:
        """Remember what is left out."""
        self.left_out.append(LeftOut(community_id, kind, reason, clean(text)[:_LONGEST_SENTENCE]))

    def sentences(
        self, community_id: str, given: Sequence[WrittenSentence], lines: PromptLines
    ) -> tuple[CitedSentence, ...]:
        """The sentences that the events behind their lines support, in order, each once."""
        found: dict[str, CitedSentence] = {}
        for each in given:
            text, checked = clean(each.text), self.checked(each.text, each.cited, lines)
            if checked.reason:
                self.leave_out(community_id, "sentence", checked.reason, text)
            else:
                found.setdefault(fold(text), CitedSentence(text, self._ids(checked)))
        return tuple(found.values())

    def findings(
        self, community_id: str, given: Sequence[WrittenFinding], lines: PromptLines, theme_of: Callable[[int], str]
    ) -> tuple[Finding, ...]:
        """The findings that their events support, the most important first."""
        found: dict[str, Finding] = {}
        for each in given:
            text, checked = clean(each.text), self.checked(each.text, each.cited, lines)
            reason = checked.reason or ("form" if refers_back(text) else "")
            if reason:
                self.leave_out(community_id, "finding", reason, text)
                continue
            why = self._why(community_id, each, checked, lines)
            theme = theme_of(checked.numbers[0])
            importance = min(10, max(0, round(each.importance)))
            kept = Finding(
                text=text, event_ids=self._ids(checked), importance=importance, reason=why, community_id=theme
            )
            found.setdefault(fold(text), kept)
        return tuple(sorted(found.values(), key=lambda each: -each.importance))

    def _why(self, community_id: str, given: WrittenFinding, checked: Checked, lines: PromptLines) -> str:
        """The reason of an importance; empty where its figures and names stand neither in finding nor events."""
        why = clean(given.reason)[:_LONGEST_REASON]
        if not why:
            return ""
        known = [EventEvidence.of(given.text), *(self._of(row) for row in checked.numbers)]
        fault = unstated(why, frozenset(figures(why)), known, lines.names)
        if fault:
            self.leave_out(community_id, "reason", fault, why)
        return "" if fault else why

    def title(self, community_id: str, given: str, rows: Sequence[int]) -> str:
        """The title, if it is short and its words stand in the events; else empty."""
        title = clean(given).strip(_AROUND_TITLES)
        terms = set(tokens(title))
        held = {term for row in rows for term in self._of(row).terms & terms}
        if not title or not fits(title):
            self.leave_out(community_id, "title", "length", title)
        elif not is_prose(title):
            self.leave_out(community_id, "title", "form", title)
        elif len(held) < _TITLE_WORDS * len(terms) or not terms:
            self.leave_out(community_id, "title", "words", title)
        else:
            return title
        return ""

    def checked(self, text: str, cited: Sequence[int], lines: PromptLines) -> Checked:
        """The rows of events that support a text which cites lines."""
        rows = [row for number in cited if 1 <= number <= len(lines) for row in lines.lines[number - 1].rows]
        text = clean(text)
        if len(text) > _LONGEST_SENTENCE:
            return Checked((), "form")
        return check(text, rows, {row: self._of(row) for row in rows}, lines.names)

    def _ids(self, checked: Checked) -> tuple[str, ...]:
        return tuple(self.events.event_ids[row] for row in checked.numbers)

    def _of(self, row: int) -> EventEvidence:
        if row not in self._evidence:
            events = self.events
            keys = [events.keys.values[key] for key in _keys_of(events, row)]
            title = events.documents.titles[int(events.document[row])]
            self._evidence[row] = EventEvidence.of(events.contents[row], events.dates[row] or "", title, *keys)
        return self._evidence[row]
