"""Represent converted text as pieces that name their page, slide, sheet or heading; write a paragraph as one line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

_CJK = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_CJK_BREAK = re.compile(rf"(?<=[{_CJK}])\s*\n\s*(?=[{_CJK}])")
_HYPHEN_BREAK = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[a-zà-ÿ])")


class BoundError(ValueError):
    """A file is larger than a converter may receive."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a document's text; pieces are concatenated as they are."""

    text: str
    place: str = ""
    """Where it stands, as a citation shows it: `p. 4`, `slide 2`, `sheet Costs`; empty if unknown."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Title, where the file names one, and the text; pieces may be made while they are read."""

    title: str | None
    pieces: Iterable[TextPiece]


def one_paragraph(text: str, *, is_hyphenated: bool = False) -> str:
    r"""A paragraph without its soft line breaks: a space for each, none between Chinese or Japanese characters.

    Args:
        text: Lines of one paragraph.
        is_hyphenated: Whether a hyphen before a break divides a word.

    Example:
        >>> one_paragraph("Seals are\n  replaced. 密封圈\n已更换。")
        'Seals are replaced. 密封圈已更换。'

    """
    text = text.strip().replace("\u200b", "")
    if "\n" in text:
        text = _CJK_BREAK.sub("", text)
        text = _HYPHEN_BREAK.sub("", text) if is_hyphenated else text
    return " ".join(text.split())


def joined(blocks: Sequence[str]) -> str:
    """Blocks with an empty line between them, but for rows of a table and items of a list."""
    parts = list(blocks[:1])
    for before, block in pairwise(blocks):
        is_tight = before[:2] == block[:2] and block.startswith(("| ", "- "))
        parts += ["\n" if is_tight else "\n\n", block]
    return "".join(parts)
