"""Which characters text may hold, and which may reach a terminal."""

import re

CONTROLS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters but tab and the two line breaks: a terminal takes them for commands."""
ORDER_MARKS = "\u202a-\u202e\u2066-\u2069"
"""Embeddings, overrides and isolates: they show a text in another order than it is written in."""

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters and Japanese syllables, as ranges for a character class of a regular expression."""

_UNWANTED = re.compile(f"[{CONTROLS}{ORDER_MARKS}]")
_BREAKS = re.compile(r"[\t\r\n\u2028\u2029]")
_HIDDEN = re.compile(f"[{CONTROLS}\r{ORDER_MARKS}\u061c\u200b\u200e\u200f\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(
    r"(\\\\)|\\(?:[bf]|u(?:00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|202[a-e]|206[6-9]))", re.IGNORECASE
)


def without_controls(text: str) -> str:
    r"""The text without control characters and marks that reorder it; joiners and direction marks stay.

    Joiners (U+200C, U+200D) are spelling in Persian and in emoji, direction marks (U+200E, U+200F) are punctuation in
    Arabic and Hebrew. Embeddings, overrides and isolates are not: whoever shows a text isolates it.

    Example:
        >>> without_controls("pay\u202ecod.exe \x1b[2Jnow")
        'paycod.exe [2Jnow'

    """
    return _UNWANTED.sub("", text)


def json_without_controls(text: str) -> str:
    r"""The same for text that may be JSON: also where such a character is written as an escape.

    Example:
        >>> json_without_controls('{"a": "\\u001b]0;x"}')
        '{"a": "]0;x"}'

    """
    return without_controls(_ESCAPED.sub(lambda found: found[1] or "", text))


def one_line(text: str) -> str:
    """A name on one line: no control character, no line break."""
    return _BREAKS.sub(" ", without_controls(text))


def printable(text: str) -> str:
    """What of a text a terminal may be given: no control but tab and line feed, nothing that reorders or hides."""
    return _SURROGATES.sub("\ufffd", _HIDDEN.sub("", text))


def ascii_where_hidden(text: str) -> str:
    r"""JSON text with every character that a terminal may not be given as its escape: the value stays the same.

    Example:
        >>> ascii_where_hidden('"\u202e雨"')
        '"\\u202e雨"'

    """
    return _SURROGATES.sub(_escape, _HIDDEN.sub(_escape, text))


def is_text(text: str) -> bool:
    """Whether it holds whole characters only: a lone surrogate is half of one."""
    return not _SURROGATES.search(text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
