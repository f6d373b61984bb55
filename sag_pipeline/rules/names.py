"""The names of a text, in whichever language it is, each with one type and one full form."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from sag_pipeline.rules.names import NameIndex, longest_only
from sag_pipeline.rules.names_en import (
    ENTITY,
    ORGANISATION,
    PERSON,
    PLACE,
    PRODUCT,
    english_names,
    name_type,
)
from sag_pipeline.rules.names_zh import WORK, chinese_names
from sag_pipeline.steps.keys import Mention
from sag_retrieval.text.layout import Line
from sag_retrieval.text.sentences import spans_of
from sag_retrieval.text.words import is_cjk

_BY_STRENGTH = (PERSON, ORGANISATION, WORK, PLACE, PRODUCT, ENTITY)
_SAME_NAME = {
    "U.S": "United States",
    "U.S.A": "United States",
    "USA": "United States",
    "U.K": "United Kingdom",
    "UK": "United Kingdom",
}


def names(text: str, lines: Sequence[Line]) -> tuple[list[Mention], NameIndex]:
    """Every mention of a name, in order, the longest at each place; and the index of these names for other texts.

    A name found once counts wherever it is spelt so. One name has one type, the strongest that any place gives it.
    A single word that ends or begins exactly one full name of a person in the text speaks of that person.

    Args:
        text: A whole document.
        lines: Its logical lines.

    """
    found = list(_found(text, [start for start, _ in spans_of(text, lines)]))
    forms = _forms(found)
    index = NameIndex(forms)
    formed = [Mention(mention.start, mention.end, *forms[str(mention.value)]) for mention in found]
    return longest_only([*formed, *index.mentions(text)]), index


def _found(text: str, starts: Sequence[int]) -> Iterable[Mention]:
    if is_cjk(text):
        yield from chinese_names(text)
    for name in english_names(text, starts):
        yield Mention(name.start, name.end, name_type(name.text), name.text)


def _forms(found: Sequence[Mention]) -> dict[str, tuple[str, str]]:
    """Surface → (type, value)."""
    strength = {key_type: rank for rank, key_type in enumerate(_BY_STRENGTH)}
    types: dict[str, str] = {}
    for mention in found:
        surface = str(mention.value)
        known = types.get(surface, mention.key_type)
        types[surface] = min(known, mention.key_type, key=strength.__getitem__)
    full_names = _by_part(name for name, key_type in types.items() if key_type == PERSON)
    forms = {}
    for surface, key_type in types.items():
        whole = full_names.get(surface, ())
        if len(whole) == 1 and key_type == ENTITY:
            forms[surface] = (PERSON, whole[0])
        elif surface in _SAME_NAME:
            forms[surface] = (PLACE, _SAME_NAME[surface])
        else:
            forms[surface] = (key_type, surface)
    return forms


def _by_part(persons: Iterable[str]) -> dict[str, list[str]]:
    whole: dict[str, list[str]] = defaultdict(list)
    for person in sorted(persons):
        words = person.split()
        for part in {words[0], words[-1]} if len(words) > 1 else ():
            whole[part].append(person)
    return whole
