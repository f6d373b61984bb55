"""Find which statements revise others: one subject, one attribute, two values, and which of them was said later.

Precision comes first: a revision puts a statement behind another one, so a pair is left out where anything speaks
against it (docs/algorithm.md §extraction.33).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.extract.claims import (
    OFFICE,
    STEM,
    Claim,
    Revision,
    RevisionKind,
    Stated,
    is_old_at,
    revision_of,
    sentences_of,
)
from sag_pipeline.extract.compared import (
    CORRECTS,
    LEAST_ALIKE,
    STATEMENTS,
    STATES,
    TAKES,
    PairChange,
    blocks_of,
    changed,
    hash_of,
)
from sag_retrieval.language.data import patterns
from sag_retrieval.language.dates import DATE
from sag_retrieval.language.spans import UNCONFIRMED, first_day, last_day, revising, subject_terms
from sag_retrieval.language.words import STOP_WORDS, fold, is_cjk

REVISIONS_VERSION: Final = "7"
"""To be raised with whatever changes which revisions are found."""

_CONTAINED: Final = 0.5
"""Share of the shorter statement's words beside values that the other one has; a sentence that corrects says more."""
_ALIKE, _ALIKE_NAMED, _ALIKE_CORRECTED, _ALIKE_UNORDERED = 0.45, 0.35, 0.25, 0.6
"""Shared share of all words: of a later one, of one that shares a name, of one that says that it corrects, of two whose
order is unknown."""
_SAME, _NEARLY_SAME = 0.8, 0.6
"""The same where nothing but a denial differs, and with the words of that."""
_LEAST_TERMS: Final = 2
"""Words beside values that two statements share at least; Chinese pairs count half."""
_SUBJECT: Final = 3
"""Chinese characters with which two statements begin alike, where no name is known."""
_MOST_DISAGREE: Final = 2
"""Statements that one contradicts at most: where more differ, it is a field of a form."""
_LONGEST_TOPIC: Final = 24
"""Characters of it that are compared at most."""
_VALUE: Final = "\x01"
_ENDS_FIELD: Final = frozenset({";", "；", ",", "，", "·", "|", ""})
_SURE: Final = 0.9
"""Confidence of what is said in words; two statements that are only alike have less."""
_SHARED: Final = 2
"""Words that a statement with a figure of few digits shares with what takes it back: such a figure stands anywhere."""
_ROLE: Final = "§"
_LEAST_ROLE: Final = 3
"""Chinese characters of an office; a shorter one is part of many."""
SAID_AGAIN: Final = "said again"
"""Evidence of a contradiction where one statement only repeats what another took back."""


class _Likeness(NamedTuple):
    contained: float
    alike: float


def find_revisions(statements: Iterable[Claim]) -> list[Revision]:
    """The revisions among statements, sorted by ids; the order of the statements does not matter.

    Examples:
        >>> old = Claim("e1", "slide.md", "c1", "Orin holds a share of 31 %.", "Slide", "2025-05-20", names={})
        >>> new = Claim("e2", "report.md", "c2", "Orin holds a share of 27 %.", "Report", "2025-06-03", names={})
        >>> [(one.kind, one.earlier_value, one.later_value) for one in find_revisions([new, old])]
        [('updates', '31 %', '27 %')]

    Source: docs/algorithm.md §extraction.33.
    """
    rows = [one for whole in statements for one in sentences_of(whole)]
    change = changed(STATEMENTS.empty_table(), statement_rows(rows), STATEMENTS.empty_table())
    return settled(compared(rows, change))


def statement_rows(statements: Sequence[Claim]) -> pa.Table:
    """Statements with what brings them together with others (`STATEMENTS`)."""
    texts = pa.array([one.content for one in statements], pa.string())
    states = pc.match_substring_regex(texts, r"\p{Nd}").to_pylist()
    others = [
        [
            *(f"\0{name}" for name in one.names),
            *(figure + mark for figure in (one.figures if has else ()) for mark in "\1\2"),
        ]
        for one, has in zip(statements, states, strict=True)
    ]
    columns = [
        [one.event_id for one in statements],
        [one.document_id for one in statements],
        [hash_of(f"{one.document_id}\0{one.said}") for one in statements],
        [
            (has and not one.silent >= {"corrects", "changes"}) * CORRECTS
            | has * STATES
            | (one.takes_office is not None) * TAKES
            for one, has in zip(statements, states, strict=True)
        ],
        *blocks_of(texts, others),
    ]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, STATEMENTS, strict=True)], schema=STATEMENTS)


def event_of(statement_id: str) -> str:
    """The event of a statement (`sentences_of`)."""
    return statement_id.partition("#")[0]


def compared(statements: Mapping[int, Claim] | Sequence[Claim], change: PairChange) -> Iterator[Revision]:
    """What the pairs of a change revise, of statements by their rows; no order matters."""
    columns = (*change.together.T, change.alike, change.is_told)
    for row, other_row, alike, is_told in zip(*(column.tolist() for column in columns), strict=True):
        one, other = statements[row], statements[other_row]
        if one.event_id > other.event_id:
            one, other = other, one
        if one.content != other.content and event_of(one.event_id) != event_of(other.event_id):
            made = worded_revision(one, other) if is_told else None
            made = made or (_compare(one, other, alike) if alike >= LEAST_ALIKE else None)
            if made:
                yield made


def _compare(one: Claim, other: Claim, alike: float) -> Revision | None:
    """The revision that two statements with a share of their words in common make without saying so, or None."""
    if not _may_differ(one, other, alike):
        return None
    likeness = _likeness(one.terms, other.terms)
    if likeness.alike < LEAST_ALIKE or one.numbers != other.numbers or (one.is_weak and other.is_weak):
        return None
    ordered = _ordered(one, other)
    earlier, later = ordered or (one, other)
    is_sure = ordered is not None and not later.is_weak
    if later.is_weak:  # what is firm stands before a rumour, whenever that was
        earlier, later = later, earlier
    if one.document_id == other.document_id and (ordered is None or not _says_so(later)):
        return None
    if not _is_of_one_thing(earlier, later, likeness, is_ordered=ordered is not None):
        return None
    values = _changed(earlier, later, likeness)
    is_one = values is not None and _is_one_subject(earlier, later, values, is_ordered=is_sure)
    is_apart = not is_one or _is_contrast(one, other)
    if values is None or is_apart or (not is_sure and _is_series(earlier, later)):
        return None
    made = _made(earlier, later, values, likeness, is_ordered=is_sure)
    is_unconfirmed = not is_sure and earlier.is_weak
    return replace(made, evidence=UNCONFIRMED) if is_unconfirmed else made


def _may_differ(one: Claim, other: Claim, alike: float) -> bool:
    """Whether a closer look can find something: values of a kind differ, or all else is so alike that one may deny.

    Signs that cost least come first, as most pairs are not read for values.
    """
    is_dated = _is_after(one, other) or _is_after(other, one)
    may_be_named = is_dated or _may_name(one, other) or _may_name(other, one)
    if not may_be_named and bool(one.corrects) == bool(other.corrects) and one.is_weak == other.is_weak:
        return False
    if alike >= _NEARLY_SAME:
        return True
    return any(len(one.kinds[kind] | other.kinds[kind]) > 1 for kind in one.kinds.keys() & other.kinds.keys())


def _may_name(earlier: Claim, later: Claim) -> bool:
    """Whether the later one names what the earlier one names, or has its first Chinese words."""
    head = earlier.topic[:_SUBJECT]
    return later.has(*earlier.names.values()) or (head in later.topic and is_cjk(head))


def _is_of_one_thing(earlier: Claim, later: Claim, likeness: _Likeness, *, is_ordered: bool) -> bool:
    """Whether two statements are alike enough; where nothing says which was first both name what they are about."""
    is_named = later.has(*earlier.names.values()) or bool(_common_topic(earlier.topic, later.topic))
    if not is_ordered and not is_named:
        return False
    least = _ALIKE_NAMED if is_named else _ALIKE
    least = _ALIKE_UNORDERED if not is_ordered else _ALIKE_CORRECTED if _says_so(later) else least
    if likeness.contained >= _CONTAINED and likeness.alike >= least:
        return True
    return likeness.alike >= LEAST_ALIKE and _is_related(earlier, later)


def _says_so(later: Claim) -> bool:
    return bool(later.corrects or later.changes)


def _likeness(one: frozenset[str], other: frozenset[str]) -> _Likeness:
    shared = one & other
    both, first, second = len(shared), len(one), len(other)
    least = _LEAST_TERMS * 2 if any(map(is_cjk, shared)) else _LEAST_TERMS
    contained = both / (min(first, second) or 1) if len(shared) >= least else 0.0
    return _Likeness(contained, both / ((first + second - both) or 1))


def _ordered(one: Claim, other: Claim) -> tuple[Claim, Claim] | None:
    """Which was said first: by days, else by one that corrects a value of the other, else a draft; None: unknown."""
    if _is_after(other, one):
        return one, other
    if _is_after(one, other):
        return other, one
    known = {each.value for each in one.values} & {each.value for each in other.values}
    for first, second in ((one, other), (other, one)):
        names_old = {each.value for each in first.values} <= known and len(second.values) > len(first.values)
        if second.corrects and names_old and not first.corrects:
            return first, second
    if one.is_weak != other.is_weak and one.family == other.family:
        return (one, other) if one.is_weak else (other, one)
    return None


def _changed(earlier: Claim, later: Claim, likeness: _Likeness) -> tuple[Stated, Stated] | None:
    """The one value that differs, as stated before and after; None where none or several do."""
    told, told_later = ([v for v in each.values if not _is_said(v, each)] or each.values for each in (earlier, later))
    before = [each for each in told if not any(_is_same(each, other) for other in told_later)]
    after = [each for each in told_later if not any(_is_same(each, other) for other in told)]
    if _says_so(later):
        kinds = {each.kind for each in after}
        before = [each for each in before if each.kind in kinds] if kinds else before
        old = [each for each in later.values if len(after) == 1 and each != after[0] and each.kind == after[0].kind]
        named = [each for each in old if not before or _is_old(each, later)]
        before = [each for each in earlier.values if any(_is_same(each, other) for other in named)] or before
    if earlier.corrects and len(before) == 1 and not after:  # what was taken back is said again
        after = [each for each in later.values if each.kind == before[0].kind and _is_old(each, earlier)]
    if {each.kind for each in (*before, *after)} - {DATE}:
        before, after = _not_of_time(before, earlier), _not_of_time(after, later)
    if not before and not after:
        return _denied(earlier, later, likeness)
    if len(before) != 1 or len(after) != 1 or before[0].kind != after[0].kind:
        return None
    is_allowed = (
        _is_moved(earlier, later, before[0], likeness) if before[0].kind == DATE else not _is_series(earlier, later)
    )
    return (before[0], after[0]) if is_allowed else None


def _is_said(value: Stated, of: Claim) -> bool:
    is_day = of.said.endswith(value.value) and len(value.value) == len("03-05")
    return value.kind == DATE and bool(of.said) and (is_day or of.said.startswith(value.value))


def _is_same(one: Stated, other: Stated) -> bool:
    """Whether two values are one; a day without a year is that day of any year."""
    if one.kind == other.kind == DATE and len(min(one.value, other.value, key=len)) == len("03-05"):
        return one.value.endswith(other.value) or other.value.endswith(one.value)
    return one[:2] == other[:2]


def _not_of_time(values: Sequence[Stated], of: Claim) -> list[Stated]:
    """Values without the day on which it was said or from which it holds: they are no attribute beside an amount."""
    kept = []
    for each in values:
        place = of.content.find(each.text)
        before = of.content[max(0, place - 24) : place]
        if not (_is_said(each, of) or (each.kind == DATE and revising("begins_before").search(before))):
            kept.append(each)
    return kept


def _is_moved(earlier: Claim, later: Claim, before: Stated, likeness: _Likeness) -> bool:
    """Whether a date was still ahead when another was named; what happened twice has two dates, and moves nothing."""
    if _says_so(later):
        return True
    if not (earlier.said and later.said) or earlier.said == later.said:
        return likeness.alike >= _SAME and not earlier.is_past and not later.is_past
    is_ahead = _day_ahead(before.value, earlier) >= first_day(later.said)
    return is_ahead and not earlier.is_past and not later.is_past


def _is_old(value: Stated, of: Claim) -> bool:
    start = of.content.find(value.text)
    return is_old_at(of.content, start, start + len(value.text))


def _day_ahead(value: str, of: Claim) -> str:
    """The day of a date, ISO; without a year the next one after it was said."""
    if len(value) != len("03-05") or value[2] != "-":
        return last_day(value)
    said = first_day(of.said)
    year = int(said[:4]) + (value < said[5:])
    return f"{year:04}-{value}"


def _is_series(earlier: Claim, later: Claim) -> bool:
    """Whether both tell of a period of their own, as reports of two months do."""
    if later.corrects:
        return False
    if revising("periods").search(earlier.content) or revising("periods").search(later.content):
        return True
    if not (earlier.is_past or later.is_past) or later.changes:
        return False
    is_family = bool(earlier.family) and earlier.family == later.family
    has_version = revising("version").search(later.title) or revising("version").search(earlier.title)
    return (earlier.period != later.period) or (is_family and not has_version and earlier.title != later.title)


def _denied(earlier: Claim, later: Claim, likeness: _Likeness) -> tuple[Stated, Stated] | None:
    """A denial of what was said; None for none."""
    denied = [bool(revising("denies").search(each.content)) for each in (earlier, later)]
    is_denied = denied[0] != denied[1] and likeness.alike >= _SAME and not earlier.is_past
    return (Stated("flag", "", ""), Stated("flag", "", "")) if is_denied else None


def _is_related(one: Claim, other: Claim) -> bool:
    """Whether both name or begin with one thing, and share a word besides."""
    names = [name for name in one.names.values() if other.has(name)]
    begins = "" if names else _common_topic(one.topic, other.topic)
    if not names and not begins:
        return False
    subject = subject_terms(" ".join([*names, begins]))
    stems = [{t if is_cjk(t) else t[:STEM] for t in s.terms - subject} for s in (one, other)]
    return bool(stems[0] & stems[1])


def _common_topic(one: str, other: str) -> str:
    """The longest stretch of Chinese that two statements share, if one begins with it: what it is about; else empty."""
    for first, second in ((one, other), (other, one)):
        if first[:_SUBJECT] not in second or not is_cjk(first[:1]):
            continue
        size = next((n for n in range(min(_LONGEST_TOPIC, len(first)), _SUBJECT - 1, -1) if first[:n] in second), 0)
        found = first[:size].partition("的")[0]
        if len(found) >= _SUBJECT and all(map(is_cjk, found)):
            return found
    return ""


def _is_contrast(one: Claim, other: Claim) -> bool:
    """Whether another thing stands in the same place of both: the roof for the wall, one row of a table for another."""
    words, others = (_masked(each) for each in (one, other))
    changed = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return any(
        _is_slot(words, a, b) and _is_slot(others, c, d) and _differs(words[a:b], other) and _differs(others[c:d], one)
        for kind, a, b, c, d in changed
        if kind == "replace"
    )


def _masked(one: Claim) -> list[str]:
    """Words and signs, of Chinese each character; values as one sign."""
    text = one.content
    for each in one.values:
        text = text.replace(each.text, _VALUE, 1)
    return patterns("all")["word_or_sign"].findall(
        "".join(f" {each} " if is_cjk(each) else each for each in text) if is_cjk(text) else text
    )


def _differs(run: Sequence[str], other: Claim) -> bool:
    joined = ("" if is_cjk("".join(run)) else " ").join(run)
    terms = subject_terms(joined) or frozenset(each for each in run if is_cjk(each))
    return _VALUE not in run and any(term not in other.terms and term not in other.topic for term in terms)


def _is_slot(words: Sequence[str], start: int, end: int) -> bool:
    """Whether a stretch is a field of a row, what a noun or `of the` goes with, or written as a name."""
    before, behind = words[start - 1] if start else "", words[end] if end < len(words) else ""
    opens = not before or not before.isalnum() or revising("before_noun").fullmatch(before) is not None
    if is_cjk("".join(words[start:end])):
        return opens and (is_cjk(behind) or behind in _ENDS_FIELD)
    is_named = all(each[:1].isupper() or each.isdigit() for each in words[start:end])
    return before.lower() in STOP_WORDS or (opens and behind in _ENDS_FIELD) or (is_named and start > 0)


def _is_one_subject(earlier: Claim, later: Claim, values: tuple[Stated, Stated], *, is_ordered: bool) -> bool:
    """Whether neither names nor titles tell the two apart; who corrects may name where the other stood."""
    shared = earlier.about & later.about or (is_ordered and earlier.names.keys() & later.names.keys())
    if earlier.about and later.about and not shared:
        return False
    own = {fold(each.text) for each in values}
    gone, new = (
        [n for n in a.names.values() if not b.has(n) and not any(fold(n) in value for value in own)]
        for a, b in ((earlier, later), (later, earlier))
    )
    return not gone and (not new or bool(later.corrects))


def _made(
    earlier: Claim, later: Claim, values: tuple[Stated, Stated], likeness: _Likeness, *, is_ordered: bool
) -> Revision:
    is_family = bool(earlier.family) and earlier.family == later.family and earlier.document_id != later.document_id
    kind: RevisionKind = "updates"
    evidence = later.changes or " / ".join(filter(None, (each.text.strip() for each in values)))
    if not is_ordered:
        kind, evidence = "contradicts", " / ".join(filter(None, (each.text.strip() for each in values)))
    elif later.corrects:
        kind, evidence = "corrects", later.corrects
    elif is_family:
        kind, evidence = "replaces", later.title
    sure = (likeness.contained + likeness.alike) / 2
    sure = round(min(1.0, sure + (1 - sure) / 2 if later.corrects else sure), 3)
    return revision_of((earlier, later), values, kind, evidence, earlier.terms & later.terms, sure)


def settled(compared: Iterable[Revision]) -> list[Revision]:
    """What events revise among all others, sorted by ids: of two events the surest of what their sentences revise.

    What only says again what a correction took back is a contradiction; many contradictions of one are none.

    Where a statement differs from several others in the same words, these fill the same field for other things.
    """
    found, kept = sorted(compared, key=lambda one: (one.earlier_event_id, one.later_event_id)), []
    taken_back = {(one.later_event_id, fold(one.earlier_value)) for one in found if one.kind == "corrects"}
    disagree = Counter(
        event
        for one in found
        if one.kind == "contradicts" and one.evidence != UNCONFIRMED
        for event in (one.earlier_event_id, one.later_event_id)
    )
    for one in found:
        is_field = max(disagree[one.earlier_event_id], disagree[one.later_event_id]) > _MOST_DISAGREE
        if one.kind == "contradicts" and one.evidence != UNCONFIRMED and is_field:
            continue
        says_again = (one.earlier_event_id, fold(one.later_value)) in taken_back and one.kind != "corrects"
        kept.append(replace(one, kind="contradicts", evidence=SAID_AGAIN) if says_again else one)
    return _of_events(kept)


def _of_events(found: Iterable[Revision]) -> list[Revision]:
    best = dict[frozenset[str], Revision]()
    for one in found:
        own = replace(one, earlier_event_id=event_of(one.earlier_event_id), later_event_id=event_of(one.later_event_id))
        ends = frozenset((own.earlier_event_id, own.later_event_id))
        if ends not in best or own.confidence > best[ends].confidence:
            best[ends] = own
    return sorted(best.values(), key=lambda one: (one.earlier_event_id, one.later_event_id))


def worded_revision(one: Claim, other: Claim) -> Revision | None:
    """The revision that the words of one of two statements tell, however unlike they are; None for none.

    Example:
        >>> old = Claim("e1", "report.md", "c1", "In all we brought in 312 tonnes.", "Harvest", "2025-10-20")
        >>> new = Claim("e2", "a.eml", "c2", "The harvest was 298 tonnes, not 312 tonnes.", "Correction", "2026-01-14")
        >>> found = worded_revision(old, new)
        >>> found.kind, found.earlier_value, found.later_value
        ('corrects', '312 tonnes', '298 tonnes')

    Source: docs/algorithm.md §extraction.33.
    """
    for earlier, later in ((one, other), (other, one)):
        if found := _corrected(earlier, later) or _succeeded(earlier, later):
            return found
    return None


def _corrected(earlier: Claim, later: Claim) -> Revision | None:
    """What a sentence such as `298 tonnes, not 312 tonnes` makes of a statement with the exact value that is wrong.

    That the figure is the same is most of the evidence: a word or a name of both, titles included, is the rest.
    """
    if not earlier.digits & later.digits or later.is_weak:
        return None
    figures = earlier.figures & later.figures
    for old, new, sentence in later.corrections:
        wrong = next((each for each in earlier.values if is_same_amount(each, old)), None)
        if wrong is None or any(is_same_amount(each, new) for each in earlier.values):
            continue
        units = subject_terms(" ".join(f"{each.kind.partition(' ')[2]} {each.text}" for each in (old, new)))
        about = subject_terms(revising("corrects").sub(" ", f"{sentence}\n{later.title}")) - units
        shared = about & (earlier.terms | subject_terms(earlier.title))
        is_exact = old.figure in figures
        if len(shared) < (1 if is_exact else _SHARED) or not (is_exact or _unit(wrong) == _unit(old) != ["number"]):
            continue
        if _is_after(earlier, later):
            return revision_of((later, earlier), (new, wrong), "contradicts", SAID_AGAIN, shared | units, _SURE)
        if not later.corrects and earlier.about and later.about and not earlier.about & later.about:
            continue  # what moves from one value to another does so for what its document is about
        kind: RevisionKind = "corrects" if later.corrects else "updates"
        return revision_of((earlier, later), (wrong, new), kind, later.corrects or later.changes, shared | units, _SURE)
    return None


def is_same_amount(one: Stated, other: Stated) -> bool:
    """Whether two amounts have one number, and one unit where both have any."""
    if not one.figure or one.figure != other.figure:
        return False
    kinds = _unit(one), _unit(other)
    return kinds[0] == kinds[1] or any(kind[0] == "number" for kind in kinds)


def _unit(value: Stated) -> list[str]:
    return value.kind.split(" ")[:2]


def _succeeded(earlier: Claim, later: Claim) -> Revision | None:
    """Who holds an office in one statement, and who takes it in another."""
    taken = later.takes_office
    if taken is None or later.is_weak or _is_after(earlier, later):
        return None
    key, role, evidence = taken
    text = earlier.masked.lower().replace(role.lower(), _ROLE)
    if _ROLE not in text or (is_cjk(role) and len(role) < _LEAST_ROLE):
        return None
    is_former = revising("former_office").search(text) is not None
    is_one_place = earlier.document_id == later.document_id and earlier.said == later.said
    is_ordered = is_former or _is_after(later, earlier)
    if not is_former and (is_one_place or (not is_ordered and earlier.takes_office)):
        return None
    names = list(earlier.names)
    holders = [names[int(n)] for each in revising("holds_office").finditer(text) for n in each.groups() if n]
    if len(set(holders)) != 1 or holders[0] == key or not _is_one_house(earlier, later, holders[0], role):
        return None
    before, after = (Stated(OFFICE, who, of.names[who]) for who, of in ((holders[0], earlier), (key, later)))
    return revision_of((earlier, later), (before, after), "updates", evidence, subject_terms(role), _SURE)


def _is_one_house(earlier: Claim, later: Claim, holder: str, role: str) -> bool:
    """Whether neither what the office is of nor the other names of both, and of their titles, tell two houses apart."""
    of = [_house(each.content, role) for each in (earlier, later)]
    if all(of):
        return bool(of[0] & of[1])
    own, others = (
        {key for key in (*each.names, *each.about) if key not in {*each.persons, holder}} for each in (earlier, later)
    )
    if own and others:
        return bool(own & others) or any(
            one.has(each.names[key])
            for one, each, keys in ((later, earlier, own), (earlier, later, others))
            for key in keys & each.names.keys()
        )
    is_one_document = earlier.document_id == later.document_id
    return is_one_document or holder in later.names or not (own or others or any(of))


def _house(text: str, role: str) -> frozenset[str]:
    """The terms of what an office is said to be of: `head nurse of the Harbour Ward`."""
    place = text.lower().find(role.lower())
    found = revising("office_of").match(text, place + len(role)) if place >= 0 else None
    return subject_terms(found[0]) if found else frozenset()


def _is_after(one: Claim, other: Claim) -> bool:
    """Whether one was said after the other, as far as both days are exact."""
    return bool(one.said and other.said) and last_day(other.said) < first_day(one.said)
