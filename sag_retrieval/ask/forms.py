"""Whether two index terms are forms of one word, or words that say the same: a verb, its noun, another verb for it."""

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import takewhile
from typing import Final

from sag_retrieval.language.words import is_cjk, stem

_LEAST_AGENT = 5
"""Letters of a noun for who does something."""
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
PERSONS = (
    frozenset(stem(word) for word in "people person employee employ worker staff workforce member".split())
    | {stem(word) for word in "inhabitant resident citizen".split()}
    | {"人", "员工", "职工", "人员", "居民", "成员"}
)
"""Terms by which people are counted, one as good as the other."""
_SAME_WORDS: Final = "same_words.txt"
_WORD = re.compile(r"[a-z]+")
_AGENT_ENDINGS = ("er", "or")
_CHINESE_AGENTS = frozenset("人者商员")


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


def names_agent(act: Iterable[str], text: str) -> bool:
    """Whether a text has a noun for somebody who does an act: `founder` of `found`, 创始人 of 创建.

    Examples:
        >>> [names_agent({"found"}, text) for text in ("Acme's founder", "Acme founded Bolt")]
        [True, False]
        >>> [names_agent({"创建"}, text) for text in ("公司的创始人", "公司创建了工厂")]
        [True, False]

    """
    folded = text.lower()
    words = [word.removesuffix("s") for word in _WORD.findall(folded)]
    roots = [word[:-2] for word in words if word.endswith(_AGENT_ENDINGS) and len(word) >= _LEAST_AGENT]
    shown = {stem(form) for root in roots for form in (root, f"{root}e", root[:-1] if root[-1] == root[-2] else root)}
    led = _before_agents(folded)
    return any(each[0] in led if is_cjk(each) else each in shown for each in act)


def _before_agents(text: str) -> set[str]:
    """Characters that one of 人者商员 follows, at once or after another Chinese character."""
    places = [place for place, character in enumerate(text) if character in _CHINESE_AGENTS]
    near = {text[place - 1] for place in places if place > 0}
    return near | {text[place - 2] for place in places if place > 1 and is_cjk(text[place - 1])}
