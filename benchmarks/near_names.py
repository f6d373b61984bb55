"""Pairs of keys with near vectors whose names may be the same: evidence that aligning does without."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from sag_pipeline.steps.entity_resolution import KeyColumns
from sag_pipeline.steps.name_matching import EXACT_TYPES, compact_name, spelling
from sag_retrieval.core.types import Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.text.words import is_cjk, stem, tokens

LONGEST_LIST = 64
"""Names that share an index term; a term of more names pairs none."""
_WEAK = frozenset("the of a an and de la le du der die das von".split())
_OPPOSITES = tuple(
    frozenset(words.split())
    for words in (
        "north south east west northern southern eastern western northeast northwest southeast southwest",
        "upper lower middle",
        "left right",
        "senior junior elder younger",
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "i ii iii iv v vi vii viii ix x",
        "one two three four five six seven eight nine ten",
        "increase decrease rise fall gain loss profit",
        "men women male female boys girls mr mrs ms king queen prince princess",
        "before after pre post",
        "internal external domestic foreign import export input output",
        "old new former current",
        "summer winter spring autumn",
        "minimum maximum min max major minor",
    )
)
_LONG_WORD = 7


def near_pairs(keys: KeyColumns, vectors: Vectors, bound: float) -> Iterator[tuple[int, int]]:
    """Rows of one type with a rare term in common, a cosine of `bound` or more, and names that may be the same."""
    pairs = _candidates(keys)
    product = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
    cosines = np.asarray(product.sum(axis=1), np.float64).ravel()
    for one, other in pairs[cosines >= bound].tolist():
        if may_be_same(keys.names[one], keys.names[other]):
            yield one, other


def _candidates(keys: KeyColumns) -> Rows64:
    lists: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, (key_type, name) in enumerate(zip(keys.key_types, keys.names, strict=True)):
        if name and key_type not in EXACT_TYPES:
            for term in set(tokens(name)):
                lists[key_type, term].append(row)
    found = {pair for rows in lists.values() if 1 < len(rows) <= LONGEST_LIST for pair in _pairs(rows)}
    return np.array(sorted(found), np.int64).reshape(-1, 2)


def _pairs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((one, other) for place, one in enumerate(rows) for other in rows[place + 1 :])


def may_be_same(one: str, other: str) -> bool:
    """Whether two normal names of one type may mean the same.

    Not if their numbers differ, if they have opposite words or different Chinese characters, or if one has an important
    word that the other lacks; a long word may lack one letter.
    """
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    if is_cjk(one) or is_cjk(other):
        return compact_name(one) == compact_name(other)
    mine, theirs = ({spelling(word) for word in name.split()} - _WEAK for name in (one, other))
    left, right = mine - theirs, theirs - mine
    if any(words & left and words & right for words in _OPPOSITES):
        return False
    left, right = {stem(word) for word in left}, {stem(word) for word in right}
    left, right = left - right, right - left
    if len(left) == len(right) == 1:
        return _lacks_a_letter(left.pop(), right.pop())
    return not left and not right


def _lacks_a_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) != 1 or len(short) < _LONG_WORD or short[0] != long[0]:
        return False
    return any(long[:i] + long[i + 1 :] == short for i in range(1, len(long)))
