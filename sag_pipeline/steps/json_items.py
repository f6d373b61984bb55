"""JSON as sources hold it: read with one clear reason where it cannot be, and lists taken apart into their items."""

import json
import re
from dataclasses import dataclass
from typing import Any

MOST_DIGITS = 4300
"""Python's own bound on the digits of a whole number, which keeps reading linear."""
_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; at most {MOST_DIGITS:,} are read")
    return int(digits)


_READ = json.JSONDecoder(parse_int=_whole_number)
_SPLIT = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where a value ends, whatever its numbers are."""


def parse_json(text: str) -> Any:  # noqa: ANN401  any JSON
    """The value of a JSON text.

    Raises:
        ValueError: If it is not JSON, holds a number of too many digits, or is nested too deeply; with the reason.

    """
    try:
        return _READ.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError:
        raise ValueError("not read: nested too deeply") from None


def split_list(text: str) -> list[tuple[int, int]] | None:
    """Where each item of a JSON list begins and ends, in one pass; None if the text is no list.

    An item that cannot be read is still one item as long as its brackets close.

    Raises:
        ValueError: If the list is cut off or goes on after its end.

    """
    at = _after_space(text, 0)
    if text[at : at + 1] != "[":
        return None
    spans: list[tuple[int, int]] = []
    at = _after_space(text, at + 1)
    while text[at : at + 1] != "]" or spans:
        end = _end(text, at)
        spans.append((at, end))
        at = _after_space(text, end)
        if text[at : at + 1] == "]":
            break
        if text[at : at + 1] != ",":
            raise ValueError(f"not JSON: the list breaks off after item {len(spans):,}")
        at = _after_space(text, at + 1)
    if _after_space(text, at + 1) != len(text):
        raise ValueError("not JSON: the file goes on after the end of the list; one value a line belongs into .jsonl")
    return spans


def _after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _end(text: str, start: int) -> int:
    try:
        return _SPLIT.raw_decode(text, start)[1]
    except (ValueError, RecursionError) as error:
        depth = 0
        for token in _TOKEN.finditer(text, start) if text[start : start + 1] in ("[", "{") else ():
            depth += _DEPTH.get(token[0], 0)
            if depth == 0:
                return token.end()
        raise ValueError(f"not JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class Encoded:
    """A JSON text, the codec of its bytes, and how many bytes stand before it."""

    text: str
    encoding: str
    mark: int

    def places(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Offset and length in bytes of each span of characters, in one pass; spans stand in order."""
        found = []
        character, byte = 0, self.mark
        for start, end in spans:
            offset = byte + len(self.text[character:start].encode(self.encoding))
            length = len(self.text[start:end].encode(self.encoding))
            found.append((offset, length))
            character, byte = end, offset + length
        return found


_WITHOUT_MARK = {"utf-8-sig": ("utf-8", 3), "utf-16": ("utf-16", 2), "utf-32": ("utf-32", 4)}


def decode_exactly(payload: bytes) -> Encoded:
    """The text of a JSON file, such that each character's bytes are known: UTF-8, UTF-16, UTF-32 or GB18030.

    Raises:
        ValueError: If its bytes are none of these.

    """
    for encoding in (json.detect_encoding(payload), "gb18030"):
        codec, mark = _WITHOUT_MARK.get(encoding, (encoding, 0))
        if codec in ("utf-16", "utf-32"):
            codec += "-le" if payload[0] == 0xFF else "-be"  # noqa: PLR2004  first byte of a little-endian mark
        try:
            text = payload[mark:].decode(codec)
            if text.encode(codec) == payload[mark:]:
                return Encoded(text, codec, mark)
        except UnicodeError:
            continue
    raise ValueError("the list is written in no encoding that is read exactly; save it as UTF-8")
