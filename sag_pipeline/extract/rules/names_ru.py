"""Find Russian names in any case and give them in the nominative: persons, places, firms in quotes."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE
from sag_retrieval.language.cases import without_cases
from sag_retrieval.language.data import patterns, word_lists
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.words import fold

if TYPE_CHECKING:
    from pymorphy3 import MorphAnalyzer

_WORDS, _SAYS = word_lists("ru"), patterns("ru")
_PERSONAL, _OF_PLACES = frozenset({"Name", "Surn", "Patr"}), frozenset({"Geox"})
_CASES = ("nomn", "gent", "datv", "accs", "ablt", "loct")
_GENDERS = ("masc", "femn", "neut")
_LEAST_SCORE = 0.05
_LONGEST = 4
"""A run of more words is a heading."""


class _Found(NamedTuple):
    start: int
    end: int
    words: tuple[str, ...]
    """Its words in the nominative."""
    key_type: str
    is_sure: bool
    """False where the start of a sentence may explain the capital."""

    @property
    def folded(self) -> str:
        """The name without case endings."""
        return without_cases(fold(" ".join(self.words)))


def russian_names(text: str, sentence_starts: Sequence[int]) -> list[Mention]:
    """Names in Cyrillic letters, in order, each in the nominative; a surname alone is the person with this surname.

    A capital inside a sentence shows a name; at its start the dictionary must know the word as one, or the text must
    have it elsewhere. Patronymics and surnames that the dictionary lacks are known by their endings.
    """
    found = list(_quoted(text))
    quoted = [(one.start, one.end) for one in found]
    for run in _SAYS["run"].finditer(text):
        row = bisect_left(quoted, (run.end(), 0)) - 1
        if row < 0 or quoted[row][1] <= run.start():
            found += _of_run(text, run, sentence_starts)
    sure = {one.folded for one in found if one.is_sure}
    kept = sorted((one for one in found if one.folded in sure), key=lambda one: one.start)
    wholes = _by_surname(kept)
    return [
        Mention(one.start, one.end, whole.key_type, " ".join(whole.words))
        for one in kept
        for whole in (wholes.get(one.folded, one),)
    ]


def _quoted(text: str) -> Iterator[_Found]:
    """Names in quotes behind a legal form or what an organisation is."""
    for run in _SAYS["quoted"].finditer(text):
        if run["before"] in _WORDS["LEGAL_FORMS"] or _is_any(run["before"], "ORGANISATIONS"):
            yield _Found(*run.span("name"), (run["name"].strip(),), ORGANISATION, is_sure=True)


def _of_run(text: str, run: re.Match[str], starts: Sequence[int]) -> Iterator[_Found]:
    """The name of a run, without a first word of a sentence that is none."""
    words = [found.span() for found in _SAYS["part"].finditer(text, run.start(), run.end())]
    row, start = bisect_left(starts, run.start()), run.start()
    is_first = row < len(starts) and starts[row] == start
    if is_first and len(words) > 1 and not _kinds(text[slice(*words[0])]):
        words, is_first = words[1:], False
        start = words[0][0]
    spelt = [text[slice(*word)] for word in words]
    behind = _SAYS["next_word"].match(text, run.end())
    if len(words) > _LONGEST:
        return
    if behind and _qualifies(spelt, behind["word"]):
        if not is_first and _is_any(behind["word"], "PLACES"):
            first, *last = _nominative([*spelt, behind["word"]])
            yield _Found(start, behind.end(), (first, *map(str.lower, last)), PLACE, is_sure=True)
        return
    key_type = _type_of(spelt, text[max(0, start - 30) : start])
    is_sure = not is_first or len(words) > 1 or all(map(_tags, _likely(spelt[0])))
    if key_type == PERSON:
        outside = f"{text[start : words[0][0]]} {text[words[-1][1] : run.end()]}"
        initials = [each.strip() for each in _SAYS["initials"].findall(outside)]
        end = run.start() + len(run[0].rstrip())
        yield _Found(start, end, (*initials, *_nominative(spelt)), PERSON, is_sure or bool(initials))
    elif key_type == PLACE or not all(map(_is_common, spelt)):
        yield _Found(words[0][0], words[-1][1], _nominative(spelt), key_type, is_sure)


def _qualifies(words: Sequence[str], noun: str) -> bool:
    """Whether a single word is an adjective before a noun: `Никольской церкви`, `Чёрного мыса`."""
    is_adjective = len(words) == 1 and _SAYS["adjective"].fullmatch(words[0].lower())
    return bool(is_adjective) and any("NOUN" in parse.tag for parse in _parses(noun)[:1])


def _is_any(word: str, among: str) -> bool:
    return any(parse.normal_form in _WORDS[among] for parse in _parses(word))


def _type_of(words: Sequence[str], before: str) -> str:
    word = _SAYS["word_before"].search(before)
    is_place = word is not None and _is_any(word["word"], "PLACES")
    known = frozenset[str]().union(*map(_kinds, words))
    if known & _PERSONAL and not is_place:
        return PERSON
    return PLACE if is_place or known & _OF_PLACES else ENTITY


def _by_surname(found: Sequence[_Found]) -> dict[str, _Found]:
    """Surname without its case ending → the one person with it who also has a first name."""
    persons: defaultdict[str, dict[str, _Found]] = defaultdict(dict)
    for one in found:
        if one.key_type == PERSON and len(one.words) > 1:
            for word in filter(_is_surname, one.words):
                persons[without_cases(fold(word))].setdefault(one.folded, one)
    return {surname: next(iter(each.values())) for surname, each in persons.items() if len(each) == 1}


def _is_surname(word: str) -> bool:
    personal = [parse for parse in _parses(word) if _tags(parse) & _PERSONAL]
    return bool(personal) and "Surn" in max(personal, key=lambda parse: parse.score).tag


def _tags(parse: Any) -> frozenset[str]:  # noqa: ANN401  a reading of the dictionary
    return frozenset(tag for tag in (*_PERSONAL, *_OF_PLACES) if tag in parse.tag)


def _likely(word: str) -> list[Any]:
    return [parse for parse in _parses(word) if parse.score >= _LEAST_SCORE]


def _kinds(word: str) -> frozenset[str]:
    """What a name may be by the dictionary: the tags of its likely readings."""
    return frozenset().union(*map(_tags, _likely(word)))


def _is_common(word: str) -> bool:
    """Whether the dictionary has a word and as no name: contracts write `Договор` and `Заказчик` with a capital."""
    parse = _parses(word)[0]
    return bool(parse.is_known) and not _tags(parse)


def _nominative(words: Sequence[str]) -> tuple[str, ...]:
    """The words in the nominative, read in the one case and gender that suits all of them best; else as they stand."""
    best: tuple[float, list[Any]] = (0.0, [])
    for case in _CASES:
        for gender in _GENDERS:
            read = [_reading(word, case, gender) for word in words]
            score = sum(parse.score for parse in read if parse)
            if all(read) and score > best[0] + 1e-9:
                best = (score, read)
    forms = [parse.inflect({"nomn", "sing"}) for parse in best[1]] or [None] * len(words)
    return tuple(
        "-".join(part[:1].upper() + part[1:] for part in form.word.split("-")) if form else word
        for form, word in zip(forms, words, strict=True)
    )


def _reading(word: str, case: str, gender: str) -> Any:  # noqa: ANN401  a reading of the dictionary
    """The likeliest reading of a word in a case and gender, names before others."""
    fitting = [
        parse
        for parse in _parses(word)
        if case in parse.tag and "sing" in parse.tag and (gender in parse.tag or "ms-f" in parse.tag)
    ]
    return max(fitting, key=lambda parse: (bool(_tags(parse) & _PERSONAL), parse.score), default=None)


@lru_cache(maxsize=65_536)
def _parses(word: str) -> Sequence[Any]:
    return tuple(_analyzer().parse(word))


@cache
def _analyzer() -> "MorphAnalyzer":
    import pymorphy3  # noqa: PLC0415  Russian texts alone need it

    return pymorphy3.MorphAnalyzer(lang="ru")
