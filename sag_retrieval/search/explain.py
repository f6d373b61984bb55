"""Why a passage was found, as a sentence in the language of the question."""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

import numpy as np

from sag_retrieval.language.words import CJK, STOP_WORDS, is_cjk, normal_name, tokens
from sag_retrieval.notebook import readable
from sag_retrieval.release.arrays import Arrays
from sag_retrieval.search.question_words import without_question_words

_RUN: Final = re.compile(rf"[{CJK}]+|(?:(?![{CJK}])[^\W_])+")
_SHOWN: Final = 4
"""Words of the question that a sentence lists."""


_ENGLISH: Final = {
    "found": "found because it ",
    "asked": "names {key}, which the question names",
    "alike": "names {key}, which is like the question",
    "together": "names {key}, which stands in one statement with {seed}",
    "bridge": "names {key}, which “{title}” also names",
    "beside": "stands in “{title}” like another passage that was found",
    "holds": "has {words} of the question",
    "text": "reads like the question",
    "joined": ", and ",
    "quoted": "“{}”",
    "between": ", ",
    "end": "",
}
_CHINESE: Final = {
    "found": "找到它，因为它",
    "asked": "提到了问题中的{key}",
    "alike": "提到了与问题相近的{key}",
    "together": "提到了{key}，而{key}与{seed}出现在同一条事件里",
    "bridge": "提到了{key}，《{title}》也提到了{key}",
    "beside": "与另一段找到的文字同在《{title}》",
    "holds": "含有问题中的{words}",
    "text": "与问题的文字相近",
    "joined": "，并且",
    "quoted": "“{}”",
    "between": "、",
    "end": "。",
}


def explain_hit(way: Mapping[str, Any], question: str, title: str, words: Sequence[str]) -> str:
    """The sentence for the way to a hit, in the language of the question.

    Args:
        way: Its keys `seed_key`, `key` and `bridge`, where there are any.
        question: What was asked.
        title: Title of the document where the bridge starts.
        words: Words of the question that the hit holds.

    Example:
        >>> way = {"bridge": {"over": {"value": "Marlow Seals"}}}
        >>> explain_hit(way, "Who made the part?", "Recall", ["made", "part"])
        'found because it names Marlow Seals, which “Recall” also names, and has “made”, “part” of the question'
    """
    wording = _CHINESE if is_cjk(question) else _ENGLISH
    link, names = _link(way, title, wording)
    listed = [wording["quoted"].format(word) for word in words if normal_name(word) not in names][:_SHOWN]
    holds = wording["holds"].format(words=wording["between"].join(listed)) if listed else ""
    reasons = [reason for reason in (link, holds) if reason] or [wording["text"]]
    return wording["found"] + wording["joined"].join(reasons) + wording["end"]


def _link(way: Mapping[str, Any], title: str, wording: Mapping[str, str]) -> tuple[str, set[str]]:
    """What links the hit to the question or to another hit, and the words that this names."""
    key, seed = (_value(way.get(name)) for name in ("key", "seed_key"))
    bridge = way.get("bridge") or {}
    if bridge.get("is_beside"):
        return wording["beside"].format(title=title), set()
    if over := _value(bridge.get("over")):
        return wording["bridge"].format(key=over, title=title), _words_of(over)
    if seed and normal_name(key) == normal_name(seed):
        is_named = not str(way["seed_key"].get("reason", "")).startswith("like")
        return wording["asked" if is_named else "alike"].format(key=key), _words_of(key)
    if seed:
        return wording["together"].format(key=key, seed=seed), _words_of(key)
    return "", set()


def _value(key: Mapping[str, Any] | None) -> str:
    if not key or isinstance(key["value"], bool):  # a flag names nothing
        return ""
    return " ".join(filter(None, (readable(key["value"]), key.get("unit"))))


def _words_of(name: str) -> set[str]:
    folded = normal_name(name)
    return {folded, *folded.split()}


def held_words(arrays: Arrays, question: str, chunk: int) -> list[str]:
    """Words of the question that a chunk holds, in order, each once; of Chinese the longest pieces of two or more."""
    text = without_question_words(question)
    held = _held_tokens(arrays, text, chunk)
    found: list[str] = []
    for run in _RUN.findall(text):
        if is_cjk(run):
            found.extend(_pieces(run, held))
        elif run not in STOP_WORDS and held.intersection(tokens(run)):
            found.append(run)
    return list(dict.fromkeys(found))


def _held_tokens(arrays: Arrays, text: str, chunk: int) -> set[str]:
    number = {token: arrays.terms.trie.get(token) for token in tokens(text)}
    known = {each: 1.0 for each in number.values() if each is not None}
    inside = arrays.chunk_text.matrix(known, np.array([chunk], np.int32))[:, 0] > 0
    kept = {each for each, is_held in zip(known, inside.tolist(), strict=True) if is_held}
    return {token for token, each in number.items() if each in kept}


def _pieces(run: str, held: set[str]) -> list[str]:
    """Stretches of a run all of whose pairs are held."""
    pairs = [(place, first + second in held) for place, (first, second) in enumerate(pairwise(run))]
    stretches = (list(group) for is_held, group in groupby(pairs, key=lambda pair: pair[1]) if is_held)
    return [run[stretch[0][0] : stretch[-1][0] + 2] for stretch in stretches]
