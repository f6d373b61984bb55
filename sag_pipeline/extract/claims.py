"""What a statement claims: its values, its words and names, when it was said, and what words of correction it has."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.document_dates import QUOTES_BELOW, file_name_dates
from sag_retrieval.core.records import make_id
from sag_retrieval.language.data import patterns
from sag_retrieval.language.dates import DATE, DAY, dates
from sag_retrieval.language.quantities import quantities
from sag_retrieval.language.sentences import spans_within
from sag_retrieval.language.spans import is_weak, may_say, revising, subject_terms
from sag_retrieval.language.words import fold, is_cjk

RevisionKind = Literal["corrects", "replaces", "updates", "contradicts"]

OFFICE: Final = "office"
STEM: Final = 4
"""First letters by which a noun and its verb are one word: handover, handed."""
_SAYS = patterns("all")
_NOUN = patterns("all")["counted_noun"]
"""What is counted, behind a number."""
_NUMBER = patterns("all")["number_stated"]
_SPELLED = patterns("all")["spelled_date"]
_EXACT: Final = 3
_BESIDE: Final = 24
"""Characters beside a value in which words tell that it is an old one."""
_SPEAKER, _OPENS, _LABEL = (patterns("all")[name] for name in ("speaker_label", "opens_clause", "label_of_words"))
_YEAR = patterns("all")["year"]

LOOKED_FOR: Final = (
    *("corrects", "changes", "hedged", "recalls", "past", "periods"),
    *("role", "office", "office_value", "place_value", "worded"),
)
"""Expressions of `revising` that most statements match nowhere, and that cost much to look for in each."""


class Stated(NamedTuple):
    """A value that a statement states: its kind with its unit, what it is, and how it is written."""

    kind: str
    value: str
    text: str

    @property
    def figure(self) -> str:
        """Its digits; empty for a date."""
        return "" if self.kind == DATE else "".join(filter(str.isdigit, fold(self.text)))


@dataclass(frozen=True)
class Claim:
    """An event with what tells whether it revises another."""

    event_id: str
    document_id: str
    chunk_id: str
    content: str
    title: str
    said: str = ""
    """When it was said, ISO; empty: unknown."""
    language: str = "en"
    names: Mapping[str, str] = field(default_factory=dict)
    """By id of the key: its name."""
    persons: frozenset[str] = frozenset()
    """Ids of the names of persons."""
    about: frozenset[str] = frozenset()
    """Ids of the names that the title of its document has: what a statement that names nothing is about."""
    is_unsure: bool = False
    """Whether it stands in a draft, or where a message repeats an earlier one."""
    silent: frozenset[str] = frozenset()
    """Expressions that it is known to match nowhere (`silences`)."""

    def says(self, name: str) -> re.Match[str] | None:
        """Where it first has words of an expression of `revising`; None for nowhere."""
        return None if name in self.silent else revising(name).search(self.content)

    def each(self, name: str) -> Iterator[re.Match[str]]:
        """All the places where it has them."""
        return iter(()) if name in self.silent else revising(name).finditer(self.content)

    @cached_property
    def values(self) -> tuple[Stated, ...]:
        """Dates, amounts, times of day and bare numbers, in order; not those that number a thing (`line 3`)."""
        return tuple(each for _, _, each in self._placed)

    def shown(self, value: Stated) -> str:
        """A value with what it counts: `five years`, not `five`."""
        end = next((end for _, end, each in self._placed if each == value), None)
        noun = _NOUN.match(self.content, end) if end and value.kind.startswith("number ") else None
        return f"{value.text}{noun[0] if noun else ''}".strip()

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """Its values by their kinds."""
        found: dict[str, set[str]] = {}
        for each in self.values:
            found.setdefault(each.kind, set()).add(each.value)
        return found

    @cached_property
    def _placed(self) -> list[tuple[int, int, Stated]]:
        named = _without(self.content, [name for name in self.names.values() if any(map(str.isdigit, name))])
        found: list[tuple[int, int, Stated]] = []
        for each in dates(named, self.language):
            if each.key_type in {DATE, DAY}:
                _add(found, each.start, each.end, Stated(DATE, str(each.value), named[each.start : each.end]))
        for amount in quantities(named, self.language):
            noun = _NOUN.match(named, amount.end) if is_cjk(named[amount.end : amount.end + 2]) else None
            kind = f"{amount.key_type} {amount.unit or ''} {noun[1][:2] if noun else ''}".rstrip()
            _add(found, amount.start, amount.end, Stated(kind, str(amount.value), named[amount.start : amount.end]))
        numbers = ((_SAYS["clock"], "clock"), (_NUMBER, "number"), (revising("worded"), "number"))
        for pattern, kind in numbers[: 2 if "worded" in self.silent else 3]:
            for one in pattern.finditer(named):
                before, behind = named[max(0, one.start() - 12) : one.start()], named[one.end() : one.end() + 4]
                if not revising("identifies_before").search(before) and not revising("identifies_behind").match(behind):
                    noun = _NOUN.match(named, one.end()) if kind == "number" else None
                    kind_of = f"number {fold(noun[1])[:STEM]}" if noun else kind
                    _add(found, one.start(), one.end(), Stated(kind_of, fold(one[0]), one[0]))
        for start, end, value in self._in_words():
            _add(found, start, end, value)
        return sorted(found)

    def _in_words(self) -> Iterator[tuple[int, int, Stated]]:
        """Where a thing is, and who holds an office: by the words around it, or by a person's name beside an office.

        A name's value is its key, so that the other name of one person is no other value.
        """
        known = {fold(name): key for key, name in self.names.items()}
        for name, kind in (("place_value", "place"), ("office_value", OFFICE)):
            for found in self.each(name):
                group = found.lastgroup
                if group:
                    value = fold(found[group])
                    yield found.start(group), found.end(group), Stated(kind, known.get(value, value), found[group])
        if self.persons and self.says("office"):
            for key, name in ((key, self.names[key]) for key in sorted(self.persons)):
                start = self.content.find(name)
                if start >= 0:
                    yield start, start + len(name), Stated(OFFICE, key, name)

    @cached_property
    def digits(self) -> frozenset[str]:
        """Its numbers as they are written, but years."""
        return frozenset(found for each in _NUMBER.findall(self.content) if not _YEAR.fullmatch(found := fold(each)))

    @cached_property
    def figures(self) -> frozenset[str]:
        """Digits of its numbers that two statements hardly share by chance: three that count at least, and no year."""
        found = (fold(each[0]).replace(",", "").replace(".", "") for each in _NUMBER.finditer(self.content))
        return frozenset(each for each in found if len(each.strip("0")) >= _EXACT and not _YEAR.fullmatch(each))

    @cached_property
    def _besides(self) -> str:
        """Its words without its values."""
        text = self.content
        for _, _, each in self._placed:
            text = text.replace(each.text, " ", 1)
        return text

    @cached_property
    def terms(self) -> frozenset[str]:
        """Words beside values and beside words of correction; of Chinese the pairs."""
        text = self._besides
        for name in ("corrects", "changes"):
            text = text if name in self.silent else revising(name).sub(" ", text)
        return subject_terms(text)

    @cached_property
    def topic(self) -> str:
        """The statement without the day on which it was said before it."""
        return _SPELLED.sub("", self.content, count=1).lstrip() if _SPELLED.match(self.content) else self.content

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Digits that are no values: they number a thing, and belong to the subject."""
        return frozenset(_SAYS["digits"].findall(self._besides))

    @cached_property
    def corrects(self) -> str:
        """Words that take back what was said; empty for none."""
        return self._words("corrects")

    @cached_property
    def changes(self) -> str:
        """Words that say that something is otherwise now; empty for none."""
        return self._words("changes")

    def _words(self, name: str) -> str:
        found = self.says(name)
        return found[0].strip() if found else ""

    @cached_property
    def corrections(self) -> list[tuple[Stated, Stated, str]]:
        """The amounts that it takes back, each with the nearest one of its sentence that holds, and the sentence."""
        found = list[tuple[Stated, Stated, str]]()
        for start, end in spans_within(self.content, 0, len(self.content)) if self.corrects or self.changes else ():
            inside = [each for each in self._placed if start <= each[0] < end and each[2].figure]
            is_wrong = [is_old_at(self.content[start:end], at - start, to - start) for at, to, _ in inside]
            right = [each for each, wrong in zip(inside, is_wrong, strict=True) if not wrong]
            for (at, _, old), wrong in zip(inside, is_wrong, strict=True):
                if wrong and right:
                    nearest = min(right, key=lambda each: abs(each[0] - at))
                    found.append((old, nearest[2], self.content[start:end]))
        return found

    @cached_property
    def takes_office(self) -> tuple[str, str, str] | None:
        """Id of the name of who takes an office, the office, the words for it; None for nobody, or for no office."""
        may_be = self.persons and self.says("role")
        found = revising("takes_office").search(self.masked) if may_be else None
        if found is None:
            return None
        groups = {name.partition("_")[0]: value for name, value in found.groupdict().items() if value}
        who, office = list(self.names)[int(groups["who"])], groups["office"]
        is_known = who in self.persons and revising("role").search(office)
        return (who, office, _SAYS["numbered_name"].sub("…", found[0]).strip()) if is_known else None

    @cached_property
    def masked(self) -> str:
        """The statement with each name as its number among them: `‹0› becomes director`."""
        text = self.content
        for number, name in sorted(enumerate(self.names.values()), key=lambda each: -len(each[1])):
            text = text.replace(name, f"‹{number}›")
        return text

    @cached_property
    def is_weak(self) -> bool:
        """Whether it is a rumour, a proposal, a quotation or of a draft, which revises nothing."""
        is_plain = {"hedged", "recalls"} <= self.silent and ">" not in self.content
        return self.is_unsure or is_weak("" if is_plain else self.content, self.title, self.document_id)

    @cached_property
    def is_past(self) -> bool:
        """Whether it tells what happened, rather than how things are or will be."""
        return not self.changes and self.says("past") is not None

    @cached_property
    def family(self) -> str:
        """The title without versions and dates: that of other versions of the same document."""
        return " ".join(fold(_SPELLED.sub(" ", revising("version").sub(" ", self.title))).split())

    @cached_property
    def period(self) -> str:
        """The month or year that the title is about; empty for none, or for a day."""
        found = file_name_dates(self.title) or file_name_dates(self.document_id)
        return found[0] if found and len(found[0]) < len("2025-01-01") else ""

    def has(self, *names: str) -> bool:
        """Whether its words or its title have one of some names."""
        return any(folded_name(name) in self._folded for name in names)

    @cached_property
    def _folded(self) -> str:
        return fold(f"{self.content}\n{self.title}")


@lru_cache(maxsize=1 << 16)
def folded_name(name: str) -> str:
    """A name for comparing: many statements have the same one."""
    return fold(name)


@dataclass(frozen=True, slots=True)
class Revision:
    """Two statements of one attribute; its fields are the columns of the table `revisions`."""

    earlier_event_id: str
    later_event_id: str
    earlier_document_id: str
    later_document_id: str
    earlier_chunk_id: str
    later_chunk_id: str
    subject: str
    attribute: str
    earlier_value: str
    later_value: str
    kind: RevisionKind
    evidence: str
    confidence: float
    earlier_said: str | None
    later_said: str | None
    decided: str = ""
    """`confirmed` by people, or empty."""

    revision_id: str = ""
    """That of both statements in their documents: the same after every ingest that leaves these sentences."""


def revision_of(
    ends: tuple[Claim, Claim],
    values: tuple[Stated, Stated],
    kind: RevisionKind,
    evidence: str,
    about: Iterable[str],
    confidence: float,
) -> Revision:
    """The row of two statements, the earlier one first; `about` are the words of what both speak of."""
    earlier, later = ends
    return Revision(
        *(earlier.event_id, later.event_id, earlier.document_id, later.document_id),
        *(earlier.chunk_id, later.chunk_id),
        subject="; ".join(sorted({name for name in earlier.names.values() if later.has(name)})),
        attribute=" ".join(sorted(about)),
        earlier_value=earlier.shown(values[0]),
        later_value=later.shown(values[1]),
        kind=kind,
        evidence=evidence,
        confidence=confidence,
        earlier_said=earlier.said or None,
        later_said=later.said or None,
        revision_id=make_id("v", *sorted((one.document_id, one.content) for one in (earlier, later))),
    )


def is_old_at(text: str, start: int, end: int) -> bool:
    """Whether words beside a value say that it holds no more."""
    before, behind = text[max(0, start - _BESIDE) : start], text[end : end + _BESIDE]
    names = (("old_before", "old_behind"), ("wrong_before", "wrong_behind"))
    return any(revising(left).search(before) or revising(right).match(behind) for left, right in names)


def sentences_of(whole: Claim) -> list[Claim]:
    """Each sentence of an event as a claim of its own, which says one thing: without speaker, number and bare labels.

    All but the first have a number behind the id of the event. What follows a rumour is one.

    Examples:
        >>> told = Claim("e1", "a.eml", "c1", "2. The yard is swept. The fee is 5 euros.", "Mail")
        >>> [(one.event_id, one.content) for one in sentences_of(told)]
        [('e1', 'The yard is swept.'), ('e1#1', 'The fee is 5 euros.')]
    """
    text, found, is_unsure = whole.content, list[Claim](), whole.is_unsure
    speaker = _SPEAKER.match(text)
    first = speaker.end() if speaker and speaker[1] in whole.names.values() else 0
    spans = [*spans_within(text, first, len(text))]
    is_whole = spans == [(0, len(text))] and all(name in text for name in whole.names.values())
    if is_whole and not _OPENS.match(text) and ("; " not in text or not _LABEL.search(text)):
        return [whole]
    for number, (start, end) in enumerate(spans):
        said = text[start:end]
        said = said[opens.end() :] if (opens := _OPENS.match(said)) else said
        said = _LABEL.sub("", said) if "; " in said else said
        own = {key: name for key, name in whole.names.items() if name in said}
        numbered = f"{whole.event_id}#{number}" if number else whole.event_id
        found.append(
            replace(
                whole,
                event_id=numbered,
                content=said,
                names=own,
                persons=whole.persons & own.keys(),
                is_unsure=is_unsure,
            )
        )
        if number < len(spans) - 1 and not whole.is_unsure:
            is_unsure = revising("hedged").search(said) is not None and not said.endswith(("?", "？"))
    return found


def silences(texts: Sequence[str]) -> list[frozenset[str]]:
    """Of each text the expressions of `revising` that neither it nor a part of it matches, told for all at once."""
    known = dict[int, frozenset[str]]()
    rows = pc.replace_substring_regex(pa.array(texts, pa.string()), "[İı]", "i")  # which RE2 takes for other letters
    codes = np.zeros(len(rows), np.int64)
    for place, name in enumerate(LOOKED_FOR):
        found = [np.asarray(pc.match_substring_regex(rows, each, ignore_case=True)) for each in may_say(name)]
        codes |= ~np.any(found, axis=0) * (1 << place)
    for code in np.unique(codes).tolist():
        known[code] = frozenset(name for place, name in enumerate(LOOKED_FOR) if code >> place & 1)
    return [known[code] for code in codes.tolist()]


_OPENING: Final = 300
"""Characters from the start in which a document says that it is a draft."""


def unsure_from(text: str) -> int:
    """The character from which on a message repeats an earlier one, 0 of a draft; its length where it is neither."""
    if revising("says_draft").search(text[:_OPENING]):
        return 0
    found = QUOTES_BELOW.search(text)
    return found.start() if found else len(text)


def _add(found: list[tuple[int, int, Stated]], start: int, end: int, value: Stated) -> None:
    if not any(start < other_end and other_start < end for other_start, other_end, _ in found):
        found.append((start, end, value))


def _without(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = text.replace(name, "\0" * len(name))
    return text
