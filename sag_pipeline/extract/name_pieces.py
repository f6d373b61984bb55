"""Which words of a statement may be names: no ordinary words of Chinese, no openings of sentences."""

import re
from collections.abc import Sequence
from typing import Final

_LEAST_NAME = 3
"""Chinese characters in a row that no text has, from this many on, may be a name; two with a surname are."""
_SURNAMES: Final = frozenset(
    "王李张刘陈杨黄赵周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田姜范石姚"
    "谭廖邹熊陆郝孔白崔康毛邱秦江史顾侯邵孟龙段雷钱汤尹黎乔贺赖龚"
)
_ORGANISED: Final = re.compile(
    r"(?P<legal>(?:股份|控股)?有限(?:责任)?公司|集团)"
    r"|公司|银行|大学|学院|医院|法院|基金会|研究所|研究院|事务所|委员会|工厂|百货|中心|酒店|乐园"
)
"""What ends the name of an organisation."""
_GENERIC: Final = 2
"""Characters of a trade, such as 能源, between a name and its legal form."""
_PROPER: Final = ("nr", "ns", "nt", "nz")
"""Tags of proper nouns in the dictionary."""
_NAMING: Final = "najbxsgz"
"""First letters of the tags of words that names of organisations are made of: nouns, adjectives, abbreviations."""
_OPENERS: Final = frozenset(
    "according additionally afterwards also although altogether among based because besides both certain considering"
    " consequently despite due during each eventually every following furthermore given hence however including"
    " initially instead many meanwhile moreover most nevertheless nonetheless notably overall regarding several"
    " similarly since some subsequently such therefore throughout thus together ultimately unlike upon various"
    " whereas within".split()
)
"""Words without a meaning of their own that begin a sentence; capitals there show no name."""
_OPENING: Final = re.compile(r"(?:\A|[.!?:;\n])[\s\"'“‘(\[*_-]{0,8}+([A-Z][a-z]++)")


def opening_words(text: str) -> frozenset[str]:
    """The capitalised words of a text that open a sentence without a meaning of their own.

    Example:
        >>> sorted(opening_words("According to Ann, it rained. Acme closed. During March it rained."))
        ['According', 'During']

    """
    return frozenset(found[1] for found in _OPENING.finditer(text) if found[1].lower() in _OPENERS)


def may_be_name(piece: str, run: str) -> bool:
    """Whether a piece of a run of Chinese characters may name something, and is not made of ordinary words.

    Examples:
        >>> [may_be_name("充满信心", "对未来充满信心"), may_be_name("真实制造", "收购真实制造有限公司")]
        [False, True]

    """
    import rjieba  # noqa: PLC0415  its dictionary is read once, and only where such a piece is in doubt

    start = run.find(piece)
    end, at, words_of = start + len(piece), 0, list[tuple[int, str, str]]()
    for word, tag in rjieba.tag(run):
        at += len(word)
        words_of.append((at, word, tag[:2]))
    if any(
        _is_organisation(found, words_of)
        for found in _ORGANISED.finditer(run)
        if found.start() - _GENERIC * (found["legal"] is not None) <= end and start < found.end()
    ):
        return True
    within = [(word, tag) for at, word, tag in words_of if start < at < end + len(word)]
    is_long = len(piece) + (piece[0] in _SURNAMES) >= _LEAST_NAME
    return is_long and any(tag in _PROPER or (len(word) > 1 and not rjieba.has_word(word)) for word, tag in within)


def _is_organisation(found: re.Match[str], words_of: Sequence[tuple[int, str, str]]) -> bool:
    """Whether what stands before `公司` and the like names one: always before legal forms, else if it is no verb.

    Two characters that make no word of the dictionary, as in 信达百货, are a name too.
    """
    before = next((place for place, (at, *_) in enumerate(words_of) if at >= found.start()), 0)
    is_unknown = before > 0 and all(len(word) == 1 for _, word, _ in words_of[before - 1 : before + 1])
    return found["legal"] is not None or is_unknown or words_of[before][2][:1] in _NAMING
