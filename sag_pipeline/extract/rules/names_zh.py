"""Find names in Chinese text: persons by surname and context, firms and places by their last words, quoted names."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import rjieba

from sag_pipeline.extract.places import Places
from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE, PRODUCT, WORK, name_type
from sag_retrieval.language.data import patterns, word_lists
from sag_retrieval.language.mentions import Mention

_WORDS, _SAYS = word_lists("zh"), patterns("zh")
_BORDERS = "".join(sorted(_WORDS["BORDERS"]))
_SHORTEST_ORGANISATION = 4
_SHORTEST_SHORT_NAME = 3
_LONGEST_ORGANISATION = 24
_SHORTEST_PLACE = 3
_LONGEST_PLACE = 5
_LONGEST_ROLE = 8
_SHORT_QUOTE = 2
"""A quoted name of so few characters needs a noun before it (台风“海燕”) or 是 behind it."""
_SHORTEST_PERSON, _LONGEST_PERSON = 2, 4
_PERSON_TAG = "nr"
_COMMON_TAGS, _BEFORE_OBJECT = ("n", "v"), ("v", "ul")
_NEVER_GIVEN = frozenset("pcutvdmqrf")
"""First letters of the parts of speech of a word that goes on behind a name."""
_PROPER_NOUNS = ("nz", "nt", "nr", "ns")
_DESCRIBING = frozenset({"v", "vn", "a", "ad", "b", "d"})
_LISTING = frozenset("、和与")
_NO_WORD = ("", "")
_GRAMMAR = frozenset("pcut")
"""First letters of the parts of speech that are in no name: prepositions, conjunctions, particles, times."""


def chinese_names(text: str) -> Iterator[Mention]:
    """Mentions of names in Chinese text, in no order, overlapping ones included."""
    firms = list(_organisations(text))
    known = {str(firm.value) for firm in firms}
    found = [_without_preposition(text, firm, known) for firm in firms]
    found += [*_persons(text), *_short_names(text, known), *_places(text), *_marked(text)]
    yield from found
    taken = {place for mention in found for place in range(mention.start, mention.end)}
    yield from (one for one in _tagged_persons(text) if taken.isdisjoint(range(one.start, one.end)))


def _without_preposition(text: str, firm: Mention, known: AbstractSet[str]) -> Mention:
    """The same without a preposition before a known name, or behind another: 向 of 关于向海…公司."""
    name = str(firm.value)
    is_led = name[0] in _WORDS["PREPOSITIONS"] and (name[1:] in known or text.endswith("于", 0, firm.start))
    return Mention(firm.start + 1, firm.end, ORGANISATION, name[1:]) if is_led else firm


def _organisations(text: str) -> Iterator[Mention]:
    """Organisations by their last words: 公司, 大学, 医院 and others of the list."""
    for suffix in _SAYS["organisation_ends"].finditer(text):
        start = _organisation_start(text, suffix)
        while start < suffix.start() and text[start] in "（）()·":
            start += 1
        name = text[start : suffix.end()]
        is_own = bool(_SAYS["own_before"].search(text, max(0, start - 1), start) or _SAYS["masked"].match(name))
        if len(name) < _SHORTEST_ORGANISATION or start >= suffix.start() or is_own:
            continue
        if _is_one(name) and not _is_described(text[start : suffix.start()]):
            yield Mention(start, suffix.end(), ORGANISATION, name)


def _organisation_start(text: str, suffix: re.Match[str]) -> int:
    """Where an organisation's name begins: behind the last character of grammar or verb before its last words.

    A character of grammar in a proper noun of the dictionary breaks nothing: 为 of 华为; before a legal form, in any
    word that is none of grammar: 日 of 向日葵. There a verb with nothing but an industry behind it is part of the name:
    顺丰控股有限公司.
    """
    is_limited = suffix[0].endswith("有限公司")
    first = max(0, suffix.start() - _LONGEST_ORGANISATION)
    for stop in _SAYS["not_in_firm"].finditer(text, first, suffix.start()):
        first = stop.end()
    start = place = first
    for word, tag in rjieba.tag(text[first : suffix.end()], hmm=True):
        is_kept = tag[:2] in _PROPER_NOUNS or (is_limited and tag[:1] not in _GRAMMAR)
        is_kept = is_kept and len(word) > 1 and rjieba.has_word(word)
        for stop in () if is_kept else _SAYS["function"].finditer(text, place, min(place + len(word), suffix.start())):
            start = stop.end()
        place += len(word)
    for verb in _SAYS["leading_verb"].finditer(text, start, suffix.start()):
        if not (is_limited and _is_industries(text[verb.end() : suffix.start()])):
            start = verb.end()
    return start


def _is_one(name: str) -> bool:
    """Whether a name tells one organisation from others, and is no clause: not 科技公司, 事件表明公司."""
    if name in _WORDS["GENERIC_ORGANISATIONS"] or name.count("（") != name.count("）"):
        return False
    firm = _SAYS["kind_of_firm"].fullmatch(name)
    if firm is None or _is_industries(firm["body"]):
        return firm is None
    word, tag = (rjieba.tag(firm["body"], hmm=False) or [_NO_WORD])[-1]
    return tag != "v" or len(word) == 1 or _is_industries(word)


def _is_described(body: str) -> bool:
    """Whether what stands before a kind of institution is a verb or adjective alone: 废弃工厂."""
    words = rjieba.tag(body, hmm=False)
    return len(words) == 1 and words[0][1] in _DESCRIBING and len(body) > 1


def _is_industries(text: str) -> bool:
    """Whether a text is nothing but names of industries in a row."""
    return bool(_SAYS["industries"].fullmatch(text))


def _short_names(text: str, firms: Iterable[str]) -> Iterator[Mention]:
    """Names of firms without their legal form, where the text uses them."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for firm in sorted(set(firms)):
        legal = _SAYS["legal_form_ends"].fullmatch(firm)
        if legal and len(legal["body"]) >= _SHORTEST_SHORT_NAME and not _is_industries(legal["body"]):
            wanted[legal["body"]].append(firm)
    for at, short in Places(wanted).within(text):
        if not any(text.startswith(firm, at) for firm in wanted[short]):
            yield Mention(at, at + len(short), ORGANISATION, short)


def _persons(text: str) -> Iterator[Mention]:
    for found in _SAYS["person"].finditer(text):
        if _is_led(text, found) and _is_person(found["name"]):
            yield Mention(*found.span("name"), PERSON, found["name"])
    for pattern in ("masked_person", "foreign_person", "person_beside_latin"):
        for found in _SAYS[pattern].finditer(text):
            group = found.lastgroup or "name"
            name = found[group].lstrip(_BORDERS)
            if _is_person(name):
                yield Mention(found.end(group) - len(name), found.end(group), PERSON, name)


def _tagged_persons(text: str) -> Iterator[Mention]:
    """Surnames with given names that fill whole words, of which the tagger takes one for a person's name.

    They open a clause or stand behind a verb, a role, a preposition or a conjunction, or are one word between words of
    the dictionary: elsewhere it finds pieces of foreign words. Of two characters they are words too often, but where
    two stand side by side in a list.
    """
    words: dict[int, tuple[int, str]] = {}
    opens: list[int] = []
    may_open, place = True, 0
    tagged = rjieba.tag(text, hmm=True)
    for last, (word, tag), following in zip([_NO_WORD, *tagged], tagged, [*tagged[1:], _NO_WORD], strict=False):
        is_led = len(word) > _SHORTEST_PERSON and word[0] in _WORDS["BORDERS"]
        is_new = tag == _PERSON_TAG and len(word) > _SHORTEST_PERSON and not rjieba.has_word(word)
        is_between = is_new and _is_plain(*last) and _is_plain(*following)
        start, place = place + is_led, place + len(word)
        words[start] = place, tag
        if may_open or is_led or is_between or _SAYS["role_before"].search(text, max(0, start - _LONGEST_ROLE), start):
            opens.append(start)
        may_open = tag in _BEFORE_OBJECT or word in _WORDS["BORDERS"] or not _SAYS["chinese"].match(word)
    named = {start: name for start in opens if (name := _tagged_person(text, start, words)) and _is_person(name)}
    ends = {start + len(name) for start, name in named.items()}
    for start, name in named.items():
        end = start + len(name)
        before, after = text[start - 1 : start], text[end : end + 1]
        is_listed = (before in _LISTING and start - 1 in ends) or (after in _LISTING and end + 1 in named)
        if (is_listed or len(name) > _SHORTEST_PERSON) and name[0] not in _WORDS["PREPOSITIONS"]:
            yield Mention(start, end, PERSON, name)


def _is_plain(word: str, tag: str) -> bool:
    """Whether a word is grammar, a longer one of the dictionary, or not Chinese, so that a name may stand beside it."""
    return tag[:1] in _NEVER_GIVEN or (len(word) > 1 and rjieba.has_word(word)) or not _SAYS["chinese"].match(word)


def _tagged_person(text: str, start: int, words: Mapping[int, tuple[int, str]]) -> str:
    """The longest full name that opens at a place and ends with a word; empty without one, or for 戴眼镜, a word."""
    name, end, is_tagged = "", start, False
    while end in words and words[end][0] - start <= _LONGEST_PERSON:
        end, tag = words[end]
        is_tagged = is_tagged or tag == _PERSON_TAG
        if is_tagged and _SAYS["full_name"].fullmatch(text, start, end) and (not name or tag[0] not in _NEVER_GIVEN):
            name = text[start:end]
    given = rjieba.tag(name[1:], hmm=False)
    return "" if len(given) == 1 and given[0][1] in _COMMON_TAGS else name


def _is_led(text: str, found: re.Match[str]) -> bool:
    """Whether the context of a candidate shows a person."""
    start, end = found.span("name")
    before = text[start - 1 : start] if start else ""
    is_inside = _SAYS["chinese"].match(before) is not None
    is_border = before in _WORDS["BORDERS"]
    if is_border and rjieba.has_word(before + text[start]):
        return False  # 由于, 对方: no border
    if is_inside and text[start] in _WORDS["PREPOSITIONS"] and rjieba.has_word(found["name"][1:]):
        return False  # 生长于海拔: a preposition before a word
    if found["after"] and (is_border or not is_inside):
        return True
    head = text[max(0, start - _LONGEST_ROLE) : start]
    if _SAYS["role_before"].search(head):
        return True
    return bool(_SAYS["label_before"].search(head)) and not _SAYS["chinese"].match(text, end)


def _is_person(name: str) -> bool:
    if masked := _SAYS["masked"].search(name):
        return masked.end() == len(name)
    return _WORDS["COMMON"].isdisjoint((name, name[:2], name[1:])) and name not in _WORDS["KNOWN_PLACES"]


def _places(text: str) -> Iterator[Mention]:
    for found in _SAYS["known_place"].finditer(text):
        yield Mention(*found.span(), PLACE, found[0])
    for suffix in _SAYS["place_ends"].finditer(text):
        start = _place_start(text, suffix.start())
        name = text[start : suffix.end()]
        is_place = start < suffix.start() and name not in _WORDS["NOT_PLACES"]
        if len(suffix[0]) == 1:
            is_place = is_place and name[-2:] not in _WORDS["NOT_PLACES"]
            is_place = is_place and not _SAYS["not_behind_place"].match(text, suffix.end())
        if len(name) >= _SHORTEST_PLACE and is_place and suffix.start() - start < _LONGEST_PLACE:
            yield Mention(start, suffix.end(), PLACE, name)


def _place_start(text: str, end: int) -> int:
    """Where a place's name that goes on at `end` begins: behind the last character or verb that is in no name."""
    start = max(0, end - _LONGEST_PLACE)
    for pattern in ("not_in_place", "leading_verb"):
        for stop in _SAYS[pattern].finditer(text, start, end):
            start = stop.end()
    return start


def _marked(text: str) -> Iterator[Mention]:
    for found in _SAYS["work"].finditer(text):
        yield Mention(*found.span("name"), WORK, found["name"])
    for found in _SAYS["quoted"].finditer(text):
        if _is_quoted_name(text, found):
            yield Mention(*found.span("name"), ENTITY, found["name"])
    for found in _SAYS["numbered_product"].finditer(text):
        yield Mention(*found.span(), PRODUCT, found[0])
    for found in _SAYS["latin"].finditer(text):
        name = found[0].rstrip(".'’-/&+")
        if len(name) > 1 and _is_latin_name(text, found, name):
            yield Mention(found.start(), found.start() + len(name), name_type(name), name)


def _is_quoted_name(text: str, found: re.Match[str]) -> bool:
    name, before = found["name"], text[max(0, found.start() - 3) : found.start()]
    if name in _WORDS["NOT_QUOTED"] or _SAYS["self"].fullmatch(name) or _SAYS["says_before"].search(before):
        return False
    return len(name) > _SHORT_QUOTE or bool(_SAYS["named_before"].search(before)) or text.startswith("是", found.end())


def _is_latin_name(text: str, found: re.Match[str], name: str) -> bool:
    """Whether a word in Latin letters beside Chinese is a name; Latin text of its own is read by its own rules."""
    around = (max(0, found.start() - 2), found.start()), (found.end(), found.end() + 2)
    if _SAYS["measure"].fullmatch(name) or not any(_SAYS["next_to_han"].search(text, *span) for span in around):
        return False
    behind = text[found.end() : found.end() + 2]
    if behind[:1].isspace() and behind[1:].isascii() and behind[1:].islower():
        return False
    return any(map(str.isupper, name)) or (any(map(str.isalpha, name)) and any(map(str.isdigit, name)))
