"""The sentences of a passage that may be quoted, joined to what they point to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sag_retrieval.language.layout import LineKind, logical_lines
from sag_retrieval.language.sentences import spans_within
from sag_retrieval.language.words import STOP_WORDS, is_cjk, normal_name, tokens

_PAIR = 0.85
_TIME_WORDS = re.compile(r"[年月日他她此后前之在于从自起至到今当后来随即同时，]")
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_TERMS = 3
_LONGEST = 700
_POINTS = re.compile(
    r"[-*•\s\"“]*(?:it|its|he|his|she|her|they|their|this|that|these|those|the latter|the former|such)\b"
    r"|[-*•\s“]*(?:其(?![中他余次实])|它|他|她|该|这|此(?!外)|前者|后者)",
    re.IGNORECASE,
)
_LATER_POINTER = re.compile(
    r"[^,，;；]{0,40}?\b(?:he|she|they|his|her|their)\b|[^;；。]{0,16}?[他她](?!人)", re.IGNORECASE
)
_BACK = 3
_FRAGMENT = re.compile(r"[a-z][a-z]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch `start:end` of passage number `place`; `score` orders sentences, or is the gain of a choice.

    `near` are the terms of its neighbours, `halves` those of two sentences that it joins; `coverage` is the weighted
    share of the part's terms that it and its surroundings hold, `focus` the same for the terms that name nothing,
    `is_of_kind` whether it states a value of the expected kind.
    """

    place: int
    start: int
    end: int
    text: str
    terms: frozenset[str]
    near: frozenset[str] = frozenset()
    halves: tuple[frozenset[str], frozenset[str]] | None = None
    score: float = 0.0
    coverage: float = 0.0
    focus: float = 0.0
    is_of_kind: bool = True


def quotable(place: int, text: str, title: str) -> Iterable[Sentence]:
    """The sentences of a passage that may be quoted: no heading, no label, no rule, and none that repeats the title.

    One that begins with a pronoun is joined to the one before, a lead-in with a colon to what follows it.
    """
    singles = _stretches(text, normal_name(title))
    for start, end, terms, near in singles:
        if len(terms) >= _LEAST_TERMS:
            yield Sentence(place, start, end, text[start:end], terms, near, None, 1.0)
    for left, right in pairwise(singles):
        start, end = left[0], right[1]
        if left[1] <= right[0] and end - start <= _LONGEST and text.count("\n", left[1], right[0]) < 3:  # noqa: PLR2004
            yield Sentence(
                place, start, end, text[start:end], left[2] | right[2], left[3] | right[3], (left[2], right[2]), _PAIR
            )


@lru_cache(maxsize=4096)
def _stretches(text: str, title: str) -> tuple[tuple[int, int, frozenset[str], frozenset[str]], ...]:
    spans = list(_plain_spans(text, title))
    terms = [frozenset(tokens(text[start:end])) for start, end, _ in spans]
    found = []
    for number, (_, _, paragraph) in enumerate(spans):
        first = last = number
        while (
            first > max(0, number - _BACK)
            and points(text[slice(*spans[first][:2])])
            and spans[first - 1][2] >= paragraph - 1
        ):
            first -= 1
        while last + 1 < len(spans) and text[spans[last][1] - 1] in ":：" and last - number < 6:  # noqa: PLR2004
            last += 1
        if _FRAGMENT.match(text, spans[first][0]) and first == 0:
            continue
        own = frozenset().union(*terms[first : last + 1])
        near = frozenset().union(*terms[max(0, first - 2) : first], *terms[last + 1 : last + 2])
        if spans[last][1] - spans[first][0] <= _LONGEST or first == last:
            found.append((spans[first][0], spans[last][1], own, near))
    return tuple(dict.fromkeys(found))


def points(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, or has one before any name, as `Before that he dived` has.

    Example:
        >>> [points(text) for text in ("It failed.", "Before that he dived.", "Ann said she dived.")]
        [True, True, False]
        >>> [points(text) for text in ("2025年，他获奖。", "王芳说，他获奖。")]
        [True, False]

    """
    if _POINTS.match(sentence):
        return True
    later = _LATER_POINTER.match(sentence)
    if later is None:
        return False
    before = sentence[: later.end()]
    if is_cjk(before):
        return not is_cjk(_TIME_WORDS.sub("", before))
    return not any(word[:1].isupper() and word.lower() not in STOP_WORDS for word in _WORD.findall(before))


def _plain_spans(text: str, title: str) -> Iterable[tuple[int, int, int]]:
    """Start, end and paragraph of every sentence but headings, rules and the title."""
    lines = list(logical_lines(text))
    for paragraph, line in enumerate(lines):
        is_label = line.kind is LineKind.LABEL and text[line.end - 1] not in ":：*"
        if is_label or line.kind in (LineKind.HEADING, LineKind.RULE):
            continue
        follows = lines[paragraph + 1].kind if paragraph + 1 < len(lines) else None
        if line.kind is LineKind.ROW and follows is LineKind.RULE:
            continue
        for start, end in spans_within(text, line.start, line.end):
            bare = normal_name(text[start:end])
            if bare and bare not in title:
                yield start, end, paragraph
