"""What a document's headings name and its text speaks of."""

import re
from collections import Counter
from collections.abc import Sequence

from sag_pipeline.rules.names import NameIndex, outside
from sag_pipeline.steps.keys import Mention
from sag_retrieval.text.layout import Line, LineKind, bare_heading
from sag_retrieval.text.words import is_cjk

TOPIC = "topic"
_LEAST_USES = 2
_NUMBER = re.compile(
    r"(?:第[一二三四五六七八九十百\d]++[章节部篇条]|[（(]?[一二三四五六七八九十]{1,3}[）)、．.]|[（(]?[\dIVXivx]{1,4}[.)、）．]"
    r"|(?<!\d)\d{1,9}(?:\.\d{1,9}){0,9}\s|(?:chapter|part|section|appendix)\s+\w+[:.]?)\s*",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u3400-\u9fff]{2,8}")
_ENGLISH = re.compile(r"[a-z]{3,}(?:[ -][a-z]{3,}){0,2}")
_GENERIC = re.compile(
    "introduction|background|summary|conclusions?|overview|contents|notes?|references|appendix|details|history|general"
    "|other|results|discussion|abstract|preface|basic|information|list|name"
    "|前言|引言|背景|概述|概况|总结|结论|目录|附录|附件|其他|其它|说明|备注|摘要|简介|基本信息|内容|正文|参考文献|结语"
)


def topics(text: str, lines: Sequence[Line]) -> list[Mention]:
    """Where the text, headings left out, speaks of what one of its headings is, at least twice; without order."""
    lowered = text.lower()
    if len(lowered) != len(text):
        return []
    heads = [line for line in lines if line.kind in (LineKind.HEADING, LineKind.LABEL)]
    terms = {term for line in heads if (term := _term(lowered[line.start : line.end]))}
    if not terms:
        return []
    index = NameIndex({term: (TOPIC, term) for term in terms})
    places = [Mention(line.start, line.end, TOPIC, "") for line in heads]
    found = outside(index.mentions(lowered), places)
    uses = Counter(str(mention.value) for mention in found)
    return [mention for mention in found if uses[str(mention.value)] >= _LEAST_USES]


def _term(line: str) -> str:
    """What a heading names, if it is short enough to be a term; empty otherwise."""
    words = _NUMBER.sub("", bare_heading(line), count=1).strip()
    pattern = _CHINESE if is_cjk(words) else _ENGLISH
    return words if pattern.fullmatch(words) and not _GENERIC.fullmatch(words) else ""
