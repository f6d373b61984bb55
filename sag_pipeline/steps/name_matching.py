"""When two names of keys may mean one thing, and when they must stay apart."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from sag_retrieval.core.types import Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.text.words import is_cjk, normal_name, stem, tokens

GENERIC_TYPES = frozenset(
    ["title", "topic", "tag", "entity", "other", "concept", "标题", "主题", "标签", "实体", "其他", "概念"]
)
"""Types that say little: such a key joins the specific key of its name."""
EXACT_TYPES = frozenset(["date", "time", "number", "日期", "时间", "数字"])
"""Types whose values are exact: only equal names are one."""

_ORGANISATION = frozenset(["organisation", "organization", "company", "机构", "组织", "公司"])
_PLACE = frozenset(["place", "location", "地点", "位置"])
_LEGAL = frozenset(
    [
        "inc",
        "incorporated",
        "ltd",
        "limited",
        "co",
        "corp",
        "corporation",
        "company",
        "plc",
        "llc",
        "gmbh",
        "ag",
    ]
)
_LEGAL_ZH = re.compile("(?<!股份)(?<!责任)(?<!集团)(?:股份|责任|集团)*+有限(?:责任)?公司$|公司$")
_PLACE_ZH = re.compile("(?<=..)[市省]$")
_DIGITS = re.compile(r"\d+")
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
    r"|isation|ise(?:$|[ drs])|our|tre(?:$| )|ae"
)
_WEAK = frozenset(["the", "of", "a", "an", "and", "de", "la", "le", "du", "der", "die", "das", "von"])
_OPPOSITES = tuple(
    frozenset(pair.split())
    for pair in (
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
_TELLING = 4
_ADDITION = re.compile(r"(?<=\S)\s*[(（][^()（）]+[)）]\s*$")


def compact_name(name: str) -> str:
    """A normal name without spaces; its runs of digits stand behind, so that `1 23` is not `12 3`.

    Example:
        >>> compact_name("302 ai") == compact_name("302ai"), compact_name("v1 2") == compact_name("v12")
        (True, False)

    """
    digits = _DIGITS.findall(name)
    return name.replace(" ", "") + ("\x1f" + " ".join(digits) if digits else "")


def bare_name(name: str, key_type: str) -> str:
    """A compact name without what varies: articles, British spelling, legal forms, 市 and 省.

    Legal forms fall for organisations only, 市 and 省 for places only; never the whole name.

    Example:
        >>> bare_name("the organisation cafe", "topic"), bare_name("苹果公司", "organisation")
        ('organizationcafe', '苹果')

    """
    if is_cjk(name):
        ending = _LEGAL_ZH if key_type in _ORGANISATION else _PLACE_ZH if key_type in _PLACE else None
        return compact_name((ending.sub("", name) if ending else name) or name)
    found = [spelling(word) for word in name.split()]
    while key_type in _ORGANISATION and len(found) > 1 and found[-1] in _LEGAL:
        found.pop()
    if len(found) > 1 and found[0] == "the":
        found = found[1:]
    return compact_name(" ".join(found))


def title_name(title: str) -> str:
    """The normal name of a title without what stands behind it in brackets.

    Example:
        >>> title_name("Ann Lee (chemist)"), title_name("苹果（公司）"), title_name("(untitled)")
        ('ann lee', '苹果', 'untitled')

    """
    return normal_name(_ADDITION.sub("", title))


def is_telling(name: str) -> bool:
    """Whether a normal name is long enough to mean one thing wherever it stands: two words, four characters.

    Example:
        >>> is_telling("ann lee"), is_telling("mercury"), is_telling("苹果公司")
        (True, False, True)

    """
    return len(name) >= _TELLING if is_cjk(name) else " " in name


@lru_cache(maxsize=65_536)
def spelling(word: str) -> str:
    """A Latin word in American spelling."""
    if len(word) < 5:  # noqa: PLR2004  four, hour, rise: short words lose their meaning
        return word
    for pattern, american in _SPELLINGS:
        word = pattern.sub(american, word)
    return word


def may_be_same(one: str, other: str) -> bool:
    """Whether two normal names of one type may mean one thing, if their vectors say so.

    No, where numbers differ, where opposite words stand, where Chinese names differ in a character, and
    where one holds a word of weight that the other lacks; a long word may lack one letter.

    Example:
        >>> may_be_same("university of oxford", "oxford university"), may_be_same("war i", "war ii")
        (True, False)

    """
    if _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    if is_cjk(one) or is_cjk(other):
        return compact_name(one) == compact_name(other)
    mine, theirs = ({spelling(word) for word in name.split()} - _WEAK for name in (one, other))
    left, right = mine - theirs, theirs - mine
    if any(words & left and words & right for words in _OPPOSITES):
        return False
    left, right = {stem(word) for word in left}, {stem(word) for word in right}
    left, right = left - right, right - left
    if not left and not right:
        return True
    if len(left) == len(right) == 1:
        return _lacks_a_letter(left.pop(), right.pop())
    return False


def _lacks_a_letter(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) != 1 or len(short) < _LONG_WORD or short[0] != long[0]:
        return False
    return any(long[:i] + long[i + 1 :] == short for i in range(1, len(long)))


def compact_names(names: pa.Array) -> pa.Array:
    """`compact_name` of each name."""
    digits = pc.utf8_trim(pc.replace_substring_regex(names, r"\D+", " "), " ")
    marked = pc.if_else(pc.equal(digits, ""), "", pc.binary_join_element_wise("\x1f", digits, ""))
    return pc.binary_join_element_wise(pc.replace_substring(names, " ", ""), marked, "")


def bare_names(names: pa.Array, key_types: Sequence[str], compact: pa.Array) -> pa.Array:
    """`bare_name` of each name; only names that may differ from their compact ones are looked at."""
    rows = np.flatnonzero(np.asarray(pc.match_substring_regex(names, _MAY_VARY)))
    folded = compact.to_numpy(zero_copy_only=False)
    for row in rows.tolist():
        folded[row] = bare_name(names[row].as_py(), key_types[row])
    return pa.array(folded, pa.string())


LONGEST_LIST = 64
"""Names that share an index term; a term of more names says too little to pair them."""
_BLOCK = 65_536


def near_pairs(
    names: Sequence[str], key_types: Sequence[str], vectors: Vectors, rows: Sequence[int], bound: float
) -> Iterator[tuple[int, int, float]]:
    """Pairs of rows of one type with a rare term in common and a cosine of `bound` or more, nearest first.

    Source:
        docs/algorithm.md §extraction.26.

    """
    pairs = _candidates(names, key_types, rows)
    if not len(pairs):
        return
    cosines = np.concatenate([_cosines(vectors, pairs[i : i + _BLOCK]) for i in range(0, len(pairs), _BLOCK)])
    kept = np.flatnonzero(cosines >= bound)
    for i in kept[np.lexsort((pairs[kept, 1], pairs[kept, 0], -cosines[kept]))]:
        yield int(pairs[i, 0]), int(pairs[i, 1]), float(cosines[i])


def _candidates(names: Sequence[str], key_types: Sequence[str], rows: Sequence[int]) -> Rows64:
    lists: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        for term in set(tokens(names[row])):
            lists[key_types[row], term].append(row)
    found = {
        (one, other)
        for members in lists.values()
        if 1 < len(members) <= LONGEST_LIST
        for i, one in enumerate(members)
        for other in members[i + 1 :]
    }
    return np.array(sorted(found), np.int64).reshape(-1, 2)


def _cosines(vectors: Vectors, pairs: Rows64) -> npt.NDArray[np.float64]:
    if isinstance(vectors, csr_array):
        product = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
        return np.asarray(product.sum(axis=1), np.float64).ravel()
    return np.asarray(np.sum(vectors[pairs[:, 0]] * vectors[pairs[:, 1]], axis=1), np.float64)
