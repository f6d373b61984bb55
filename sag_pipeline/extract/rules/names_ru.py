"""Find Russian names in any case and give them in the nominative: persons, places, firms in quotes."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE
from sag_retrieval.language.cases import without_cases
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.words import fold

if TYPE_CHECKING:
    from pymorphy3 import MorphAnalyzer

_NAME = "[А-ЯЁ][а-яё]+(?:-[А-ЯЁ][а-яё]+)?"
_RUN = re.compile(
    rf"(?<![\w«-])(?:(?:[А-ЯЁ]\.\s?){{1,2}})?{_NAME}(?:[ \t]{_NAME})*"
    rf"(?:[ \t](?:[А-ЯЁ]\.\s?){{2}}(?!\s?{_NAME}))?(?![\w-])"
)
_NEXT_WORD = re.compile(r"[ \t](?P<word>[а-яё]{2,})")
_ADJECTIVE = re.compile("[а-яё]+(?:[иыо]й|[ое]го|[ое]му|[иы]м|[ое]м|ая|яя|ую|юю|ое|ее|ые|ие|[иы]х|[иы]ми)")
_PART = re.compile(_NAME)
_INITIALS = re.compile(r"(?:[А-ЯЁ]\.\s?)+")
_QUOTED = re.compile(r"(?<![А-ЯЁа-яё])(?P<before>[А-ЯЁа-яё]+)\s«(?P<name>[А-ЯЁ\d][^«»\n]{1,60})»")
_WORD_BEFORE = re.compile(r"(?<![а-яё])(?P<word>[а-яё]+)\s\Z")
_FORMS = frozenset("ООО ОАО ЗАО ПАО АО НАО ИП ФГУП ГУП МУП НКО".split())
_FIRMS = frozenset(
    """авиакомпания агентство ассоциация банк верфь газета группа завод издательство институт клуб комбинат компания
    концерн корпорация кооператив магазин мастерская музей общество объединение организация пароходство партия
    предприятие радиостанция ресторан сеть стартап сыроварня театр телеканал типография университет фабрика ферма фирма
    фонд холдинг центр школа""".split()
)
_PLACES = frozenset(
    """бухта волость город гора губерния деревня край мыс область озеро округ остров пик площадь полуостров посёлок порт
    провинция район республика река село станица станция улица хутор""".split()
)
_PERSONAL, _OF_PLACES = ("Name", "Surn", "Patr"), ("Geox",)
_CASES = ("nomn", "gent", "datv", "accs", "ablt", "loct")
_GENDERS = ("masc", "femn", "neut")
_LEAST_SCORE = 0.05
_LONGEST = 4
"""A run of more words is a heading."""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    words: tuple[str, ...]
    """Its words in the nominative."""
    key_type: str
    is_sure: bool
    """False where the start of a sentence may explain the capital."""

    @property
    def value(self) -> str:
        """The name in the nominative."""
        return " ".join(self.words)

    @property
    def folded(self) -> str:
        """The name without case endings."""
        return without_cases(fold(self.value))


def russian_names(text: str, sentence_starts: Sequence[int]) -> list[Mention]:
    """Names in Cyrillic letters, in order, each in the nominative; a surname alone is the person with this surname.

    A capital inside a sentence shows a name; at its start the dictionary must know the word as one, or the text must
    have it elsewhere. Patronymics and surnames that the dictionary lacks are known by their endings.

    Args:
        text: A Russian text.
        sentence_starts: Where sentences begin, ascending.

    """
    quoted = list(_quoted(text))
    ends = [one.end for one in quoted]
    found = [*quoted]
    for run in _RUN.finditer(text):
        row = bisect_right(ends, run.start())
        if row == len(quoted) or run.end() <= quoted[row].start:
            found += _of_run(text, run, sentence_starts)
    sure = {one.folded for one in found if one.is_sure}
    kept = sorted((one for one in found if one.folded in sure), key=lambda one: one.start)
    wholes = _by_surname(kept)
    return [
        Mention(one.start, one.end, whole.key_type, whole.value)
        for one in kept
        for whole in (wholes.get(one.folded, one),)
    ]


def _quoted(text: str) -> Iterator[_Found]:
    """Names in quotes behind a legal form or what an organisation is."""
    for run in _QUOTED.finditer(text):
        before = run["before"]
        if before in _FORMS or _is_any(before, _FIRMS):
            yield _Found(run.start("name"), run.end("name"), (run["name"].strip(),), ORGANISATION, is_sure=True)


def _of_run(text: str, run: re.Match[str], starts: Sequence[int]) -> Iterator[_Found]:
    """The name of a run, without a first word of a sentence that is none."""
    words = [found.span() for found in _PART.finditer(text, run.start(), run.end())]
    row = bisect_left(starts, run.start())
    is_first, start = row < len(starts) and starts[row] == run.start(), run.start()
    if is_first and len(words) > 1 and not _kinds(text[slice(*words[0])]):
        words, is_first = words[1:], False
        start = words[0][0]
    spelt = [text[slice(*word)] for word in words]
    behind = _NEXT_WORD.match(text, run.end())
    if len(words) > _LONGEST:
        return
    if behind and _qualifies(spelt, behind["word"]):
        if not is_first and _is_any(behind["word"], _PLACES):
            first, *last = _nominative([*spelt, behind["word"]])
            yield _Found(start, behind.end(), (first, *map(str.lower, last)), PLACE, is_sure=True)
        return
    key_type = _type_of(spelt, text[max(0, start - 30) : start])
    is_sure = not is_first or len(words) > 1 or _is_only_name(spelt[0])
    if key_type == PERSON:
        initials = [found[0].strip() for found in _INITIALS.finditer(text, start, run.end()) if not _in(found, words)]
        yield _Found(start, _end(run), (*initials, *_nominative(spelt)), PERSON, is_sure=is_sure or bool(initials))
    elif key_type == PLACE or not all(map(_is_common, spelt)):
        yield _Found(words[0][0], words[-1][1], _nominative(spelt), key_type, is_sure=is_sure)


def _qualifies(words: Sequence[str], noun: str) -> bool:
    """Whether a single word is an adjective before a noun: `Никольской церкви`, `Чёрного мыса`."""
    if len(words) > 1 or not _ADJECTIVE.fullmatch(words[0].lower()):
        return False
    return any("NOUN" in parse.tag for parse in _parses(noun)[:1])


def _is_any(word: str, among: frozenset[str]) -> bool:
    return any(parse.normal_form in among for parse in _parses(word))


def _end(run: re.Match[str]) -> int:
    return run.start() + len(run[0].rstrip())


def _in(found: re.Match[str], words: Sequence[tuple[int, int]]) -> bool:
    return any(start <= found.start() < end for start, end in words)


def _type_of(words: Sequence[str], before: str) -> str:
    word = _WORD_BEFORE.search(before)
    is_place = word is not None and _is_any(word["word"], _PLACES)
    known = frozenset[str]().union(*map(_kinds, words))
    if not is_place and known.intersection(_PERSONAL):
        return PERSON
    return PLACE if is_place or known.intersection(_OF_PLACES) else ENTITY


def _by_surname(found: Sequence[_Found]) -> dict[str, _Found]:
    """Surname without its case ending → the one person with it who also has a first name."""
    persons: defaultdict[str, dict[str, _Found]] = defaultdict(dict)
    for one in found:
        if one.key_type == PERSON and len(one.words) > 1:
            for word in filter(_is_surname, one.words):
                persons[without_cases(fold(word))].setdefault(one.folded, one)
    return {surname: next(iter(each.values())) for surname, each in persons.items() if len(each) == 1}


def _is_surname(word: str) -> bool:
    personal = [parse for parse in _parses(word) if any(kind in parse.tag for kind in _PERSONAL)]
    return bool(personal) and "Surn" in max(personal, key=lambda parse: parse.score).tag


def _kinds(word: str) -> frozenset[str]:
    """What a name may be by the dictionary: the tags of its likely readings."""
    return frozenset(
        kind
        for parse in _parses(word)
        if parse.score >= _LEAST_SCORE
        for kind in (*_PERSONAL, *_OF_PLACES)
        if kind in parse.tag
    )


def _is_only_name(word: str) -> bool:
    likely = [parse for parse in _parses(word) if parse.score >= _LEAST_SCORE]
    return all(any(kind in parse.tag for kind in (*_PERSONAL, *_OF_PLACES)) for parse in likely)


def _is_common(word: str) -> bool:
    """Whether the dictionary has a word and as no name: contracts write `Договор` and `Заказчик` with a capital."""
    parse = _parses(word)[0]
    return bool(parse.is_known) and not any(kind in parse.tag for kind in (*_PERSONAL, *_OF_PLACES))


def _nominative(words: Sequence[str]) -> tuple[str, ...]:
    """The words in the nominative, read in the one case and gender that suits all of them best; else as they stand."""
    best: tuple[float, list[Any]] = (0.0, [])
    for case in _CASES:
        for gender in _GENDERS:
            read = [_reading(word, case, gender) for word in words]
            score = sum(parse.score for parse in read if parse)
            if all(read) and score > best[0] + 1e-9:
                best = (score, read)
    if not best[1]:
        return tuple(words)
    return tuple(_as_spelt(parse, word) for parse, word in zip(best[1], words, strict=True))


def _reading(word: str, case: str, gender: str) -> Any:  # noqa: ANN401  a reading of the dictionary
    """The likeliest reading of a word in a case and gender, names before others."""
    fitting = [
        parse
        for parse in _parses(word)
        if case in parse.tag and "sing" in parse.tag and (gender in parse.tag or "ms-f" in parse.tag)
    ]
    return max(fitting, key=lambda parse: (any(k in parse.tag for k in _PERSONAL), parse.score), default=None)


def _as_spelt(parse: Any, word: str) -> str:  # noqa: ANN401  a reading of the dictionary
    form = parse.inflect({"nomn", "sing"})
    if form is None:
        return word
    return "-".join(part[:1].upper() + part[1:] for part in form.word.split("-"))


@lru_cache(maxsize=65_536)
def _parses(word: str) -> Sequence[Any]:
    return tuple(_analyzer().parse(word))


@cache
def _analyzer() -> "MorphAnalyzer":
    import pymorphy3  # noqa: PLC0415  Russian texts alone need it

    return pymorphy3.MorphAnalyzer(lang="ru")
