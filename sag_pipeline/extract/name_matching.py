"""Names of keys: forms that are equal for spellings and legal forms, and how alike two names are."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.language.cases import without_cases
from sag_retrieval.language.data import patterns, words_of_all
from sag_retrieval.language.words import fold, is_cjk, normal_name, words

GENERIC_TYPES = words_of_all("GENERIC_TYPES")
"""Generic types: such a key is merged into the key of a specific type with the same name."""
EXACT_TYPES = words_of_all("EXACT_TYPES")
"""Types with exact values: only equal names are merged."""

_ORGANISATION = words_of_all("ORGANISATION_TYPES")
_PLACE = words_of_all("PLACE_TYPES")
_IN_CASES = _ORGANISATION | _PLACE | words_of_all("PERSON_TYPES") | {"entity", "实体"}
"""Types of names, whose Cyrillic words have cases."""
_LEGAL = frozenset("inc incorporated ltd limited co corp corporation company plc llc gmbh ag".split())
_SAYS = patterns("all")
_SPELLINGS = tuple(
    (re.compile(british), american)
    for british, american in (
        (r"isation", "ization"),
        (r"ise(?=$|[drs])", "ize"),
        (r"(?<=\w{3})our(?=$|\w)", "or"),
        (r"(?<=\w{2})tre$", "ter"),
        (r"(?<=\w)ae(?=\w)", "e"),
    )
)
_MAY_VARY = (
    r"^the | (?:inc|incorporated|ltd|limited|co|corp|corporation|company|plc|llc|gmbh|ag)$|公司$|[市省]$"
    r"|isation|ise(?:$|[ drs])|our|tre(?:$| )|ae|\p{Cyrillic}"
)
_TELLING = 4


def bare_name(name: str, key_type: str) -> str:
    """A normal name without articles, legal forms, 市 and 省, and in American spelling.

    Legal forms are removed from organisations only, 市 and 省 from places only, case endings from Cyrillic names; a
    name is never emptied.

    Examples:
        >>> bare_name("the organisation cafe", "topic"), bare_name("苹果公司", "organisation")
        ('organization cafe', '苹果')
    """
    if is_cjk(name):
        form = "legal_form_zh" if key_type in _ORGANISATION else "place_form_zh" if key_type in _PLACE else ""
        return (_SAYS[form].sub("", name) if form else name) or name
    found = [spelling(word) for word in (without_cases(name) if key_type in _IN_CASES else name).split()]
    while key_type in _ORGANISATION and len(found) > 1 and found[-1] in _LEGAL:
        found.pop()
    if len(found) > 1 and found[0] == "the":
        found = found[1:]
    return " ".join(found)


def title_name(title: str) -> str:
    """The normal name of a title without a final addition in brackets."""
    return normal_name(bare_title(title))


def bare_title(title: str) -> str:
    """A title without a final addition in brackets."""
    return _SAYS["addition_in_brackets"].sub("", title).strip()


def is_telling(name: str) -> bool:
    """Whether a normal name is long enough to be unambiguous: two words, or four Chinese characters."""
    return len(name) >= _TELLING if is_cjk(name) else " " in name


@lru_cache(maxsize=65_536)
def spelling(word: str) -> str:
    """A Latin word in American spelling."""
    if len(word) < 5:  # noqa: PLR2004  four, hour, rise: short words lose their meaning
        return word
    for pattern, american in _SPELLINGS:
        word = pattern.sub(american, word)
    return word


def compact_names(names: pa.Array) -> pa.Array:
    """Normal names without spaces, followed by their runs of digits, so that `1 23` differs from `12 3`."""
    digits = pc.utf8_trim(pc.replace_substring_regex(names, r"\D+", " "), " ")
    marked = pc.if_else(pc.equal(digits, ""), "", pc.binary_join_element_wise("\x1f", digits, ""))
    return pc.binary_join_element_wise(pc.replace_substring(names, " ", ""), marked, "")


def bare_names(names: pa.Array, key_types: Sequence[str]) -> pa.Array:
    """`bare_name` of each name, compact; computed only for names that may differ from it."""
    bare = names.to_numpy(zero_copy_only=False).copy()
    for row in np.flatnonzero(np.asarray(pc.match_substring_regex(names, _MAY_VARY))).tolist():
        bare[row] = bare_name(bare[row], key_types[row])
    return compact_names(pa.array(bare, pa.string()))


_LINKING = frozenset("of the and for in on at de la du der des die das von van y e &".split())
_LONGEST_RUN = 8
"""Capitalised words whose initials are taken together."""
_SHORTEST = 2
_LONGEST_SHORT = 8
_RUN = _SAYS["word_run"]


def words_of(text: str) -> set[str]:
    """Words in American spelling, and pairs of Chinese characters."""
    found = words(text)
    pairs = {one + other for one, other in pairwise(found) if is_cjk(one) and is_cjk(other)}
    return pairs | {
        spelling(word) for word in found if len(word) >= _SHORTEST and word not in _LINKING and not is_cjk(word)
    }


def short_names(text: str) -> set[str]:
    """Names in capitals, folded."""
    found = _RUN.findall(text)
    return {
        fold(word) for word in found if _SHORTEST <= len(word) <= _LONGEST_SHORT and word.isupper() and word.isascii()
    }


def initials(text: str) -> set[str]:
    """The initials of runs of capitalised words and of their parts.

    Examples:
        >>> sorted(initials("the National Hockey League"))
        ['hl', 'nh', 'nhl']
    """
    return {
        fold("".join(word[0] for word in run[start:end]))
        for run in _runs(text)
        for start in range(len(run))
        for end in range(start + _SHORTEST, len(run) + 1)
    }


def whole_initials(name: str) -> set[str]:
    """The initials of all capitalised words of a name; empty for less than two."""
    return {fold("".join(word[0] for word in run)) for run in [*_runs(name)][:1]}


def _runs(text: str) -> Iterator[list[str]]:
    """Runs of capitalised words; small words between them are read over."""
    run: list[str] = []
    for word in _RUN.findall(text):
        if word[0].isupper() and len(run) < _LONGEST_RUN:
            run.append(word)
        elif word not in _LINKING:
            if len(run) >= _SHORTEST:
                yield run
            run = [word] if word[0].isupper() else []
    if len(run) >= _SHORTEST:
        yield run
