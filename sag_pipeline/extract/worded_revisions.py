"""What one of two statements says of the other outright: which of its values is wrong, who takes an office."""

from typing import Final

from sag_pipeline.extract.claims import OFFICE, Claim, Revision, RevisionKind, Stated, revision_of
from sag_retrieval.language.spans import first_day, last_day, revising, subject_terms
from sag_retrieval.language.words import is_cjk

_SURE: Final = 0.9
"""Confidence of what is said in words; two statements that are only alike have less."""
_SHARED: Final = 2
"""Words that a statement with a figure of few digits shares with what takes it back: such a figure stands anywhere."""
_ROLE: Final = "§"
_LEAST_ROLE: Final = 3
"""Chinese characters of an office; a shorter one is part of many."""
SAID_AGAIN: Final = "said again"
"""Evidence of a contradiction where one statement only repeats what another took back."""


def worded_revision(one: Claim, other: Claim) -> Revision | None:
    """The revision that the words of one of two statements tell, however unlike they are; None for none.

    Example:
        >>> old = Claim("e1", "report.md", "c1", "In all we brought in 312 tonnes.", "Harvest", "2025-10-20")
        >>> new = Claim("e2", "a.eml", "c2", "The harvest was 298 tonnes, not 312 tonnes.", "Correction", "2026-01-14")
        >>> found = worded_revision(old, new)
        >>> found.kind, found.earlier_value, found.later_value
        ('corrects', '312 tonnes', '298 tonnes')

    Source:
        docs/algorithm.md §extraction.33

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
    is_ordered = is_former or (earlier.said and later.said and last_day(earlier.said) < first_day(later.said))
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
    return bool(one.said and other.said) and last_day(other.said) < first_day(one.said)
