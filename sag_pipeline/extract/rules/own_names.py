"""Names of a document that mean what its title names: the title without an addition, and the name it opens with."""

from collections.abc import Iterable, Sequence
from typing import Final

from sag_pipeline.extract.name_matching import bare_title, is_telling
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk, normal_name

_LEAST_WORDS: Final = 2
_LEAST_CHARACTERS: Final = 4
_LEAST_START: Final = 3
"""Letters of a short first name: Tim of Timothy."""
_READ: Final = 2_000
"""Characters of a document in which its first line of prose is looked for."""
_ABOVE: Final = patterns("all")["headings_above"]
"""Headings before the first line of prose."""
_ARTICLE: Final = patterns("all")["article"]
_ENDED: Final = patterns("all")["word_ended"]


def own_names(title: str, text: str, names: Iterable[str]) -> set[str]:
    """Those of the names that mean what the title of the document names.

    Either the title without what stands in brackets or behind a comma, if it says enough by itself (two words, four
    Chinese characters); or the name that the text opens with, if the words of one are those of the other in order,
    initials and starts of first names included.

    Source: docs/algorithm.md §extraction.26.

    Examples:
        >>> own_names("Kevin Durant", "Kevin Wayne Durant (born 1988) plays.", ["Kevin Wayne Durant", "Wayne"])
        {'Kevin Wayne Durant'}
        >>> own_names("Ann Arbor, Michigan", "In Ann Arbor it rains.", ["Ann Arbor", "Michigan"])
        {'Ann Arbor'}
    """
    bare = bare_title(title)
    heads = [head for head in dict.fromkeys((bare, bare.partition(", ")[0])) if head]
    shown = {_without_article(normal_name(head)) for head in heads} - {""}
    opening = _opening(text)
    found = set()
    for name in names:
        normal = _without_article(normal_name(name))
        is_title = normal in shown and is_telling(normal)
        if is_title or (_opens(opening, name) and any(_is_one_name(normal, head) for head in shown)):
            found.add(name)
    return found


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if first in ("the", "a", "an") and rest else name


def _opening(text: str) -> str:
    above = _ABOVE.match(text, 0, _READ)
    start = above.end() if above else 0
    article = _ARTICLE.match(text, start)
    return text[article.end() if article else start :][:_READ]


def _opens(opening: str, name: str) -> bool:
    """Whether a text opens with a name, whole."""
    bare = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    for said in (name, bare):
        if said and opening.startswith(said) and (is_cjk(said) or _ENDED.match(opening, len(said))):
            return True
    return False


def _is_one_name(one: str, other: str) -> bool:
    """Whether the words of the shorter of two names are those of the longer in order, its last word at the end."""
    if is_cjk(one) != is_cjk(other):
        return False
    if is_cjk(one):
        short, long = sorted((one, other), key=len)
        return len(short) >= _LEAST_CHARACTERS and short[0] == long[0] and _in_order(short, long)
    short_words, long_words = sorted((one.split(), other.split()), key=len)
    return len(short_words) >= _LEAST_WORDS and _in_order(short_words, long_words)


def _in_order(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether each piece of one stands in the other, in order, whole, as an initial or as the start of a word."""
    places = iter(long)
    return all(any(_is_one_word(piece, other) for other in places) for piece in short)


def _is_one_word(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (long.startswith(short) and (len(short) == 1 or len(short) >= _LEAST_START))
