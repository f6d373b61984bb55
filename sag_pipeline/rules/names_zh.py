"""Names in Chinese text: persons by surname and context, organisations and places by suffix, quoted and Latin names."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from sag_pipeline.rules import words_zh as lists
from sag_pipeline.rules.names_en import ENTITY, ORGANISATION, PERSON, PLACE, PRODUCT, name_type
from sag_pipeline.steps.keys import Mention
from sag_pipeline.steps.places import Places

WORK = "work"

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_SHORTEST_ORGANISATION = 4
_SHORTEST_PLACE = 3
_SHORTEST_SHORT_NAME = 3
_LONGEST_ORGANISATION = 24
_LONGEST_PLACE = 5


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_SURNAME = f"(?:{_either(lists.DOUBLE_SURNAMES)}|[{''.join(sorted(lists.SURNAMES))}])"
_NEVER_GIVEN = (
    "的了在与或由被对向从是把给到等该此这那并后前但每均已曾也都就还只再更最很不未无有使让们个位"
    "元月日时者所我你他她它说问答将为及"
)
_GIVEN_CHARACTER = f"(?![{_NEVER_GIVEN}和])[{_HAN}]"
_GIVEN = f"(?:某某?|{_GIVEN_CHARACTER}(?:(?![{_NEVER_GIVEN}])[{_HAN}])?)"
"""One or two characters, two if what follows allows both; `和` may be the second."""
_ROLE = f"(?:{_either(lists.ROLES)}|[{_HAN}][员长师生])"
_AFTER_SURE = _either([*(word for word in lists.AFTER_NAME if len(word) > 1), "说", "任", "称"])
_AFTER_ANY = _either(lists.AFTER_NAME)
_CANDIDATE = re.compile(
    rf"(?=(?P<name>{_SURNAME}{_GIVEN})(?P<after>{_AFTER_SURE}|[于在]\d)?(?:{_AFTER_ANY}|[^{_HAN}]|$))"
)
_ROLE_BEFORE = re.compile(rf"(?:{_ROLE})(?:[：:]\s?|[是为由])?\Z")
_LABEL_BEFORE = re.compile(rf"[{_HAN}][：:]\s?\Z")
_LIST_BEFORE = frozenset("、和与及")
_BORDER_BEFORE = frozenset("由和与及对向从让被把")
_LIST_AFTER = frozenset("、，。；等和与及")
_LONGEST_ROLE = 8
_ANY_SURNAME = f"(?:{_either(lists.DOUBLE_SURNAMES)}|[{''.join(sorted(lists.SURNAMES | lists.RARE_SURNAMES))}])"
_MASKED = re.compile(rf"(?P<name>{_ANY_SURNAME}某某?)")
_TITLED = re.compile(rf"(?P<name>{_ANY_SURNAME}(?:医生|律师|法官|教授|老师|先生|女士|警官|主任|工程师|博士|经理|院长))")
_BESIDE = re.compile(rf"(?<=[a-z])\s?[（(]?(?P<name>{_SURNAME}{_GIVEN})(?=[）)]|\s*[|,，、;；：:\n]|\s*$)")
_BEFORE_LATIN = re.compile(rf"(?<![{_HAN}])(?P<name>{_SURNAME}{_GIVEN})(?=\s?[（(][A-Z][a-z][\sa-zA-Z'’-]*+[）)])")
_FOREIGN = re.compile(rf"(?P<name>[{_HAN}]{{1,6}}(?:[·・][{_HAN}]{{1,8}}?){{1,3}})(?=[^{_HAN}·・]|{_AFTER_ANY}|$)")

_FUNCTION = "".join(sorted(set(lists.FUNCTION_CHARACTERS)))
_ORGANISATION = re.compile(rf"(?:{_either(lists.ORGANISATION_SUFFIXES)})(?![{_HAN}]{{0,1}}(?:法|制|化|级|员|股东))")
_PLACE = re.compile(rf"(?:{_either(lists.PLACE_SUFFIXES)})")
_NOT_AFTER_PLACE = frozenset("场长民委级值面内外里上下口线")
_NOT_IN_NAME = re.compile(rf"[^{_HAN}A-Za-z0-9·（）()]|[{_FUNCTION}]|{lists.FUNCTION_UNLESS}")
_NOT_IN_PLACE = re.compile(
    rf"[^{_HAN}]|[{_FUNCTION}]|{lists.FUNCTION_UNLESS}|[省市县州区镇会着过得能可要]|{_either(lists.KNOWN_PLACES)}"
)
_FIRM = re.compile(r"(?P<body>.*?)(?:公司|集团|集团公司)")
_LEGAL = re.compile(r"(?P<body>.{2,}?)(?:(?:集团)?股份有限公司|(?:集团)?有限(?:责任)?公司|集团|公司)")
_LONGEST_INDUSTRY = max(map(len, lists.INDUSTRIES))
_MOTION = "[走跑飞驶开游爬流汇注涌漂放抛投扔混送运搬拖拉推迁移转调考越翻穿跨绕漫撞逃躲潜闯踏落掉坠沉返赶][进入过离]"
"""A verb of motion with its direction, whichever: 走进, 驶离, 漫过."""
_LEADING_VERB = re.compile(
    rf"(?:{_either(lists.VERBS)}|{_MOTION}|[绕避移拉推]开"
    r"|[一二两三四五六七八九十多几数每各这那]家|(?<=[年月日])起任?)"
)
_KNOWN_PLACE = re.compile(_either(lists.KNOWN_PLACES))
_WORK = re.compile(r"《(?P<name>[^《》\n]{1,40})》")
_QUOTED = re.compile(r"[“「『\"](?P<name>[^“”「」『』\"，。！？；、：\n]{2,20})[”」』\"]")
_LATIN = re.compile(
    r"(?<![A-Za-z0-9_@/.])[A-Za-z0-9][A-Za-z0-9&+.'’/-]*(?: [A-Z][A-Za-z0-9&+.'-]*| \d[\d.]*(?![\d%,]))*"
)
_NUMBERED = re.compile(r"(?<![一二三四五六七八九十百千零第])[一二三四五六七八九十]{1,2}号(?!线|楼|院|街|路|公路|令|文)")
_KIND = re.compile(_either(lists.NUMBERED_KINDS))
_LONGEST_BODY = 3
_LONGEST_BEFORE_NUMBER = 10
_BEFORE_NUMBER = re.compile(rf"(?:(?![{_NEVER_GIVEN}年于第街路])[{_HAN}]){{2,{_LONGEST_BEFORE_NUMBER}}}\Z")
_MEASURE = re.compile(
    r"[\d.]++(?:\s[x×]?[\d.]*+|[x×][\d.]*+)?\s?(?:[a-zµ°]{1,3}|[A-Z]|mmHg|MMBtu|MB|GB|TB|kHz|MHz|GHz|kW|MW|GW|kWh|MWh|GWh|mAh)"
    r"|[\d.]*+[a-zA-Zµ]{0,4}/[a-zA-Z\d]{1,3}|\d++\.\s.*|[\d/]++mmHg"
)
_LATIN_WORD = re.compile(
    "km|cm|mm|kg|mg|ml|mmhg|kwh|mw|gw|kw|hz|ghz|mhz|db|ph|vs|etc|www|https?|com|cn|pdf", re.IGNORECASE
)
_GOES_ON_LATIN = re.compile(r"\s[a-z]")
_SHORT_QUOTE = 2
"""A quoted name of so few characters needs a noun before it (台风“海燕”) or 是 behind it."""
_NAMED_BEFORE = re.compile(rf"(?![如的是为和与或及])[{_HAN}]\Z")
_SELF = re.compile("[本贵该](?:公司|集团|企业|机构|单位|[院行所校厂店社会局部])")
_AS_WORDS = re.compile(
    r"(?:[”」』\"][、，和及或与]{0,2}[“「『\"][^“”「」『』\"\n]{1,20}){0,30}"
    r"[”」』\"]等?[一二两几个]{0,2}(?:词|字|用语|措辞|表述|说法)"
)
"""What stands in quotation marks is spoken of as a word: “可能”、“预计”等词语."""
_SAID_BEFORE = re.compile(r"(?:说|道|问|答|(?<![简全名俗又])称|：|:)\s*\Z")


def chinese_names(text: str) -> Iterator[Mention]:
    """Mentions of names in Chinese text, in no order, overlapping ones included."""
    yield from _persons(text)
    firms = list(_organisations(text))
    yield from firms
    yield from _short_names(text, (str(firm.value) for firm in firms))
    yield from _places(text)
    yield from _marked(text)


def _persons(text: str) -> Iterator[Mention]:
    for found in _CANDIDATE.finditer(text):
        if _is_led(text, found) and _is_person(found["name"]):
            yield Mention(found.start("name"), found.end("name"), PERSON, found["name"])
    for pattern in (_MASKED, _TITLED, _FOREIGN, _BESIDE, _BEFORE_LATIN):
        for found in pattern.finditer(text):
            name = found["name"].lstrip("和与由及对")
            if _is_person(name):
                yield Mention(found.end("name") - len(name), found.end("name"), PERSON, name)


def _is_led(text: str, found: re.Match[str]) -> bool:
    """Whether what stands around a candidate says that it is a person."""
    start, end = found.start("name"), found.end("name")
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if found["after"] and (before in _BORDER_BEFORE or not _HAN_CHARACTER.match(before)):
        return True
    if before in _LIST_BEFORE and after in _LIST_AFTER:
        return True
    head = text[max(0, start - _LONGEST_ROLE) : start]
    if _ROLE_BEFORE.search(head):
        return True
    return bool(_LABEL_BEFORE.search(head)) and not _HAN_CHARACTER.match(after)


def _is_person(name: str) -> bool:
    if "某" in name:
        return name.endswith("某")
    if name in lists.COMMON or name[:2] in lists.COMMON or name[1:] in lists.COMMON:
        return False
    return name not in lists.KNOWN_PLACES


def _organisations(text: str) -> Iterator[Mention]:
    for suffix in _ORGANISATION.finditer(text):
        start = _name_start(text, suffix.start(), _LONGEST_ORGANISATION, _NOT_IN_NAME)
        while start < suffix.start() and text[start] in "（）()·":
            start += 1
        name = text[start : suffix.end()]
        if len(name) >= _SHORTEST_ORGANISATION and start < suffix.start() and _is_organisation(name):
            yield Mention(start, suffix.end(), ORGANISATION, name)


def _is_organisation(name: str) -> bool:
    if name in lists.GENERIC_ORGANISATIONS or name.count("（") != name.count("）"):
        return False
    firm = _FIRM.fullmatch(name)
    return not (firm and _is_industries(firm["body"]))


def _is_industries(text: str) -> bool:
    """Whether a text is nothing but names of industries in a row; an expression would try every division."""
    ends = {0}
    for end in range(1, len(text) + 1):
        if any(end - n in ends and text[end - n : end] in lists.INDUSTRIES for n in range(1, _LONGEST_INDUSTRY + 1)):
            ends.add(end)
    return len(text) in ends


def _short_names(text: str, firms: Iterable[str]) -> Iterator[Mention]:
    """The names that firms go by without their legal form, where the text uses them so."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for firm in sorted(set(firms)):
        legal = _LEGAL.fullmatch(firm)
        short = legal["body"] if legal else ""
        if len(short) >= _SHORTEST_SHORT_NAME and not _is_industries(short):
            wanted[short].append(firm)
    behind = dict.fromkeys(itertools.chain.from_iterable(wanted.values()), 0)
    for at, short in Places(wanted).within(text):
        for firm in tuple(wanted[short]):
            if at < behind[firm]:
                continue
            if text.startswith(firm, at):
                behind[firm] = at + len(firm)
            else:
                wanted[short].remove(firm)
                yield Mention(at, at + len(short), ORGANISATION, short)


def _places(text: str) -> Iterator[Mention]:
    for found in _KNOWN_PLACE.finditer(text):
        yield Mention(found.start(), found.end(), PLACE, found[0])
    for suffix in _PLACE.finditer(text):
        start = _name_start(text, suffix.start(), _LONGEST_PLACE, _NOT_IN_PLACE)
        name = text[start : suffix.end()]
        is_place = start < suffix.start() and name not in lists.NOT_PLACES
        if len(suffix[0]) == 1:
            is_place = is_place and name[-2:] not in lists.NOT_PLACES
            is_place = is_place and text[suffix.end() : suffix.end() + 1] not in _NOT_AFTER_PLACE
        if len(name) >= _SHORTEST_PLACE and is_place and suffix.start() - start < _LONGEST_PLACE:
            yield Mention(start, suffix.end(), PLACE, name)


def _name_start(text: str, end: int, longest: int, breaks: re.Pattern[str]) -> int:
    """Where a name that goes on at `end` begins: behind the last character or verb that is in no name."""
    start = max(0, end - longest)
    for stop in breaks.finditer(text, start, end):
        start = stop.end()
    for verb in _LEADING_VERB.finditer(text, start, end):
        start = verb.end()
    return start


def _marked(text: str) -> Iterator[Mention]:
    for found in _WORK.finditer(text):
        yield Mention(found.start("name"), found.end("name"), WORK, found["name"])
    for found in _QUOTED.finditer(text):
        if _is_quoted_name(text, found):
            yield Mention(found.start("name"), found.end("name"), ENTITY, found["name"])
    yield from _numbered(text)
    yield from _latin(text)


def _numbered(text: str) -> Iterator[Mention]:
    """Things that bear a name and a number: 风云三号.

    The name is two or three characters behind a border, such as a mark, a verb or a kind of thing. Of a longer run its
    end counts that is such a name elsewhere in the text, or that stands behind different characters in two places.
    """
    places = [(found.start(), found.end(), _before_number(text, found.start())) for found in _NUMBERED.finditer(text)]
    runs = [run for _, _, run in places]
    whole = {run for run in runs if 2 <= len(run) <= _LONGEST_BODY}  # noqa: PLR2004  one character is no name
    before: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for size in range(2, min(_LONGEST_BODY, len(run) - 1) + 1):
            before[run[-size:]].add(run[-size - 1])
    for start, end, run in places:
        ends = [run[-size:] for size in range(min(_LONGEST_BODY, len(run)), 1, -1)]
        body = next((each for each in ends if each in whole or len(before[each]) > 1), "")
        if body:
            yield Mention(start - len(body), end, PRODUCT, text[start - len(body) : end])


def _before_number(text: str, end: int) -> str:
    """The characters between the last border and `end`."""
    start = _name_start(text, end, _LONGEST_BEFORE_NUMBER, _NOT_IN_NAME)
    for kind in _KIND.finditer(text, start, end):
        start = kind.end()
    run = _BEFORE_NUMBER.search(text[start:end])
    return run[0] if run else ""


def _is_quoted_name(text: str, found: re.Match[str]) -> bool:
    name, before = found["name"], text[max(0, found.start() - 3) : found.start()]
    if name in lists.NOT_QUOTED or _SELF.fullmatch(name) or _SAID_BEFORE.search(before):
        return False
    if _AS_WORDS.match(text, found.end() - 1):
        return False
    return len(name) > _SHORT_QUOTE or bool(_NAMED_BEFORE.search(before)) or text.startswith("是", found.end())


def _latin(text: str) -> Iterator[Mention]:
    for found in _LATIN.finditer(text):
        name = found[0].rstrip(".'’-/&+")
        if len(name) > 1 and _is_latin_name(name) and not _GOES_ON_LATIN.match(text, found.end()):
            yield Mention(found.start(), found.start() + len(name), name_type(name), name)


def _is_latin_name(name: str) -> bool:
    if _MEASURE.fullmatch(name) or _LATIN_WORD.fullmatch(name):
        return False
    return any(map(str.isupper, name)) or (any(map(str.isalpha, name)) and any(map(str.isdigit, name)))
