"""Find names in Chinese text: persons by surname and context, firms and places by their last words, quoted names."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import rjieba

from sag_pipeline.extract.places import Places
from sag_pipeline.extract.rules.name_types import ENTITY, ORGANISATION, PERSON, PLACE, PRODUCT, WORK, name_type
from sag_retrieval.language.data import word_lists
from sag_retrieval.language.mentions import Mention

_WORDS = word_lists("zh")
HAN = "\u3400-\u4dbf\u4e00-\u9fff"
"""Chinese characters, as ranges for a character class."""
_FUNCTION_CHARACTERS = (
    "的了在于与及或由被对向从是将把给到等该其此这那并以因后前而且则但若如至自各每另均已曾又也都"
    "就还只再更最很不未无有使让令叫请跟比除据按随着依往朝获含即指称个位次者"
)
"""In no name of an organisation or place."""
FUNCTION_UNLESS = (
    "和(?!平|谐|田)|同(?!济|仁|方|安|心)|本(?!地|田|溪|草)|为(?!民)|时(?!代)|日(?!报|照|本)|年(?!华)|月(?!亮|湖)"
    "|家(?!园|乐|具|电)|所在地"
)
"""More of them, but for words they begin; and a label that holds one."""

_SHORTEST_ORGANISATION = 4
_SHORTEST_SHORT_NAME = 3
_LONGEST_ORGANISATION = 24


def either(words: Iterable[str]) -> str:
    """Alternatives of a regular expression, the longest first."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_FUNCTION_ALONE = frozenset("和同本为时日年月家")
"""Words of grammar where they stand alone, and characters of names where the dictionary has them in a word."""
_PREPOSITIONS = frozenset("由从与和在向对被把将据及于")
_PROPER_NOUNS = ("nz", "nt", "nr", "ns")
_DESCRIBING = frozenset({"v", "vn", "a", "ad", "b", "d"})
_LIMITED = ("有限公司", "有限责任公司")
FUNCTION = "".join(sorted(set(_FUNCTION_CHARACTERS)))
_ORGANISATION = re.compile(rf"(?:{either(_WORDS['ORGANISATION_SUFFIXES'])})(?![{HAN}]{{0,1}}(?:法|制|化|级|员|股东))")
_NOT_IN_FIRM = re.compile(rf"[^{HAN}A-Za-z0-9·（）()]")
NOT_IN_NAME = re.compile(rf"[^{HAN}A-Za-z0-9·（）()]|[{FUNCTION}]|{FUNCTION_UNLESS}")
_FIRM = re.compile(r"(?P<body>.*?)(?:公司|集团|集团公司)")
_LEGAL = re.compile(r"(?P<body>.{2,}?)(?:(?:集团)?股份有限公司|(?:集团)?有限(?:责任)?公司|集团|公司)")
_LONGEST_INDUSTRY = max(map(len, _WORDS["INDUSTRIES"]))
_MOTION = "[走跑飞驶开游爬流汇注涌漂放抛投扔混送运搬拖拉推迁移转调考越翻穿跨绕漫撞逃躲潜闯踏落掉坠沉返赶][进入过离]"
"""A verb of motion with its direction, whichever: 走进, 驶离, 漫过."""
_LEADING_VERB = re.compile(
    rf"(?:{either(_WORDS['VERBS'])}|{_MOTION}|[绕避移拉推]开"
    r"|[一二两三四五六七八九十多几数每各这那][家处所间座]|(?<=[年月日])起任?)"
)


def organisations(text: str) -> Iterator[Mention]:
    """Organisations by their last words: 公司, 大学, 医院 and others of the list."""
    for suffix in _ORGANISATION.finditer(text):
        start = _organisation_start(text, suffix)
        while start < suffix.start() and text[start] in "（）()·":
            start += 1
        name = text[start : suffix.end()]
        is_own = name.startswith("某") or (start > 0 and text[start - 1] in "本贵该我")
        if len(name) < _SHORTEST_ORGANISATION or start >= suffix.start() or is_own:
            continue
        if _is_organisation(name) and not _is_described(text[start : suffix.start()]):
            yield Mention(start, suffix.end(), ORGANISATION, name)


def without_prepositions(found: Iterable[Mention]) -> Iterator[Mention]:
    """The same mentions; a preposition is no part of a name that the text also has without it: 向 of 向海…公司."""
    firms = list(found)
    names = {str(firm.value) for firm in firms}
    for firm in firms:
        name = str(firm.value)
        is_led = name[0] in _PREPOSITIONS and name[1:] in names
        yield Mention(firm.start + 1, firm.end, ORGANISATION, name[1:]) if is_led else firm


def _organisation_start(text: str, suffix: re.Match[str]) -> int:
    """Where an organisation's name begins: behind the last word of grammar or verb before its last words.

    Words are those of the dictionary: 为 is part of 华为, and 比 of 比亚迪.
    """
    first = max(0, suffix.start() - _LONGEST_ORGANISATION)
    for stop in _NOT_IN_FIRM.finditer(text, first, suffix.start()):
        first = stop.end()
    words = rjieba.tag(text[first : suffix.end()], hmm=True)
    if suffix[0].endswith(_LIMITED):
        return _firm_start(text, suffix, words)
    places = itertools.accumulate((len(word) for word, _ in words), initial=first)
    inside = {
        place
        for (word, tag), start in zip(words, places, strict=False)
        if tag[:2] in _PROPER_NOUNS and len(word) > 1 and rjieba.has_word(word)
        for place in range(start, start + len(word))
    }
    return name_start(text, suffix.start(), _LONGEST_ORGANISATION, NOT_IN_NAME, inside)


def _firm_start(text: str, suffix: re.Match[str], words: Sequence[tuple[str, str]]) -> int:
    """Where a firm's name with a legal form begins.

    A verb with nothing but an industry behind it is part of the name: 顺丰控股有限公司.
    """
    start = suffix.end()
    for row in range(len(words) - 1, -1, -1):
        word, tag = words[row]
        place = start - len(word)
        behind = text[start : suffix.start()]
        is_verb = _LEADING_VERB.fullmatch(word) and len(behind) > 1 and not _is_industries(behind)
        if place < suffix.start() and (is_verb or _is_grammar(word, tag)):
            break
        if word[0] in _PREPOSITIONS and tag[:2] != "nz" and not rjieba.has_word(word):
            return place + 1  # the dictionary has no such word: 于澜湾
        start = place
    return start


def _is_grammar(word: str, tag: str) -> bool:
    if len(word) == 1:
        return word in FUNCTION or word in _FUNCTION_ALONE
    return tag[:1] in ("p", "c", "u", "t")


def _is_organisation(name: str) -> bool:
    if name in _WORDS["GENERIC_ORGANISATIONS"] or name.count("（") != name.count("）"):
        return False
    firm = _FIRM.fullmatch(name)
    return not (firm and _is_industries(firm["body"]))


def _is_industries(text: str) -> bool:
    """Whether a text is nothing but names of industries in a row; an expression would try every division."""
    ends = {0}
    for end in range(1, len(text) + 1):
        if any(
            end - n in ends and text[end - n : end] in _WORDS["INDUSTRIES"] for n in range(1, _LONGEST_INDUSTRY + 1)
        ):
            ends.add(end)
    return len(text) in ends


def _is_described(body: str) -> bool:
    """Whether what stands before a kind of institution is a verb or adjective alone: 废弃工厂."""
    words = rjieba.tag(body, hmm=False)
    return len(words) == 1 and words[0][1] in _DESCRIBING and len(body) > 1


def short_names(text: str, firms: Iterable[str]) -> Iterator[Mention]:
    """Names of firms without their legal form, where the text uses them."""
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


def name_start(
    text: str, end: int, longest: int, breaks: re.Pattern[str], inside: Collection[int] = frozenset()
) -> int:
    """Where a name that goes on at `end` begins: behind the last character or verb that is in no name.

    Characters at the places `inside` belong to proper nouns of the dictionary and break nothing.
    """
    start = max(0, end - longest)
    for stop in breaks.finditer(text, start, end):
        if stop.start() not in inside:
            start = stop.end()
    for verb in _LEADING_VERB.finditer(text, start, end):
        start = verb.end()
    return start


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
_BEFORE_LATIN = re.compile(rf"(?<![{HAN}])(?P<name>{_SURNAME}{_GIVEN})(?=\s?[（(][A-Z][a-z][\sa-zA-Z'’-]*+[）)])")
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
    for pattern in (_MASKED, _FOREIGN, _BESIDE, _BEFORE_LATIN):
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
