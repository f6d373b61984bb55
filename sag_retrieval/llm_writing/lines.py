"""Numbered lines of a prompt, packed by tokens, and what may be kept of an answer that cites them.

A sentence that a model wrote is checked against the events that it cites: its figures, names and words must stand
there.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final, Literal

import numpy as np
from babel import Locale
from scipy.sparse import issparse

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import PROPER, CitedSentence, Communities, Community
from sag_retrieval.core.types import Floats
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.data import patterns
from sag_retrieval.language.quantities import quantities
from sag_retrieval.language.words import fold, is_cjk, normal_name, tokens
from sag_retrieval.llm_writing.written import Finding, LeftOut, LeftOutKind, WrittenFinding, WrittenSentence
from sag_retrieval.models.protocols import Vectors, estimate_tokens
from sag_retrieval.prompts import as_lines
from sag_retrieval.statements.form import is_prose, is_speech, refers_back
from sag_retrieval.statements.scorer import good_rows
from sag_retrieval.topics.titler import fits

WhyLeftOut = Literal["cites nothing", "figure", "name", "words", "form"]
"""Why a sentence is left out: it cites no event that was shown; a figure or a name of it stands in none of those that
it cites; too few of its words do; it is no statement (speech, an address, a row)."""

_LEAST_WORDS: Final = 0.4
"""Share of the terms of a sentence that its events must hold."""
_LEAST_OWN: Final = 0.15
"""Share that one event must hold to stay among the citations of a sentence."""
_MOST_CITED: Final = 8
_FIGURE = patterns("all")["figure_of_line"]
_CALCULATION, _SIGN = patterns("all")["calculation"], patterns("all")["sign"]
_CAPITALISED = patterns("all")["capitalised"]
_OPENING: Final = " \"“‘'(（「『"
_SCALES: Final = (1, 1_000, 10_000, 1_000_000, 100_000_000, 1_000_000_000)
"""What the figures of a calculation may stand for: 1.92 − 1.88 of amounts in millions."""
_MONTH: Final = re.compile(r"\b\d{4}-(\d\d)")
_MONTHS: Final = Locale("en").months["format"]["wide"]
_LAST_PART: Final = re.compile(r",(?=\d{3}(?:\D|$))")


@dataclass(frozen=True, slots=True)
class EventEvidence:
    """What an event says, as a sentence is compared with it: its text, date, document and keys."""

    text: str
    """Without punctuation, with a space before and behind."""
    terms: frozenset[str]
    figures: frozenset[str]
    names: tuple[str, ...] = ()
    """Its keys in every script, as `normal_name` has them."""
    is_cjk: bool = False
    """Whether the event itself is Chinese or Japanese."""

    @classmethod
    def of(cls, content: str, *more: str, names: Sequence[str] = ()) -> "EventEvidence":
        """The evidence of an event by all that is known of it."""
        parts = (content, *more, *names)
        joined = "\n".join(filter(None, parts))
        months = [int(month) for month in _MONTH.findall(joined)]
        joined = " ".join([joined, *(_MONTHS[month] for month in months if month in _MONTHS)])
        folded = tuple(name for name in map(normal_name, names) if len(name) >= _SHORTEST_NAME)
        text = f" {normal_name(joined)} "
        return cls(text, frozenset(tokens(joined)), frozenset(figures(joined)), folded, is_cjk(content))


@dataclass(frozen=True, slots=True)
class Checked:
    """The events that support a sentence, best first; none, with the reason, if they do not."""

    numbers: tuple[int, ...]
    reason: WhyLeftOut | None = None


def figures(text: str) -> list[str]:
    """The figures of a text, in order, without separators of thousands, leading and closing zeros.

    A scaled amount is its value, so that it is the same figure in each language.

    Examples:
        >>> figures("1,200.50 euros on 2022-05-03"), figures("7400万欧元"), figures("74 million euros")
        (['1200.5', '2022', '5', '3'], ['74000000'], ['74000000'])
    """
    found, at = list[str](), 0
    for start, end, value in _scaled(text):
        found += [*_written(text[at:start]), value]
        at = end
    return found + _written(text[at:])


def _written(text: str) -> list[str]:
    parts = _FIGURE.findall(fold(text))
    return [_shortest(_LAST_PART.sub("", each).replace(",", ".")) for each in parts]


def _scaled(text: str) -> list[tuple[int, int, str]]:
    """Start, end and value of the amounts whose value is not the figure that is written."""
    found: list[tuple[int, int, str]] = []
    for each in quantities(text, "zh" if is_cjk(text) else "en"):
        value, own = _shortest(format(Decimal(str(each.value)), "f")), _written(text[each.start : each.end])
        if len(own) == 1 and value not in own and (not found or each.start >= found[-1][1]):
            found.append((each.start, each.end, value))
    return found


def calculated(sentence: str, stated: frozenset[str]) -> frozenset[str]:
    """The figures of the sums and differences that a sentence writes out of stated figures, where they are right.

    Examples:
        >>> sorted(calculated("£39,000 short (£610,000 − £571,000 = £39,000)", frozenset({"610000", "571000"})))
        ['39000', '571000', '610000']
        >>> sorted(calculated("£40,000 short (£610,000 − £571,000 = £40,000)", frozenset({"610000", "571000"})))
        []
    """
    text = sentence
    for start, end, value in reversed(_scaled(sentence)):
        text = f"{text[:start]}{value}{text[end:]}"
    found = set[str]()
    for written in _CALCULATION.finditer(fold(text)):
        figures_of = _written(written[0])
        signs = [1, *(1 if sign == "+" else -1 for sign in _SIGN.findall(written[0]))]
        *given, result = map(Decimal, figures_of)
        is_right = sum(sign * each for sign, each in zip(signs, given, strict=True)) == result
        for scale in _SCALES:
            *scaled, value = (_shortest(format(each * scale, "f")) for each in (*given, result))
            if is_right and stated.union(found).issuperset(scaled):
                found |= {*figures_of, value}
    return frozenset(found)


def _stands_in(name: str, text: str) -> bool:
    """Whether a name stands in a text, both without punctuation; a name in an alphabet as whole words."""
    return name in text if is_cjk(name) else f" {name} " in _in_alphabet(text)


@lru_cache(maxsize=4_096)
def _in_alphabet(text: str) -> str:
    """The text with a space for each Chinese or Japanese character: a name may stand between two of them."""
    return "".join(" " if is_cjk(character) else character for character in text) if is_cjk(text) else text


def _capitalised(sentence: str) -> list[str]:
    """The capitalised words that do not begin the sentence."""
    first = len(sentence) - len(sentence.lstrip(_OPENING))
    return [word[0] for word in _CAPITALISED.finditer(sentence) if word.start() > first]


def _shortest(figure: str) -> str:
    whole, _, rest = figure.partition(".")
    return ".".join(filter(None, (whole.lstrip("0") or "0", rest.rstrip("0"))))


def check(
    sentence: str, numbers: Sequence[int], shown: Mapping[int, EventEvidence], names: Sequence[str] = ()
) -> Checked:
    """The events among `numbers` that support a sentence, or why they do not.

    Args:
        sentence: What the model wrote.
        numbers: The events it cites.
        shown: The events that the model was shown, by number.
        names: Names that occur in the theme, as `normal_name` has them.

    Source: docs/algorithm.md §reports.12.
    """
    cited = [number for number in dict.fromkeys(numbers) if number in shown]
    if not cited:
        return Checked((), "cites nothing")
    terms, own = frozenset(tokens(sentence)), frozenset(figures(sentence))
    said = f" {normal_name(sentence)} "
    cover = {number: _cover(terms, own, shown[number], said) for number in cited}
    ranked = sorted(cited, key=lambda n: (-cover[n], cited.index(n)))
    kept = [n for n in ranked if cover[n] >= _LEAST_OWN] or ranked  # of a summary each has little
    reason = _reason(sentence, terms, own, [shown[number] for number in kept], names)
    return Checked((), reason) if reason else Checked(tuple(kept[:_MOST_CITED]))


def _cover(terms: frozenset[str], own: frozenset[str], event: EventEvidence, said: str) -> float:
    """Share of the terms of a sentence that an event holds; at least the least for one that holds a figure of it.

    Of an event in another script it is the least for one with a name of it, as words cannot be compared.
    """
    share = len(terms & event.terms) / (len(terms) or 1)
    is_shared = own & event.figures or (is_cjk(said) != event.is_cjk and _is_about(event, own, said))
    return max(share, _LEAST_OWN) if is_shared else share


def _is_about(event: EventEvidence, own: frozenset[str], said: str) -> bool:
    """Whether a sentence in another script has a name of the event, several of its figures, or one that few have."""
    shared = own & event.figures
    is_rare = any(len(figure) >= _RARE and not figure.startswith(_CENTURIES) for figure in shared)
    return len(shared) > 1 or is_rare or any(_stands_in(name, said) for name in event.names)


def _reason(
    sentence: str, terms: frozenset[str], own: frozenset[str], events: Sequence[EventEvidence], names: Sequence[str]
) -> WhyLeftOut | None:
    """The first thing that keeps a sentence from being supported by events; None if nothing does."""
    if is_speech(sentence) or not is_prose(_CALCULATION.sub("", sentence)):
        return "form"
    held = frozenset[str]().union(*(event.terms for event in events))
    is_said = bool(terms) and len(terms & held) >= _LEAST_WORDS * len(terms)
    said = f" {normal_name(sentence)} "
    is_said |= any(event.is_cjk != is_cjk(said) and _is_about(event, own, said) for event in events)
    return _unstated(sentence, own, events, names) or (None if is_said else "words")


def _unstated(
    sentence: str, own: frozenset[str], events: Sequence[EventEvidence], names: Sequence[str]
) -> Literal["figure", "name"] | None:
    """Whether a figure of a sentence, or a name in it, stands in none of the events."""
    stated = frozenset[str]().union(*(event.figures for event in events))
    if not own <= stated | calculated(sentence, stated):
        return "figure"
    held = frozenset[str]().union(*(event.terms for event in events))
    text, said = "\n".join(event.text for event in events), f" {normal_name(sentence)} "
    if any(_stands_in(name, said) and not _stands_in(name, text) for name in names):
        return "name"
    return "name" if any(not set(tokens(word)) <= held for word in _capitalised(sentence)) else None


_LONGEST: Final = 1_500
"""Characters of an event that a prompt shows."""
_LONGEST_SENTENCE: Final = 600
_LONGEST_REASON: Final = 200
_EVERYWHERE: Final = 0.5
"""Share of the documents from which on a name, such as that of one's own house, needs no line that says it."""
_FEWEST_DOCUMENTS: Final = 3
"""Documents from which on such a share tells something."""
_TITLE_WORDS: Final = 0.5
"""Share of the terms of a title that the shown events must hold."""
_AROUND_TITLES: Final = " *_#`.。:："
_QUOTED: Final = ('""', "“”", "‘’", "「」", "《》")
_SHORTEST_NAME: Final = 2
_RARE, _CENTURIES = 4, ("19", "20")
"""Digits of a figure that hardly two statements share by chance; a year is shared by many."""
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


def event_lines(
    events: EventTable, rows: Sequence[int], later: Mapping[str, str] = MappingProxyType({})
) -> list[PromptLine]:
    """Events as lines: days, document and text; what was said `later` in place of some, by their ids."""
    return [PromptLine(_shown(events, row, later), (row,)) for row in rows]


def _shown(events: EventTable, row: int, later: Mapping[str, str]) -> dict[str, object]:
    text, said, date = events.contents[row], day_of(events, row), events.dates[row]
    told = {
        "said": said,
        "date": date if date != said else None,
        "document": events.documents.titles[int(events.document[row])],
        "text": text if len(text) <= _LONGEST else text[:_LONGEST],
        "said later instead": later.get(events.event_ids[row]),
    }
    return {name: value for name, value in told.items() if value}


def day_of(events: EventTable, row: int) -> str:
    """The day on which an event was said, or of which it tells where that is known as a part of it; else empty."""
    said, date = (events.said[row] or "") if events.said else "", events.dates[row] or ""
    return date if said and date.startswith(said) else said


def by_day(events: EventTable, rows: Iterable[int]) -> list[int]:
    """Rows in the order in which they were said, those without a day first."""
    return sorted(rows, key=lambda row: (day_of(events, row), row))


def first_rows(events: EventTable, rows: Iterable[int], most: int) -> list[int]:
    """The first of some rows whose lines have at most `most` estimated tokens together, by day."""
    chosen: list[int] = []
    used = 0
    for row in rows:
        used += estimate_tokens(in_prompt(event_lines(events, [row]))) + 2
        if chosen and used > most:
            break
        chosen.append(row)
    return by_day(events, chosen)


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

    @cached_property
    def everywhere(self) -> tuple[str, ...]:
        """Names in at least half of the documents, as `normal_name` has them."""
        documents = self.events.document
        within = defaultdict[int, set[int]](set)
        for event, key in zip(self.events.links.event.tolist(), self.events.links.key.tolist(), strict=True):
            within[key].add(int(documents[event]))
        least = max(_FEWEST_DOCUMENTS, _EVERYWHERE * len(set(documents.tolist())))
        often = [key for key, own in within.items() if len(own) >= least and self.events.keys.types[key] in _NAMES]
        return tuple(sorted(normal_name(name) for key in often for name in self.events.keys.names_of(key)))

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
            why, because = self._why(community_id, each, lines)
            theme = theme_of(checked.numbers[0])
            importance = min(10, max(0, round(each.importance)))
            ids = tuple(dict.fromkeys((*self._ids(checked), *self._ids(because))))
            kept = Finding(text=text, event_ids=ids, importance=importance, reason=why, community_id=theme)
            found.setdefault(fold(text), kept)
        return tuple(sorted(found.values(), key=lambda each: -each.importance))

    def _why(self, community_id: str, given: WrittenFinding, lines: PromptLines) -> tuple[str, Checked]:
        """The reason of an importance and the events behind it; none where these do not hold its figures and names."""
        why, rows = clean(given.reason)[:_LONGEST_REASON], self._rows(given.cited, lines)
        if not why:
            return "", Checked(())
        known = [EventEvidence.of(given.text), *map(self._of, rows)]
        own = frozenset(figures(why))
        fault = _unstated(why, own, known, lines.names)
        if fault:
            self.leave_out(community_id, "reason", fault, why)
            return "", Checked(())
        terms, said = frozenset(tokens(why)), f" {normal_name(why)} "
        return why, Checked(tuple(row for row in rows if _cover(terms, own, self._of(row), said) >= _LEAST_WORDS))

    def title(self, community_id: str, given: str, rows: Sequence[int]) -> str:
        """The title, if it is short and its words stand in the events; else empty."""
        title = clean(given).strip(_AROUND_TITLES)
        title = title[1:-1] if title[:1] + title[-1:] in _QUOTED else title
        terms = set(tokens(title))
        held = {term for row in rows for term in self._of(row).terms & terms}
        is_translated = any(self._of(row).is_cjk != is_cjk(title) for row in rows)
        is_held = bool(terms) and (is_translated or len(held) >= _TITLE_WORDS * len(terms))
        fault = "length" if not fits(title) or not title else "form" if not is_prose(title) else ""
        if fault := fault or ("" if is_held else "words"):
            self.leave_out(community_id, "title", fault, title)
        return "" if fault else title

    def checked(self, text: str, cited: Sequence[int], lines: PromptLines) -> Checked:
        """The rows of events that support a text which cites lines."""
        rows, text = self._rows(cited, lines), clean(text)
        if len(text) > _LONGEST_SENTENCE:
            return Checked((), "form")
        return check(text, rows, {row: self._of(row) for row in rows}, lines.names)

    def _rows(self, cited: Sequence[int], lines: PromptLines) -> list[int]:
        return [row for number in cited if 1 <= number <= len(lines) for row in lines.lines[number - 1].rows]

    def _ids(self, checked: Checked) -> tuple[str, ...]:
        return tuple(self.events.event_ids[row] for row in checked.numbers)

    def _of(self, row: int) -> EventEvidence:
        if row not in self._evidence:
            events = self.events
            names = [name for key in _keys_of(events, row) for name in events.keys.names_of(key)]
            title = events.documents.titles[int(events.document[row])]
            days = (events.dates[row] or "", day_of(events, row))
            more = (*days, title, *self.everywhere)
            self._evidence[row] = EventEvidence.of(events.contents[row], *more, names=names)
        return self._evidence[row]


_DECISIVE: Final = 5
"""Most similar events of a theme whose mean is its similarity."""
_JUDGED: Final = 400
"""Events of a theme that are judged as statements."""


@dataclass(frozen=True, eq=False)
class Themes:
    """The chosen events of a release and their themes; `note` says what would make asking cheaper or better."""

    events: EventTable
    communities: Communities
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NearTheme:
    """A theme, how near it is to a question, and its events: the most similar first, then the most typical."""

    community: Community
    score: float
    rows: tuple[int, ...]


def similarities(events: EventTable, query: Vectors) -> Floats:
    """Cosine of each event with a query of one row; shape (events,)."""
    if not len(events):
        return np.zeros(0)
    product = events.vectors @ (query.T if issparse(query) else np.asarray(query).T)
    dense = product.toarray() if issparse(product) else np.asarray(product)
    return np.asarray(dense, dtype=np.float64).ravel()


def nearest_themes(themes: Themes, query: Vectors, most: int) -> list[NearTheme]:
    """The themes of at least three events nearest to a question; of equals the larger, then by id.

    Source: docs/algorithm.md §answers.9.
    """
    near = similarities(themes.events, query)
    found = []
    for each in themes.communities.at(0):
        if len(each.members) >= PROPER:
            own = near[each.members]
            score = float(np.sort(own)[::-1][:_DECISIVE].mean())
            order = np.lexsort((np.arange(len(own)), -np.round(own, 9)))
            found.append(NearTheme(each, round(score, 9), tuple(each.members[order].tolist())))
    found.sort(key=lambda each: (-each.score, -len(each.community.members), each.community.community_id))
    return found[:most]


def best_statements(themes: Themes, theme: NearTheme, most: int, language: str) -> list[int]:
    """Rows of the nearest events of a theme that read as statements; of a language and several documents if it can."""
    events = themes.events
    document_of = events.document
    judged = [row for row in theme.rows[:_JUDGED] if events.documents.languages[int(document_of[row])] == language]
    rows = good_rows(events, np.array(judged or theme.rows[:_JUDGED], dtype=np.int32), most).tolist()
    taken: dict[int, int] = {}
    for row in rows:
        taken.setdefault(int(document_of[row]), row)
    first = list(taken.values())[:most]
    return first + [row for row in rows if row not in first][: most - len(first)]
