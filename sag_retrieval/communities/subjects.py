"""Tell whether a sentence says by itself whom it speaks of: its subject, and what its pronouns and `this` stand for."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.registers import GRAMMAR_WORDS, is_finite
from sag_retrieval.communities.tagging import tagged
from sag_retrieval.communities.titles import names_something
from sag_retrieval.text.words import is_cjk

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_DIGIT: Final = re.compile(r"\d")
_DEMONSTRATIVE: Final = re.compile(r"\b(this|these|the same|the said|the aforementioned) ([a-z]+)(?: ([a-z]+))?")
_OF_ITSELF: Final = re.compile(
    r"^(?:year|week|weekend|month|day|morning|afternoon|evening|night|season|summer|winter|spring|autumn|fall|quarter"
    r"|case|court|agreement|contract|report|document|deed|policy|is|was|are|were|will|has|had|to|may|can)$"
)
"""After `this`: a time, or the document itself; after a verb's form `this` is a clause's whole subject."""
_SAME_STEM: Final = 5
"""Letters by which a noun is known again."""
_VERB_FIRST: Final = re.compile(r"^([A-Z][a-z]{2,20}[^s\W]s) (?:(?:the|an?|all|any|its|their)\b|[$€£¥] ?\d)")
_LATER: Final = re.compile(
    r"^(?:The (?:next|following|previous) (?:day|morning|evening|night|week|month|year)"
    r"|(?:[A-Z][a-z]+|\d+)(?: [a-z]+){1,2} (?:later|earlier|afterwards|before that|after that)\b"
    r"|Later that|Earlier that|.{0,40}\bthere (?:was|were|is|are) also\b)"
)
_DEMONSTRATIVE_CJK: Final = re.compile(
    r"(?:这(?!样|么|里|时|时候|意味)|(?<![应本活])该(?!死|怎|如何)|此(?=[次项案类种批]|[^\u4e00-\u9fff]))"
    r"(?:[一两几二三四五六七八九十]?[些名位个项种次家座批款起类份件条部处所段支])?([\u4e00-\u9fff]{1,4})"
)
_KINDS_CJK: Final = frozenset("院市县省区镇村校厂店站港桥船车楼馆局部队团社会党国案书片剧曲歌州河湖岛山")
"""Kinds of things that one character names, at the end of a name and after `该`."""
_BACK_CJK: Final = re.compile(r"上述|前述|如前所述|同上|(?:^|[，；、])(?:双方|二人|两人|两者|三人|三者)")
_JOINS_CJK: Final = re.compile(r"[与和同及跟、]|两|二|三")
_PRONOUN_CJK: Final = re.compile(r"(?<![其吉])[他她](?!国|项|处|人|用|杀|乡|日|山)")
_SOMEBODY_CJK: Final = re.compile(
    r"[人员者师父母妻警客媪]|先生|女士|小姐|公司|[校院]长|夫妇|儿|女孩|男孩|学生|某|[A-Za-z]{3}|·"
)
_IN_TURN_CJK: Final = re.compile(
    r"^[^，。]{0,20}(?:，|方面)?(?:首先|其次|再次|此外|另外|最后|随后|同时)，"
    r"|^(?:以下|不久|[一二两三四五六七八九十几\d]{1,3}(?:个)?(?:年|月|天|日|周|星期|小时)(?:之)?后"
    r"|[次翌同当是]年|[次翌同当]日|[同当]月|当晚|翌晨|其后|及[（(]|和[（(]|[（(][ivx]{1,4}[)）])"
)
_CLAUSE_CJK: Final = re.compile(r"[，；：。;]|,(?!\d)")
_IN_BRACKETS: Final = re.compile(r"[（(][^（）()]{0,200}[）)]")
_TITLED: Final = re.compile(r"《[^《》]{1,100}》|「[^「」]{1,100}」|“[^“”]{1,100}”")
_MOSTLY_CJK: Final = frozenset("一般 主要 大多 通常 多数 常见".split())
"""Words that stand before a verb as adverbs."""
_WHEN_CJK: Final = re.compile(
    r"^(?:[\u4e00-\u9fff]{2}(?=元年|\d{1,2}年|[一二三四五六七八九十]{1,3}年))?"
    r"(?:[\d一二三四五六七八九十元〇○]{1,4}(?:世纪|年代|年|月份|月|日|号|时|点|分)"
    r"|至|到|[—–~-]|起|初|末|底|中旬|上旬|下旬|上午|下午|凌晨|晚上|晚间|中午|春|夏|秋|冬|左右|许|间){1,12}"
)
_LEAVING_OUT: Final = frozenset("被 以 把 将 向 给 由 是 任".split())
"""Words before which the subject stands: a clause that begins with one has none of its own."""
_THERE_IS: Final = frozenset(
    "有 没有 共有 存在 发生 出现 截至 截止 包括 据悉 据报 预计 估计 为 经 受 称 叫 问 可 能 应 须 要 会".split()
)
_DURING: Final = re.compile(r"(?:[后时前中下内上间]|以来|之际|的情况|为由)$")
_NOMINAL: Final = ("n", "r", "eng", "j", "l", "i", "b", "s")
_VERBAL: Final = ("v", "p")
_DONE: Final = frozenset("了 于 到 为 过".split())
"""Behind a word, these make it the verb of its clause."""
_SHORT: Final = re.compile(r"[A-Z][^\W\d_]{3,}(?= )|[\u4e00-\u9fff]{2}")
_ABBREVIATED: Final = 3
"""Letters of an abbreviation that many use, such as that of a method."""
_NAMES: Final = frozenset("nr ns nt nz nrt nrfg eng".split())
_CAPITAL: Final = re.compile(
    r"(?<![.!?] )(?<!^)\b(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b)"
    r"[A-Z]\w"
)


def refers_outside(text: str) -> bool:
    """Whether a pronoun, `this` or `the same` stands for something that the sentence does not say before it.

    Source:
        docs/algorithm.md §reports.6.

    Examples:
        >>> refers_outside("Imre Falk had heard of this apprentice from the miller.")
        True
        >>> refers_outside("The mill hired an apprentice, and Imre Falk paid this apprentice 40 crowns.")
        False

    """
    if is_cjk(text):
        return _refers_outside_cjk(text)
    return _LATER.match(text) is not None or any(
        not _is_said(text[: match.start()], match) for match in _DEMONSTRATIVE.finditer(text)
    )


def _is_said(before: str, match: re.Match[str]) -> bool:
    """Whether what a demonstrative stands for is said before: the noun itself, a clause, or for `the same` a figure."""
    which, noun = match[1], match[2]
    if which in {"this", "these"} and _OF_ITSELF.match(noun):
        return True
    said = [word[:_SAME_STEM] for word in _WORD.findall(before.casefold())]
    if any(each and each[:_SAME_STEM] in said for each in (noun, match[3])):
        return True
    if which == "the same":
        return _DIGIT.search(before) is not None or " as " in match.string[match.end() :]
    has_clause = before.rstrip().endswith((",", ";", "and", "—", "–", "but")) and is_finite(before)
    return which in {"this", "these"} and has_clause


def _refers_outside_cjk(text: str) -> bool:
    if _IN_TURN_CJK.match(text):
        return True
    back = _BACK_CJK.search(text)
    if back and not (back[0].endswith(("方", "人", "者")) and _JOINS_CJK.search(text, 0, back.start())):
        return True
    if any(not _is_said_cjk(text[: match.start()], match[1]) for match in _DEMONSTRATIVE_CJK.finditer(text)):
        return True
    pronoun = _PRONOUN_CJK.search(text)
    return pronoun is not None and not _names_somebody(text[: pronoun.start()])


def _is_said_cjk(before: str, noun: str) -> bool:
    """Whether the noun is said before, or a clause before the one that the demonstrative begins."""
    pairs = [noun[at : at + 2] for at in range(max(1, len(noun) - 1))]
    if any(pair in before for pair in pairs) or (noun[0] in _KINDS_CJK and noun[0] in before):
        return True
    clauses = _CLAUSE_CJK.split(before)
    return not clauses[-1] and len(clauses) > 1 and any(len(_WHEN_CJK.sub("", each)) > len("某地") for each in clauses)


def _names_somebody(before: str) -> bool:
    """Whether what stands before a pronoun has a person in it, or anything with a name in letters."""
    if _SOMEBODY_CJK.search(before):
        return True
    return any(part[:2] == "nr" for _, part in tagged(before))


def lacks_subject(text: str, names: Sequence[str] = ()) -> bool:
    """Whether no clause of a Chinese sentence begins with somebody or something that does what it tells.

    Linear in the length of the text. A clause in front that names a time, a reason or a purpose may go without; a
    relative clause before a noun is none. An English sentence has none that begins with a verb in -s: a determiner or
    an amount of money follows it.

    Args:
        text: The sentence.
        names: Those that it is known to hold: a clause that begins with one has its subject.

    """
    if not is_cjk(text):
        verb = _VERB_FIRST.match(text)
        return verb is not None and verb[1].casefold() not in GRAMMAR_WORDS
    is_missing = False
    for clause in _CLAUSE_CJK.split(_TITLED.sub("它", _IN_BRACKETS.sub("", text))):
        found = _subject_of(clause.strip(" “”\"'「」"), names)
        if found == "subject":
            return False
        if found == "none at a time":
            return True
        is_missing |= found == "none"
    return is_missing


def _subject_of(clause: str, names: Sequence[str]) -> str:
    """What a clause says of its subject: it has one, it has none, it is only a time or a circumstance."""
    rest = _WHEN_CJK.sub("", clause).strip()
    if not rest:
        return "circumstance"
    if rest[0] not in _LEAVING_OUT and any(rest.startswith(name) for name in names if name):
        return "subject"
    words = [
        (word, part)
        for word, part in tagged(rest)
        if part != "x" and part[:1] not in {"d", "c", "m", "q", "t"} and word not in _MOSTLY_CJK
    ]
    if not words or (words[0][1] == "p" and words[0][0] not in _LEAVING_OUT):
        return "circumstance"
    is_timed = rest != clause
    if not _begins_with_verb(words, is_timed=is_timed) or _goes_on(words):
        return "subject"
    return "none at a time" if is_timed and not _DURING.search(rest) else "none"


def _begins_with_verb(words: Sequence[tuple[str, str]], *, is_timed: bool) -> bool:
    first, part = words[0]
    if first in _LEAVING_OUT:
        return True
    if first in _THERE_IS or first[:1] == "有":
        return False
    followed = words[1][0] if len(words) > 1 else ""
    if part == "n" and followed in {"于", "在"}:
        return not any(each[:1] == "v" for _, each in words[2:])
    return part in {"v", "vd"} and (is_timed or len(first) > 1)


def _goes_on(words: Sequence[tuple[str, str]]) -> bool:
    """Whether a noun and another verb follow the verb that a clause begins with: `从事…的公司购买…`, `可转换票据为…`.

    What begins the clause may then belong to that noun. It does not where the verb is a finished one (`了`).
    """
    if words[0][0] in _LEAVING_OUT:
        return False
    parts = [part for _, part in words]
    if "uj" in parts:
        parts = parts[parts.index("uj") + 1 :]
    elif len(words[0][0]) == 1 or (len(words) > 1 and words[1][0] in _DONE):
        return False
    noun = next((at for at, part in enumerate(parts) if part.startswith(_NOMINAL) or part == "vn"), len(parts))
    return any(part.startswith(_VERBAL) for part in parts[noun + 1 :])


def has_name(text: str) -> bool:
    """Whether a text has a word that looks like a name: by its capital letter, or by the Chinese dictionary."""
    if is_cjk(text):
        return any(part in _NAMES and len(word.strip()) > 1 for word, part in tagged(text))
    return _CAPITAL.search(text) is not None


def named_in(events: EventTable, keys: Sequence[int], text: str) -> dict[str, int]:
    """The names that a text holds, of those of its event, each with its place."""
    names = (
        name
        for key in keys
        if _is_name(events.keys.types[key], events.keys.values[key]) and names_something(events.keys, key)
        for name in events.keys.names_of(key)
    )
    return {name: place for name in names if (place := _place(name, text)) >= 0}


def _is_name(kind: str, value: str) -> bool:
    """Whether a key's value is the name of somebody or something: what is of no known type has to look like one."""
    return kind not in {"title", "topic"} and (kind != "entity" or _looks_like_name(value))


@lru_cache(maxsize=65_536)
def _looks_like_name(value: str) -> bool:
    if is_cjk(value):
        return has_name(value)
    is_short = len(value) <= _ABBREVIATED and value.isupper()
    return any(char.isupper() for char in value) and not is_short and not value[0].isdigit()


def _place(name: str, text: str) -> int:
    """Where a text has a name, or its first word with a capital letter, by which it is called in short; -1: nowhere."""
    place = text.find(name)
    short = _SHORT.match(name)
    return place if place >= 0 or short is None else text.find(short[0])
