"""Find every mention of a name in a text, one type and one full form for each, and the aliases a text states."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from sag_pipeline.extract.places import Places
from sag_pipeline.extract.rules.lines import turns_of
from sag_pipeline.extract.rules.name_types import (
    ENTITY,
    ORGANISATION,
    PERSON,
    PLACE,
    PRODUCT,
    WORK,
    has_legal_form,
    may_be_person,
    name_type,
)
from sag_pipeline.extract.rules.names_ja import japanese_firms, japanese_names
from sag_pipeline.extract.rules.names_latin import latin_names
from sag_pipeline.extract.rules.names_ru import russian_names
from sag_pipeline.extract.rules.names_zh import chinese_names
from sag_retrieval.language.data import patterns, source_of_all
from sag_retrieval.language.layout import Line, LineKind, logical_lines
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.sentences import one_line, spans_of
from sag_retrieval.language.words import is_cjk

_LEAST_SHARE = 0.1
"""Of the names of a column, whose type must be known."""


def speakers(text: str, lines: Sequence[Line]) -> Iterator[Mention]:
    """Who speaks in a conversation, at every turn."""
    for turn in turns_of(text, lines).values():
        key_type = name_type(turn.speaker)
        yield Mention(turn.start, turn.end, PERSON if key_type in (ENTITY, PLACE) else key_type, turn.speaker)


def with_types_of_neighbours(text: str, lines: Sequence[Line], found: Sequence[Mention]) -> list[Mention]:
    """The same mentions; names of open type have the type of their table's column, or of the place before a comma."""
    mentions = sorted(found, key=lambda mention: (mention.start, -mention.end))
    types = _types_of_columns(text, lines, mentions)
    for row, (before, after) in enumerate(pairwise(mentions), start=1):
        if before.key_type == PLACE and after.key_type == ENTITY and text[before.end : after.start] == ", ":
            types.setdefault(row, PLACE)
    return [
        mention._replace(key_type=types[row]) if row in types and _may_be(types[row], mention) else mention
        for row, mention in enumerate(mentions)
    ]


def _may_be(key_type: str, mention: Mention) -> bool:
    name = str(mention.value)
    if mention.key_type != ENTITY or not name.replace(" ", "").replace("-", "").replace("'", "").isalpha():
        return False
    return may_be_person(name) if key_type == PERSON else not name.isupper()


def _types_of_columns(text: str, lines: Sequence[Line], mentions: Sequence[Mention]) -> dict[int, str]:
    """Row of a mention that fills its cell → the one type that is known in its column, if enough of it is."""
    starts = [mention.start for mention in mentions]
    columns: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    table = 0
    for line in lines:
        if line.kind is not LineKind.ROW:
            table += line.kind is not LineKind.RULE
            continue
        borders = [found.start() for found in patterns("all")["cell_border"].finditer(text, line.start, line.end)]
        for row in range(bisect_left(starts, line.start), bisect_left(starts, line.end)):
            if _fills_cell(text, line, borders, mentions[row]):
                columns[table, bisect_right(borders, mentions[row].start)].append(row)
    found: dict[int, str] = {}
    for rows in columns.values():
        known = Counter(mentions[row].key_type for row in rows)
        typed = {key_type for key_type in known if key_type != ENTITY}
        if len(typed) == 1 and (key_type := typed.pop()) in (PERSON, PLACE, ORGANISATION):
            found |= dict.fromkeys(rows, key_type) if known[key_type] >= _LEAST_SHARE * len(rows) else {}
    return found


def _fills_cell(text: str, line: Line, borders: Sequence[int], mention: Mention) -> bool:
    """Whether nothing but a label stands in the cell beside a name."""
    place = bisect_right(borders, mention.start)
    first = borders[place - 1] + 1 if place else line.start
    last = borders[place] if place < len(borders) else line.end
    before, after = text[first : mention.start], text[mention.end : last]
    return not after.strip() and (not before.strip() or bool(patterns("all")["label_of_cell"].match(before)))


_LAST_LATIN = "\u024f"
_BY_STRENGTH = (PERSON, ORGANISATION, WORK, PLACE, PRODUCT, ENTITY)
_SAME_NAME = {
    "U.S": "United States",
    "U.S.A": "United States",
    "US": "United States",
    "USA": "United States",
    "U.K": "United Kingdom",
    "UK": "United Kingdom",
}

_CALLED = source_of_all("called")
_MARKS = "[“「\"']?"
_OPENS = re.compile(
    rf"\s?[（(]\s?(?:(?P<said>{_CALLED})\s?[:：]?|(?:{source_of_all('language_named')})[:：]|(?P<born>{source_of_all('born')}))?"
    rf"\s?{_MARKS}"
)
_BORN = re.compile(
    rf"\s?(?:[（(]\s?(?:{source_of_all('born')})|,\s(?:{source_of_all('born_named')}))\s(?P<name>[^\W\d_a-z][\w'’-]+)(?=\s?[)）,.;])"
)
"""A name of birth behind a person's, alone: (née Lindqvist)."""
_KNOWN = re.compile(
    rf"\s?(?:[（(][^()（）]{{0,80}}[)）]\s?)?[,，]?\s?(?:{_CALLED}|{source_of_all('known_as')})\s?{_MARKS}"
)
"""Another name behind a name, in a clause of its own."""
_ARTICLE = f"(?:(?:{source_of_all('defined_as')})\\s)?"
_DEFINED = re.compile(
    rf"\s?[（(]\s?(?:{_CALLED})?\s?[:：]?\s?(?P<article>{_ARTICLE})[“「\"]{_ARTICLE}(?P<term>\w[^“”「」\"()（）]{{0,28}}\w)[”」\"]\s?[)）]"
)
"""A term in quotes that a document uses for the name before it: (以下简称“甲方”), (the “Client”)."""
_SAYS = patterns("all")
ALIASED = frozenset(("person", "organisation", "place", "product", "work", "entity"))


class NameIndex:
    """Finds names as they are spelt, the longest at each place; Latin ones only as whole words. Linear in the text."""

    def __init__(self, names: Mapping[str, tuple[str, str]]) -> None:
        """Index surface → (key type, value)."""
        self._names = names
        self._places = Places(names)

    def mentions(self, text: str) -> Iterator[Mention]:
        """Mentions in the text in order, the longest at each place; they may overlap."""
        longest: dict[int, str] = {}
        for start, name in self._places.within(text):
            if len(name) > len(longest.get(start, "")) and _is_whole(text, start, start + len(name)):
                longest[start] = name
        for start, name in longest.items():
            yield Mention(start, start + len(name), *self._names[name])


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word of Latin letters goes on at an end of a name."""
    pairs = (text[max(0, start - 1) : start + 1], text[end - 1 : end + 1])
    return not any(len(pair) == 2 and pair.isalnum() and max(pair) <= _LAST_LATIN for pair in pairs)  # noqa: PLR2004


def longest_only(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions in order without those that overlap a longer one; of equals the first stays."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


def outside(mentions: Iterable[Mention], others: Iterable[Mention]) -> list[Mention]:
    """Mentions that overlap none of the others."""
    taken = longest_only(others)
    kept = []
    row = 0
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        while row < len(taken) and taken[row].end <= mention.start:
            row += 1
        if row == len(taken) or taken[row].start >= mention.end:
            kept.append(mention)
    return kept


def names(text: str, found: Sequence[Mention]) -> tuple[list[Mention], NameIndex]:
    """Every mention of a name, in order, the longest at each place; and the index of these names for other texts.

    A name found once counts wherever it is spelt so, unless the text has it in another case than it is shown in. One
    name has one type, the strongest that any place gives it.
    A term that the text defines for a name stands for it there: it may be another's in the next contract.
    A single word that ends or begins exactly one full name of a person in the text speaks of that person; one that
    begins exactly one name of an organisation, of that organisation.
    """
    plain = [one for one in found if one_line(text[one.start : one.end]) == one.value]
    inflected = [one for one in found if one_line(text[one.start : one.end]) != one.value]
    forms = _forms([*plain, *_named_at_birth(text, plain)])
    forms |= _terms(text, plain, forms)
    index = NameIndex(forms)
    formed = [Mention(one.start, one.end, *forms[str(one.value)]) for one in plain]
    return longest_only([*formed, *index.mentions(text), *inflected]), index


def named_by_rules(text: str, language: str) -> list[Mention]:
    """The names that rules find in a document: by form, by context, by who speaks and by the columns of tables.

    Source: docs/algorithm.md §extraction.6.
    """
    lines = logical_lines(text)
    starts = [start for start, _ in spans_of(text, lines)]
    found = with_types_of_neighbours(text, lines, [*_found(text, starts, language), *speakers(text, lines)])
    return [*found, *(russian_names(text, starts) if language == "ru" else ())]


def _found(text: str, starts: Sequence[int], language: str) -> Iterable[Mention]:
    if is_cjk(text):
        yield from japanese_firms(text)
        if language == "ja":
            yield from japanese_names(text)
        elif language != "ko":
            yield from chinese_names(text)
    for name in latin_names(text, starts, language):
        yield Mention(name.start, name.end, name.key_type, name.text)


def _forms(found: Sequence[Mention]) -> dict[str, tuple[str, str]]:
    """Surface → (type, value); of what is said of firms alone, a firm: persons and firms both say and sign."""
    strength = {key_type: rank for rank, key_type in enumerate(_BY_STRENGTH)}
    types: dict[str, str] = {}
    for mention in found:
        surface = str(mention.value)
        known = types.get(surface, mention.key_type)
        types[surface] = min(known, mention.key_type, key=lambda kind: strength.get(kind, len(strength)))
    firms = {str(mention.value) for mention in found if mention.key_type == ORGANISATION}
    types |= {name: ORGANISATION for name in firms if " " in name and name_type(name) == ENTITY}
    wholes = _wholes(types)
    forms = {}
    for surface, key_type in types.items():
        whole = wholes.get(surface, ())
        if len(whole) == 1 and key_type in (ENTITY, types[whole[0]]):
            forms[surface] = (types[whole[0]], whole[0])
        elif surface in _SAME_NAME:
            forms[surface] = (PLACE, _SAME_NAME[surface])
        else:
            forms[surface] = (key_type, surface)
    return forms


def _named_at_birth(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    """Of `Greta Moller (née Lindqvist)` both names of the person, and what is left of the second."""
    places = {str(one.value) for one in found if one.key_type == PLACE}
    for one in found:
        given, _, last = str(one.value).rpartition(" ")
        born = _BORN.match(text, one.end) if last and one.key_type in (PERSON, ENTITY) else None
        if given and born and born["name"] not in places:
            yield Mention(one.start, one.end, PERSON, one.value)
            yield Mention(*born.span("name"), PERSON, f"{given} {born['name']}")
            yield Mention(*born.span("name"), PERSON, born["name"])


def _terms(text: str, found: Sequence[Mention], forms: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Term → (type, value) of the name that it is defined for; with an article, also of one that looks like a name."""
    defined = ((_DEFINED.match(text, one.end), str(one.value)) for one in found if one.key_type in ALIASED)
    terms = {each["term"]: (each, name) for each, name in defined if each and not each["term"].islower()}
    return {term: forms[name] for term, (each, name) in terms.items() if each["article"] or term not in forms}


def _wholes(types: Mapping[str, str]) -> dict[str, list[str]]:
    """Single word → the full names that it may stand for.

    A person's begin or end with it, those of an organisation begin with it; a place is not the road that is
    named after it, and initials are a name of their own: `GNU` is not the GNU Press.
    """
    wholes: dict[str, list[str]] = defaultdict(list)
    for name, key_type in sorted(types.items()):
        words = name.split()
        if len(words) < 2:  # noqa: PLR2004  a single word, or the blank between two marks
            continue
        parts = {words[0], words[-1]} if key_type == PERSON else set[str]()
        is_initials = words[0].isupper() and len(words[0]) > 1 and not has_legal_form(words[-1])
        if key_type == ORGANISATION and not is_initials:
            parts = {words[0].rstrip(",")}
        for part in parts:
            wholes[part].append(name)
    return wholes


def aliases(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """Rows (alias, name) of mentions, in order, where the text states that both are names of one entity.

    Said by words (`以下简称`, `also known as`) behind a comma or in brackets behind the name, then for all names in the
    brackets; or by brackets that begin with a name in the other script, or hold initials alone; or by a person's name
    in both scripts, side by side.
    """
    named = [row for row, mention in enumerate(mentions) if mention.key_type in ALIASED]
    name: int | None = None
    is_said = False
    for before, row in pairwise(named):
        one, other = mentions[before], mentions[row]
        between = text[one.end : other.start]
        opened = _OPENS.fullmatch(between)
        if _is_born(text, one, other):
            name, is_said = None, False
            yield row, before
        elif opened:
            name, is_said = before, bool(opened["said"])
            if is_said or (not opened["born"] and _is_other_form(text, one, other)):
                yield row, name
        elif _KNOWN.fullmatch(between) and (one.key_type == other.key_type or ENTITY in (one.key_type, other.key_type)):
            name, is_said = None, False
            yield row, before
        elif name is not None and is_said and _SAYS["other_name_goes_on"].fullmatch(between):
            yield row, name
        else:
            name = None
            if between == " " and one.key_type == other.key_type == "person" and _differ(one, other):
                yield row, before


def _is_born(text: str, one: Mention, other: Mention) -> bool:
    """Whether two names are those of a person, the second by birth: alone, or whole in brackets."""
    between = text[one.end : other.start]
    alone, whole = _BORN.match(text, one.end), _OPENS.fullmatch(between)
    is_said = bool(alone and alone.start("name") == other.start) or bool(whole and whole["born"])
    return is_said and one.key_type == other.key_type == PERSON


def _is_other_form(text: str, one: Mention, other: Mention) -> bool:
    ends = _SAYS["other_name_ends"].match(text, other.end)
    if not ends or not (_differ(one, other) or ends["mark"] in "）)"):
        return False
    if one.key_type != other.key_type and "entity" not in (one.key_type, other.key_type):
        return False
    initials = "".join(word[0] for word in str(one.value).split() if word[0].isupper())
    return _differ(one, other) or (len(initials) > 1 and str(other.value) == initials)


def _differ(one: Mention, other: Mention) -> bool:
    return is_cjk(str(one.value)) != is_cjk(str(other.value))
