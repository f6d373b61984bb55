"""Find names in Chinese text: persons by surname and context, places by suffix, quoted and Latin names."""

import re
from collections import Counter
from collections.abc import Iterator

import rjieba

from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE, PRODUCT, WORK, name_type
from sag_pipeline.extract.rules.organisations_zh import (
    FUNCTION,
    FUNCTION_UNLESS,
    HAN,
    either,
    name_start,
    organisations,
    short_names,
    without_prepositions,
)
from sag_pipeline.extract.rules.words import read_words
from sag_retrieval.language.mentions import Mention

_WORDS = read_words("zh")

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_SHORTEST_PLACE = 3
_LONGEST_PLACE = 5


_SURNAME = f"(?:{either(_WORDS['DOUBLE_SURNAMES'])}|[{''.join(sorted(_WORDS['SURNAMES']))}])"
_NEVER_GIVEN = (
    "的了在与或由被对向从是把给到等该此这那并后前但每均已曾也都就还只再更最很不未无有使让们个位"
    "元月日时者所我你他她它说问答将为及"
)
_GIVEN_CHARACTER = f"(?![{_NEVER_GIVEN}和])[{HAN}]"
_GIVEN = f"(?:某某?|{_GIVEN_CHARACTER}(?:(?![{_NEVER_GIVEN}])[{HAN}])?)"
"""One or two characters, two if what follows allows both; `和` may be the second."""
_ROLE = f"(?:{either(_WORDS['ROLES'])}|[{HAN}][员长师生])"
_NEVER_MASKED = re.compile(rf"[{_NEVER_GIVEN}{FUNCTION}和因到去找系有另]")
_AFTER_SURE = either([*(word for word in _WORDS["AFTER_NAME"] if len(word) > 1), "说", "任", "称"])
_AFTER_ANY = either(_WORDS["AFTER_NAME"])
_CANDIDATE = re.compile(
    rf"(?=(?P<name>{_SURNAME}{_GIVEN})(?P<after>{_AFTER_SURE}|[于在]\d)?(?:{_AFTER_ANY}|[^{HAN}]|$))"
)
_ROLE_BEFORE = re.compile(rf"(?:{_ROLE})(?:[：:]\s?|[是为由])?\Z")
_LABEL_BEFORE = re.compile(rf"[{HAN}][：:]\s?\Z")
_BORDER_BEFORE = frozenset("由和与及对向从让被把")
_LONGEST_ROLE = 8
_ANY_SURNAME = (
    f"(?:{either(_WORDS['DOUBLE_SURNAMES'])}|[{''.join(sorted(_WORDS['SURNAMES'] | _WORDS['RARE_SURNAMES']))}])"
)
_MASKED = re.compile(rf"(?P<name>{_ANY_SURNAME}某某?)")
_MASKED_ANY = re.compile(rf"(?P<first>[{HAN}])某某?(?![些个种一方地年时处人月日天次类])")
"""Behind any character: a surname that no list has, if the text shows it at a border and again."""
_BESIDE = re.compile(rf"(?<=[a-z])\s?[（(]?(?P<name>{_SURNAME}{_GIVEN})(?=[）)]|\s*[|,，、;；：:\n]|\s*$)")
_FOREIGN = re.compile(rf"(?P<name>[{HAN}]{{1,6}}(?:[·・][{HAN}]{{1,8}}?){{1,3}})(?=[^{HAN}·・]|{_AFTER_ANY}|$)")

_PLACE = re.compile(rf"(?:{either(_WORDS['PLACE_SUFFIXES'])})")
_NOT_AFTER_PLACE = frozenset("场长民委级值面内外里上下口线")
_NOT_IN_PLACE = re.compile(
    rf"[^{HAN}]|[{FUNCTION}]|{FUNCTION_UNLESS}|住(?!建|房)|[省市县州区镇会着过得能可要]|{either(_WORDS['KNOWN_PLACES'])}"
)
_KNOWN_PLACE = re.compile(either(_WORDS["KNOWN_PLACES"]))
_WORK = re.compile(r"《(?P<name>[^《》\n]{1,40})》")
_QUOTED = re.compile(r"[“「『\"](?P<name>[^“”「」『』\"，。！？；、：\n]{2,20})[”」』\"]")
_LATIN = re.compile(
    r"(?<![A-Za-zÀ-ɏ0-9_@/.-])(?:[A-ZÀ-Þ]|(?=[a-z0-9+-]{2,24}(?![A-Za-zÀ-ɏ]))[a-z]{1,20}\d|\d{1,9}[A-Za-z])"
    r"[A-Za-zÀ-ɏ0-9&+.'’/-]*(?: [A-ZÀ-Þ][A-Za-zÀ-ɏ0-9&+.'-]*| \d[\d.]*(?![\d%,]))*"
)
_NEXT_TO_HAN = re.compile(rf"[{HAN}，。；：、！？（）《》“”【】]\s?|\s?[{HAN}，。；：、！？（）《》“”【】]")
_NUMBERED = re.compile(
    rf"(?:(?<![{HAN}])|(?<=[{FUNCTION}年月日]))(?:(?![{FUNCTION}年月日])[{HAN}]){{2,3}}"
    r"[一二三四五六七八九十]{1,2}号(?!线|楼|院|街|路|公路|令|文)"
)
"""A product with a name and a number behind a border: 风云三号."""
_MEASURE = re.compile(
    r"[\d.]++(?:\s[x×]?[\d.]*+|[x×][\d.]*+)?\s?(?:[a-zµ°]{1,3}|[A-Z]|mmHg|MMBtu|MB|GB|TB|kHz|MHz|GHz|kW|MW|GW|kWh|MWh|GWh|mAh)"
    r"|[\d.]*+[a-zA-Zµ]{0,4}/[a-zA-Z\d]{1,3}|\d++\.\s.*|[\d/]++mmHg"
)
_GOES_ON_LATIN = re.compile(r"\s[a-z]")
_SHORT_QUOTE = 2
"""A quoted name of so few characters needs a noun before it (台风“海燕”) or 是 behind it."""
_NAMED_BEFORE = re.compile(rf"(?![如的是为和与或及])[{HAN}]\Z")
_SELF = re.compile("[本贵该](?:公司|集团|企业|机构|单位|[院行所校厂店社会局部])")
_SAID_BEFORE = re.compile(r"(?:说|道|问|答|(?<![简全名俗又])称|：|:)\s*\Z")


def chinese_names(text: str) -> Iterator[Mention]:
    """Mentions of names in Chinese text, in no order, overlapping ones included."""
    yield from _persons(text)
    firms = list(without_prepositions(organisations(text)))
    yield from firms
    yield from short_names(text, (str(firm.value) for firm in firms))
    yield from _places(text)
    yield from _marked(text)


def _persons(text: str) -> Iterator[Mention]:
    for found in _CANDIDATE.finditer(text):
        if _is_led(text, found) and _is_person(found["name"]):
            yield Mention(found.start("name"), found.end("name"), PERSON, found["name"])
    yield from _masked(text)
    for pattern in (_MASKED, _FOREIGN, _BESIDE):
        for found in pattern.finditer(text):
            name = found["name"].lstrip("和与由及对")
            if _is_person(name):
                yield Mention(found.end("name") - len(name), found.end("name"), PERSON, name)


def _masked(text: str) -> Iterator[Mention]:
    """Persons whose name is masked behind a rare surname: 水某, twice in a text and once with no Chinese before it."""
    found = [mark for mark in _MASKED_ANY.finditer(text) if not _NEVER_MASKED.match(mark["first"])]
    uses = Counter(mark["first"] for mark in found)
    at_border = {mark["first"] for mark in found if not _HAN_CHARACTER.match(text[mark.start() - 1 : mark.start()])}
    for mark in found:
        if uses[mark["first"]] > 1 and mark["first"] in at_border:
            yield Mention(mark.start(), mark.end(), PERSON, mark[0])


def _is_led(text: str, found: re.Match[str]) -> bool:
    """Whether the context of a candidate shows a person."""
    start, end = found.start("name"), found.end("name")
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before in _BORDER_BEFORE and rjieba.has_word(before + text[start]):
        return False  # 由于, 对方: no border
    if text[start] == "于" and _HAN_CHARACTER.match(before) and rjieba.has_word(found["name"][1:]):
        return False  # 生长于海拔: a preposition before a word
    if found["after"] and (before in _BORDER_BEFORE or not _HAN_CHARACTER.match(before)):
        return True
    head = text[max(0, start - _LONGEST_ROLE) : start]
    if _ROLE_BEFORE.search(head):
        return True
    return bool(_LABEL_BEFORE.search(head)) and not _HAN_CHARACTER.match(after)


def _is_person(name: str) -> bool:
    if "某" in name:
        return name.endswith("某")
    if name in _WORDS["COMMON"] or name[:2] in _WORDS["COMMON"] or name[1:] in _WORDS["COMMON"]:
        return False
    return name not in _WORDS["KNOWN_PLACES"]


def _places(text: str) -> Iterator[Mention]:
    for found in _KNOWN_PLACE.finditer(text):
        yield Mention(found.start(), found.end(), PLACE, found[0])
    for suffix in _PLACE.finditer(text):
        start = name_start(text, suffix.start(), _LONGEST_PLACE, _NOT_IN_PLACE)
        name = text[start : suffix.end()]
        is_place = start < suffix.start() and name not in _WORDS["NOT_PLACES"]
        if len(suffix[0]) == 1:
            is_place = is_place and name[-2:] not in _WORDS["NOT_PLACES"]
            is_place = is_place and text[suffix.end() : suffix.end() + 1] not in _NOT_AFTER_PLACE
        if len(name) >= _SHORTEST_PLACE and is_place and suffix.start() - start < _LONGEST_PLACE:
            yield Mention(start, suffix.end(), PLACE, name)


def _marked(text: str) -> Iterator[Mention]:
    for found in _WORK.finditer(text):
        yield Mention(found.start("name"), found.end("name"), WORK, found["name"])
    for found in _QUOTED.finditer(text):
        if _is_quoted_name(text, found):
            yield Mention(found.start("name"), found.end("name"), _type_of_quoted(found["name"]), found["name"])
    for found in _NUMBERED.finditer(text):
        yield Mention(*found.span(), PRODUCT, found[0])
    yield from _latin(text)


def _is_quoted_name(text: str, found: re.Match[str]) -> bool:
    name, before = found["name"], text[max(0, found.start() - 3) : found.start()]
    if name in _WORDS["NOT_QUOTED"] or _SELF.fullmatch(name) or _SAID_BEFORE.search(before):
        return False
    return len(name) > _SHORT_QUOTE or bool(_NAMED_BEFORE.search(before)) or text.startswith("是", found.end())


def _type_of_quoted(name: str) -> str:
    """An organisation where the dictionary has one at its end."""
    *_, (_, tag) = rjieba.tag(name, hmm=False)
    return ORGANISATION if tag == "nt" else ENTITY


def _latin(text: str) -> Iterator[Mention]:
    for found in _LATIN.finditer(text):
        name = found[0].rstrip(".'’-/&+")
        around = (max(0, found.start() - 2), found.start()), (found.end(), found.end() + 2)
        if not any(_NEXT_TO_HAN.search(text, *span) for span in around):
            continue  # Latin text of its own is read by its own rules
        if len(name) > 1 and _is_latin_name(name) and not _GOES_ON_LATIN.match(text, found.end()):
            yield Mention(found.start(), found.start() + len(name), name_type(name), name)


def _is_latin_name(name: str) -> bool:
    if _MEASURE.fullmatch(name):
        return False
    return any(map(str.isupper, name)) or (any(map(str.isalpha, name)) and any(map(str.isdigit, name)))
