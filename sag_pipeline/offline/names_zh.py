"""Names in Chinese text: persons by surname and context, organisations and places by suffix, quoted and Latin names."""

import re
from collections.abc import Iterable, Iterator

from sag_pipeline.offline import words_zh as lists
from sag_pipeline.offline.mentions import Mention
from sag_pipeline.offline.names_en import ENTITY, ORGANISATION, PERSON, PLACE, PRODUCT, name_type

WORK = "work"

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_SHORTEST_ORGANISATION = 4
_SHORTEST_PLACE = 3
_LONGEST_ORGANISATION = 24


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_SURNAME = f"(?:{_either(lists.DOUBLE_SURNAMES)}|[{''.join(sorted(lists.SURNAMES))}])"
_GIVEN = f"(?:某某?|[{_HAN}]{{1,2}}?)"
_ROLE = _either(lists.ROLES)
_AFTER_SURE = _either(word for word in lists.AFTER_NAME if len(word) > 1)
_AFTER_ANY = _either(lists.AFTER_NAME)
_STOP = rf"(?=[^{_HAN}]|$)"
_LED = re.compile(rf"(?:{_ROLE})[：:]?\s?(?P<name>{_SURNAME}{_GIVEN})(?={_AFTER_ANY}|[^{_HAN}]|$)")
_FOLLOWED = re.compile(
    rf"(?:(?<=[^{_HAN}])|(?<=[由和与及对向从让被把，。：；、“])|(?<=^))(?P<name>{_SURNAME}{_GIVEN})(?:{_AFTER_SURE})"
)
_LISTED = re.compile(rf"(?<=[、和与及])(?P<name>{_SURNAME}[{_HAN}]{{1,2}}?)(?=[、，。；等]|和|与|及|$)")
_MASKED = re.compile(rf"(?<![{_HAN}])?(?P<name>{_SURNAME}某某?)")
_TITLED = re.compile(
    rf"(?P<name>{_SURNAME}(?:医生|律师|法官|教授|老师|先生|女士|警官|主任|工程师|博士|经理|院长))"
)

_FUNCTION = "".join(sorted(set(lists.FUNCTION_CHARACTERS)))
_ORGANISATION = re.compile(
    rf"(?P<name>[{_HAN}A-Za-z0-9·（）()]{{1,{_LONGEST_ORGANISATION}}}?(?:{_either(lists.ORGANISATION_SUFFIXES)}))"
    rf"(?!{_either(('法', '制', '化', '部门', '内', '级', '员', '人员'))})"
)
_LAST_FUNCTION = re.compile(rf"[{_FUNCTION}]")
_LEADING_VERB = re.compile(rf".*(?:{_either(lists.VERBS)})")
_PLACE = re.compile(
    rf"(?P<name>[{_HAN}]{{1,5}}?(?:{_either(lists.PLACE_SUFFIXES)}))(?!场|长|民|委|级|值|面|内|外|里|上|下|口|镇|线)"
)
_KNOWN_PLACE = re.compile(_either(lists.KNOWN_PLACES))
_WORK = re.compile(r"《(?P<name>[^《》\n]{1,40})》")
_QUOTED = re.compile(r"[“「『\"](?P<name>[^“”「」『』\"，。！？；、：\n]{2,20})[”」』\"]")
_LATIN = re.compile(
    r"(?<![A-Za-z0-9_@/.])[A-Za-z0-9][A-Za-z0-9&+.'’/-]*(?: [A-Z][A-Za-z0-9&+.'-]*| \d[\d.]*(?![\d%,]))*"
)
_NUMBERED = re.compile(
    rf"(?P<name>[{_HAN}]{{2,4}}?(?:[一二三四五六七八九十]{{1,3}}|\d{{1,3}})(?:号|型|代))(?!线|楼|院|街|路|令|文)"
)
_UNITS = frozenset(
    "km cm mm kg mg ml mmhg kwh mw gw kw hz ghz mhz db ph vs etc www http https com cn pdf".split()
)
_SAID_BEFORE = re.compile(r"(?:说|道|问|答|称|：|:)\s*\Z")


def chinese_names(text: str) -> Iterator[Mention]:
    """Mentions of names in Chinese text, in no order, overlapping ones included."""
    yield from _persons(text)
    yield from _organisations(text)
    yield from _places(text)
    yield from _marked(text)


def _persons(text: str) -> Iterator[Mention]:
    for pattern in (_LED, _FOLLOWED, _LISTED, _MASKED, _TITLED):
        for found in pattern.finditer(text):
            name = found["name"]
            if _is_person(name):
                yield Mention(found.start("name"), found.end("name"), PERSON, name)


def _is_person(name: str) -> bool:
    if name in lists.COMMON or name[:2] in lists.COMMON or name[1:] in lists.COMMON:
        return False
    return name not in lists.KNOWN_PLACES and not any(character in _NOT_GIVEN for character in name[1:])


_NOT_GIVEN = frozenset(
    "的了在于和与及或由被对向从为是将把给到等该本其此这那并以因后前且但若各每均已曾也都就还只再更最很不未无有使让们个位元万亿年月日时者所我你他她它说问答"
)


def _organisations(text: str) -> Iterator[Mention]:
    for found in _ORGANISATION.finditer(text):
        start, name = found.start("name"), found["name"]
        cut = max((stop.end() for stop in _LAST_FUNCTION.finditer(name[:-2])), default=0)
        verb = _LEADING_VERB.match(name, cut, len(name) - 2)
        cut = verb.end() if verb else cut
        name = name[cut:].lstrip("（）()·")
        start = found.end("name") - len(name)
        if (
            len(name) >= _SHORTEST_ORGANISATION
            and name not in lists.GENERIC_ORGANISATIONS
            and name.count("（") == name.count("）")
        ):
            yield Mention(start, start + len(name), ORGANISATION, name)


def _places(text: str) -> Iterator[Mention]:
    for found in _KNOWN_PLACE.finditer(text):
        yield Mention(found.start(), found.end(), PLACE, found[0])
    for found in _PLACE.finditer(text):
        name = found["name"]
        cut = max((stop.end() for stop in _LAST_FUNCTION.finditer(name[:-1])), default=0)
        verb = _LEADING_VERB.match(name, cut, len(name) - 1)
        cut = verb.end() if verb else cut
        name = name[cut:]
        if (
            len(name) >= _SHORTEST_PLACE
            and name not in lists.NOT_PLACES
            and name[-2:] not in lists.NOT_PLACES
        ):
            yield Mention(found.end("name") - len(name), found.end("name"), PLACE, name)


def _marked(text: str) -> Iterator[Mention]:
    for found in _WORK.finditer(text):
        yield Mention(found.start("name"), found.end("name"), WORK, found["name"])
    for found in _QUOTED.finditer(text):
        if not _SAID_BEFORE.search(text[max(0, found.start() - 3) : found.start()]):
            yield Mention(found.start("name"), found.end("name"), ENTITY, found["name"])
    for found in _NUMBERED.finditer(text):
        yield Mention(found.start("name"), found.end("name"), PRODUCT, found["name"])
    yield from _latin(text)


def _latin(text: str) -> Iterator[Mention]:
    for found in _LATIN.finditer(text):
        name = found[0].rstrip(".'’-/&+")
        letters = sum(map(str.isalpha, name))
        is_name = any(map(str.isupper, name)) or (letters and any(map(str.isdigit, name)))
        if len(name) > 1 and letters and is_name and name.lower() not in _UNITS:
            yield Mention(found.start(), found.start() + len(name), name_type(name), name)
