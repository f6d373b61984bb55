"""Whether two index terms are forms of one word, or words that say the same: a verb, its noun, another verb for it."""

from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import takewhile
from typing import Final

from sag_retrieval.language.words import is_cjk, stem

_LEAST_COMMON = 4
"""Letters that forms of one word share at their beginning."""
_ENDINGS = frozenset(
    [
        "",
        *"d e r s t".split(),
        *"al ant ee ent er ing ion is it iv or".split(),
        *"ation isit ment ship sit tion".split(),
    ]
)
"""What a stem has after the letters that it shares with another form: `acqui` + `r`, `acqui` + `sit`."""
_SHORT_ENDINGS = frozenset(["", "e", "er", "ee", "or", "ing", "ment"])
"""Those that count where no more letters are shared than need be: `stat` + `e` and `stat` + `ion` are two words."""


_SAME_WORDS: Final = "synonyms.txt"


@lru_cache(maxsize=65536)
def are_forms(left: str, right: str) -> bool:
    """Whether two stems differ by a derivation only.

    Examples:
        >>> are_forms(stem("acquire"), stem("acquisition")), are_forms(stem("founder"), stem("founded"))
        (True, True)
        >>> are_forms(stem("company"), stem("compare")), are_forms(stem("state"), stem("station"))
        (False, False)

    """
    if left[:_LEAST_COMMON] != right[:_LEAST_COMMON] or not left.isalpha() or is_cjk(left):
        return False
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    allowed = _ENDINGS if common > _LEAST_COMMON else _SHORT_ENDINGS
    return common >= _LEAST_COMMON and left[common:] in allowed and right[common:] in allowed


def has_form(term: str, terms: Iterable[str]) -> bool:
    """Whether another form of a term is among some terms."""
    return len(term) >= _LEAST_COMMON and any(are_forms(term, other) for other in terms)


def same_words(term: str) -> frozenset[str]:
    """The index terms that say the same as a term; of a pair of Chinese characters also what each of them says.

    Examples:
        >>> stem("cut") in same_words(stem("lowered")), stem("rose") in same_words(stem("lowered"))
        (True, False)
        >>> "下调" in same_words("降到"), "单价" in same_words("价格")
        (True, True)

    """
    classes = _classes()
    own = classes.get(term, frozenset[str]())
    if own or not is_cjk(term):
        return own
    return frozenset[str]().union(*(classes.get(character, frozenset()) for character in term))


@lru_cache
def _classes() -> dict[str, frozenset[str]]:
    """The terms of all classes of each term."""
    text = resources.files("sag_retrieval.ask").joinpath(_SAME_WORDS).read_text(encoding="utf-8")
    found: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            terms = frozenset(word if is_cjk(word) else stem(word) for word in line.split())
            found |= {term: found.get(term, frozenset()) | terms for term in terms}
    return found
