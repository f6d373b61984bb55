"""Decode bytes of unknown encoding to clean text, and JSON to its values and to where the items of a list lie."""

import codecs
import json
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sag_retrieval.language.words import ORDER_MARKS, mark_runs

MOST_DIGITS = 4300
"""Python's own bound on the digits of a whole number, which keeps reading linear."""
_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 16
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_GB2312_PAIR = re.compile(rb"[\xa1-\xa9\xb0-\xf7][\xa1-\xfe]")
_MOST = 0.7
_FEW_FAULTS = 0.01
_FEW_CONTROLS = 0.05
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")
_ORDER_MARKS = re.compile(f"[{ORDER_MARKS}]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_JOINER = "\u034f"
_DECLARED = re.compile(rb"(?i)charset\s{0,9}=\s{0,9}[\"']?([a-z0-9_-]{2,30})")
_DECLARED_WITHIN = 2048


def decode(payload: bytes) -> str:
    """Text of the bytes: by byte-order mark, else UTF-8, UTF-16, GB18030 or Windows Latin, whichever fits.

    UTF-8 with a few broken bytes stays UTF-8; they become U+FFFD. GB18030 is assumed where most bytes outside
    ASCII form pairs of its common range; Latin letters come singly.

    Raises:
        ValueError: If the bytes are not text: many control characters are left.
    """
    text = _decoded(payload)
    sample = text[:_SAMPLE]
    controls = len(_CONTROLS.findall(sample))
    if sample and controls > _FEW_CONTROLS * len(sample):
        raise ValueError(f"not a text: {controls} of its first {len(sample)} characters are control characters")
    return text


def decode_html(payload: bytes) -> str:
    """Text of a page: as `decode` if it is UTF-8 or has a byte-order mark, else by the encoding that it declares."""
    declared = _DECLARED.search(payload[:_DECLARED_WITHIN])
    if declared and not payload.startswith(tuple(mark for mark, _ in _BOMS)):
        try:
            payload.decode("utf-8")
        except UnicodeDecodeError:
            with suppress(LookupError, UnicodeDecodeError):
                return payload.decode(declared[1].decode("ascii"))
    return decode(payload)


def clean(text: str) -> str:
    """Normalise a text for storage: line feeds for line breaks, no control characters or direction marks, NFC.

    Composing sorts the marks of a character, in time that grows with their square; so a run of more than 30 is divided
    by U+034F, as in Unicode's Stream-Safe Text Format (UAX #15). Linear in the text.
    """
    text = without_surrogates(_ORDER_MARKS.sub("", _CONTROLS.sub("", _BREAKS.sub("\n", text))))
    return _JOINER.join(unicodedata.normalize("NFC", piece) for piece in mark_runs(text))


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no file can store."""
    return _SURROGATES.sub("\ufffd", text)


def _decoded(payload: bytes) -> str:
    for mark, encoding in _BOMS:
        if payload.startswith(mark):
            return payload.decode(encoding, "replace")
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        return _legacy(payload)
    return _wide(payload) or text


def _wide(payload: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    sample = payload[:_SAMPLE]
    half = len(sample) // 2
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = sample[first::2].count(0), sample[1 - first :: 2].count(0)
        if half and zeros > half / 2 and others < half / 10:
            return payload.decode(encoding, "replace")
    return None


def _legacy(payload: bytes) -> str:
    utf8 = payload.decode("utf-8", "replace")
    outside = sum(1 for character in utf8 if character > "\x7f")
    if utf8.count("\ufffd") <= max(1, _FEW_FAULTS * outside) < outside:
        return utf8
    wide = _wide(payload)
    if wide is not None:
        return wide
    high = paired = 0
    for run in _HIGH_RUN.finditer(payload):
        high += len(run[0])
        paired += 2 * len(_GB2312_PAIR.findall(run[0]))
    if paired >= _MOST * high:
        return payload.decode("gb18030", "replace")
    return payload.decode("cp1252", "replace") if b"\x81" not in payload else payload.decode("latin-1")


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits):,} digits; at most {MOST_DIGITS:,} are read")
    return int(digits)


MOST_LEVELS: Final = 500
"""Lists and objects of JSON inside one another; how deep Python itself reads depends on its version and the caller."""


def _levels(text: str) -> int:
    """How many lists and objects of a JSON text lie inside one another, at most."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return 0
    level = most = 0
    for match in _TOKEN.finditer(text):
        level += _DEPTH.get(match[0], 0)
        most = max(most, level)
    return most


_READ = json.JSONDecoder(parse_int=_whole_number)
_SPLIT = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where a value ends, whatever its numbers are."""


def parse_json(text: str) -> Any:  # noqa: ANN401  any JSON
    """The value of a JSON text.

    Raises:
        ValueError: If it is not JSON, holds a number of too many digits, or is nested too deeply; with the reason.
    """
    try:
        value = _READ.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError:
        value, levels = None, MOST_LEVELS + 1
    else:
        levels = _levels(text)
    if levels > MOST_LEVELS:
        raise ValueError(
            f"not read: nested too deeply; at most {MOST_LEVELS} lists and objects inside one another are read"
        )
    return value


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
            raise ValueError(f"not JSON: the list ends early after item {len(spans):,}")
        at = _after_space(text, at + 1)
    if _after_space(text, at + 1) != len(text):
        raise ValueError("not JSON: the file goes on after the end of the list; store one value per line as .jsonl")
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
    """The text of a JSON file, such that each character's bytes are known: UTF-8, UTF-16, UTF-32 or GB18030."""
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
