"""Find the phrase that statements of a kind have in common, and which of them say its words."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from sag_retrieval.communities.tagging import tagged
from sag_retrieval.communities.topic_words import is_function_word
from sag_retrieval.text.words import is_cjk, stem

SHOWN: Final = 0.6
"""Share of the documents of a kind that say a word of its phrase, and of its telling words that a statement says."""
_RUN: Final = re.compile(r"[\u4e00-\u9fff]+")
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d[\d.,]*|[^\s\w]")
_SCALES: Final = frozenset("million billion trillion thousand percent 万 亿 元 万元 亿元 美元 万亿".split())
"""Words of figures, not of what is said."""
_PHRASE: Final = 60
_PHRASE_CJK: Final = 24
_LEAST_WORDS: Final = 2
_OF: Final = ("'s", "’s")


def common_phrase(texts: Sequence[str], documents: Sequence[int]) -> tuple[str, frozenset[str]]:
    """The words of the first text that most documents say, with `…` where they differ; and all of them that tell.

    The phrase is empty where fewer than two words tell something.

    Args:
        texts: Statements of a kind, the most typical one first; `|` stands where a name was.
        documents: The document of each.

    Examples:
        >>> common_phrase(["| moved 40 sacks of rye to |.", "| moved 7 sacks of oats to |."], [1, 2])[0]
        'moved … sacks'

    """
    cjk = is_cjk(texts[0])
    read = [_tokens(text, cjk) for text in texts]
    held: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
    for own, document in zip(read, documents, strict=True):
        folded = [_folded(token) for token in own]
        for run in {*((one,) for one in folded), *pairwise(folded)}:
            held[run].add(document)
    whole = len(set(documents))
    often = {run for run, own in held.items() if len(own) >= SHOWN * whole}
    runs = _runs(read[0], often, cjk=cjk)
    return _within(runs, cjk=cjk), frozenset(_folded(word) for run in runs for word in run if _tells(word))


def telling_words(text: str) -> frozenset[str]:
    """The words of a text that tell something, as their stems."""
    return frozenset(_folded(token) for token in _tokens(text, is_cjk(text)) if _tells(token))


def said_share(text: str, telling: frozenset[str]) -> float:
    """The share of words that a text says; 1 of none."""
    held = {_folded(token) for token in _tokens(text, is_cjk(text))}
    return len(telling & held) / len(telling) if telling else 1.0


def _tokens(text: str, cjk: bool) -> list[str]:  # noqa: FBT001  a property of the text
    if not cjk:
        return _TOKEN.findall(text)
    return [
        word
        for token in _TOKEN.findall(text)
        for word in ([each for each, _ in tagged(token)] if _RUN.fullmatch(token) else [token])
    ]


def _runs(tokens: Sequence[str], often: set[tuple[str, ...]], *, cjk: bool) -> list[Sequence[str]]:
    """Runs of the tokens that are often said together, without words of grammar at their ends."""
    folded = [_folded(token) for token in tokens]
    kept = [_tells(token) and (one,) in often for token, one in zip(tokens, folded, strict=True)]
    for place, pair in enumerate(pairwise(folded)):
        if pair in often and all(map(_is_word, pair)):
            kept[place] = kept[place + 1] = True
    for place in range(1, len(tokens)):
        if tokens[place][:1].isupper() or (cjk and tokens[place - 1][:1].isdigit()):
            kept[place] = False  # a part of a name, or a unit
    runs: list[list[str]] = [[]]
    for token, is_kept in zip(tokens, kept, strict=True):
        if is_kept:
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    return [bare for run in runs if (bare := _stripped(run))]


def _within(runs: Sequence[Sequence[str]], *, cjk: bool) -> str:
    """The runs that fit, from the first on; a lone word is left out behind enough others."""
    space, gap, most, enough = ("", "……", _PHRASE_CJK, 4) if cjk else (" ", " … ", _PHRASE, 3)
    phrase, telling = "", set[str]()
    for run in runs:
        own = {_folded(word) for word in run if _tells(word)}
        longer = f"{phrase}{gap}{space.join(run)}" if phrase else space.join(run)
        if not own <= telling and (not phrase or len(longer) <= most) and (len(telling) < enough or len(own) > 1):
            phrase, telling = longer, telling | own
    return phrase if len(telling) >= _LEAST_WORDS and len(phrase) <= 2 * most else ""


def _stripped(run: Sequence[str]) -> Sequence[str]:
    places = [place for place, token in enumerate(run) if _tells(token)]
    return run[places[0] : places[-1] + 1] if places else []


def _folded(token: str) -> str:
    return stem(token.casefold())


def _is_word(token: str) -> bool:
    return token[:1].isalpha()


def _tells(token: str) -> bool:
    """Whether a word is none of grammar, of a figure or of a bearer; a single Chinese character tells nothing."""
    return (
        _is_word(token)
        and len(token) > 1
        and token not in _SCALES
        and token[-2:] not in _OF
        and not is_function_word(token.casefold())
    )
