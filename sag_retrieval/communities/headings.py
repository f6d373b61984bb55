"""Cut the heading off that stands glued before a sentence, where the rest says the same without it."""

import re
from typing import Final

from sag_retrieval.text.words import is_cjk

_CAPITALS: Final = re.compile(
    r"^(?!(?:The|A|An|In|On|At|By|For|From|After|As|To|With)\b)"
    r"((?:(?:[A-Z][\w'’-]{0,30}|of|and|the|for|in|on|to|&) ){1,10})"
    r"(?=(?:On|In|At|After|During|From|Since|By|As|When|While|Following|The|This|Upon|Under|With|For|According)"
    r" (?:the |a |an |this |of |[a-z]+ing |[a-z]+ed |\d|[A-Z][a-z]+ \d))"
)
"""Words with capital letters before a preposition or article with one, which no comma or stop parts: two texts."""
_GAP_CJK: Final = re.compile(
    r"^([^\s，。；：、,;!?！？]{0,60}[\u4e00-\u9fff》）)]) +(?=[\u4e00-\u9fff“《「（(]|\d{4}年)"
)
_DASHED: Final = re.compile(r"^([^，。；：,;.]{2,40}?) ?[—–－]{1,2} ?(?=\S)")
_LEAST: Final = 4


def heading_end(text: str) -> int:
    """Where the sentence begins behind a heading that is glued to it; 0 where there is none.

    Examples:
        >>> text = "Temporary Closure On the 4th of May, 2021, the lock at Varn was shut."
        >>> text[heading_end(text):]
        'On the 4th of May, 2021, the lock at Varn was shut.'

    """
    if is_cjk(text):
        found = _GAP_CJK.match(text)
        return found.end() if found else 0
    found = _CAPITALS.match(text)
    return found.end() if found else 0


def unheaded(text: str) -> str:
    """The sentence without a glued heading, if it says by itself what the heading says or stands alone in English."""
    end = heading_end(text)
    if end:
        heading, rest = text[:end].strip(), text[end:]
        return rest if not is_cjk(text) or _is_said(heading, rest) else text
    dashed = _DASHED.match(text)
    if dashed and dashed[1].strip() in text[dashed.end() :]:
        rest = text[dashed.end() :]
        return rest[:1].upper() + rest[1:] if rest[:1].isupper() or is_cjk(rest) else text
    return text


def _is_said(heading: str, rest: str) -> bool:
    """Whether the sentence has the beginning of a Chinese heading, which names its subject, in itself."""
    return heading[:_LEAST] in rest or heading[:2] == rest[:2]
