"""Say who a sentence speaks of that begins with a pronoun, where the sentences before it name one person alone."""

import re
from collections.abc import Sequence
from typing import Final

from sag_pipeline.extract.rules.name_types import PERSON
from sag_pipeline.extract.rules.names_latin import latin_names
from sag_pipeline.extract.rules.names_zh import chinese_names
from sag_retrieval.language.sentences import one_line
from sag_retrieval.language.words import is_cjk

_PRONOUN = re.compile(
    r"(?:(?P<he>He|She)|(?P<his>His|Her))(?=\s[a-z])|(?P<ta>[他她])(?P<de>的)?(?=[\u3400-\u9fff])(?![们們人的])"
)
_BACK: Final = 2
"""Sentences in front of a pronoun in which a person is looked for; the nearest one that names any decides."""
_FAR: Final = 200
"""Further away no sentence is the one before: a table or a picture stands between."""
_LONGEST: Final = 600
"""Characters of a sentence that are read for names."""


def with_names(text: str, spans: Sequence[tuple[int, int]], opens: Sequence[bool]) -> dict[int, str]:
    """Row of a sentence → what it states, with the name of a person in place of the pronoun that it begins with.

    Args:
        text: A document.
        spans: Its sentences in order.
        opens: Which of them stand first below a heading: nothing before them counts.

    """
    said: dict[int, str] = {}
    names: dict[int, str] = {}
    for row, (start, end) in enumerate(spans):
        found = _PRONOUN.match(text, start, end)
        name = _person_before(text, spans, opens, names, row) if found else None
        if found and name:
            names[row] = name
            is_of = found["his"] or found["de"]
            owner = f"{name}{'的' if found['ta'] else '’s'}" if is_of else name
            said[row] = one_line(f"{owner}{text[found.end() : end]}")
    return said


def _person_before(
    text: str, spans: Sequence[tuple[int, int]], opens: Sequence[bool], names: dict[int, str], row: int
) -> str | None:
    for before in range(row - 1, max(-1, row - 1 - _BACK), -1):
        if opens[before + 1] or spans[before + 1][0] - spans[before][1] > _FAR:
            return None
        persons = _persons(text[slice(*spans[before])][:_LONGEST])
        persons |= {names[before]} if before in names else set()
        if persons:
            return persons.pop() if len(persons) == 1 else None
    return None


def _persons(sentence: str) -> set[str]:
    found = {name.text for name in latin_names(sentence, [0]) if name.key_type == PERSON}
    if is_cjk(sentence):
        found |= {str(name.value) for name in chinese_names(sentence) if name.key_type == PERSON}
    return found
