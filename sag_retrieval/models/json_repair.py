"""Repair the JSON in a model's reply: fences, full-width punctuation, trailing commas, a missing end."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_core import from_json

_STRUCTURE = str.maketrans("｛｝［］：，", "{}[]:,")
_CLOSERS = {'"': '"', "'": "'", "“": "”", "＂": "＂", "”": "”"}
_AFTER_STRING = frozenset(",:}]，：｝］")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"'}
_WORDS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class RepairedJson:
    """A value parsed from a model's text, and whether its end was missing."""

    value: object
    is_truncated: bool = False


def repair_json(text: str) -> RepairedJson:
    """The JSON object or list in a text; the longest if there are several.

    A missing end is closed after the last complete item and reported. Strings are not changed.

    Raises:
        ValueError: If the text holds no object and no list.

    Source:
        docs/algorithm.md §extraction.22.

    Examples:
        >>> repair_json('Here you are: ｛“a”：[1, 2,],}').value
        {'a': [1, 2]}

    """
    found, covered = list[tuple[RepairedJson, int]](), 0
    for start in _starts(text):
        if start >= covered and (value := _read(text, start)) is not None:  # no bracket inside a whole value is a start
            found.append(value[:2])
            covered = max(covered, value[2])
    if not found:
        raise ValueError(f"no JSON object in {text[:80]!r}")
    return max(found, key=lambda each: each[1])[0]


def _starts(text: str) -> list[int]:
    """Where a value may begin: first brackets, after a fence, on a last line; few, so parsing is linear."""
    first = [i for i in (text.find(mark) for mark in "{｛[［") if i >= 0]
    last_line = [i for i in (text.rfind(mark) for mark in ("\n{", "\n｛", "\n[")) if i >= 0]
    fenced = text.find("```json")
    after_fence = [i for i in (text.find(mark, fenced) for mark in "{［[") if i >= 0] if fenced >= 0 else []
    return sorted({*first, *(i + 1 for i in last_line), *after_fence})


def _read(text: str, start: int) -> tuple[RepairedJson, int, int] | None:
    """The value from `start`, its length as strict JSON, and where it ends (0: its end is missing)."""
    tidy, end = _tidy(text, start)
    is_closed = end > 0
    try:
        value = from_json(tidy, allow_partial=not is_closed)
    except ValueError:
        return None
    return (RepairedJson(value, is_truncated=not is_closed), len(tidy), end) if value else None


def _tidy(text: str, start: int) -> tuple[str, int]:
    """The value from `start` as strict JSON, and where it ends (0: its closing bracket is missing)."""
    out: list[str] = []
    depth = 0
    for piece, end in _pieces(text, start):
        if piece in "}]":
            _drop_comma(out)
        depth += (piece in "{[") - (piece in "}]")
        out.append(piece)
        if depth == 0:
            return "".join(out), end
    _drop_comma(out)
    return "".join(out), 0


def _drop_comma(out: list[str]) -> None:
    while out and (out[-1] == "," or out[-1].isspace()):
        out.pop()


def _pieces(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Brackets, separators, strings and bare words, each converted to strict JSON, and where each ends."""
    at = start
    while at < len(text):
        character = text[at]
        if character in _CLOSERS:
            piece, at = _string(text, at)
            yield piece, at
        elif character.isalpha():
            end = at
            while end < len(text) and text[end].isalnum():
                end += 1
            yield _WORDS.get(text[at:end], text[at:end]), end
            at = end
        else:
            at += 1
            yield character.translate(_STRUCTURE), at


def _string(text: str, at: int) -> tuple[str, int]:
    """The quoted string that opens at `at` (unclosed if cut off), and the position after it."""
    closer = _CLOSERS[text[at]]
    out = ['"']
    at += 1
    while at < len(text):
        character = text[at]
        if character == "\\" and at + 1 < len(text):
            out.append(text[at : at + 2] if text[at + 1] in '"\\/bfnrtu' else "\\\\" + text[at + 1])
            at += 2
        elif character == closer and _ends_string(text, at + 1):
            return "".join(out) + '"', at + 1
        else:
            out.append(_ESCAPES.get(character, character))
            at += 1
    return "".join(out), at


def _ends_string(text: str, after: int) -> bool:
    """Whether a quote closes its string: a separator, bracket or the end of the text follows it."""
    while after < len(text) and text[after].isspace():
        after += 1
    return after == len(text) or text[after] in _AFTER_STRING
