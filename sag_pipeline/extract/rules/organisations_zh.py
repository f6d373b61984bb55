"""Find organisations in Chinese text: by the last word of their name, back to a word of grammar or a verb."""

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import rjieba

from sag_pipeline.extract.places import Places
from sag_pipeline.extract.rules.name_types import ORGANISATION
from sag_pipeline.extract.rules.words import read_words
from sag_retrieval.language.mentions import Mention

_WORDS = read_words("zh")
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
_JAPANESE_NAME = rf"(?![的了])[{HAN}々ァ-ヶーA-Za-z0-9・&]"
_JAPANESE_FIRM = re.compile(
    rf"(?:株式|有限|合同|合資)会社(?:{_JAPANESE_NAME}){{2,20}}|(?:{_JAPANESE_NAME}){{2,20}}?(?:株式|有限|合同|合資)会社"
)
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


def japanese_firms(text: str) -> Iterator[Mention]:
    """Firms with a Japanese legal form before or behind their name: 株式会社… and …株式会社."""
    for found in _JAPANESE_FIRM.finditer(text) if "会社" in text else ():
        name = found[0].lstrip("与和及由向对从在是的")
        yield Mention(found.end() - len(name), found.end(), ORGANISATION, name)


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
