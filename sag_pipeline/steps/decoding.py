"""Bytes of unknown encoding to clean text."""

import codecs
import re
import unicodedata

from sag_retrieval.text.words import ORDER_MARKS, mark_runs

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


def decode(payload: bytes) -> str:
    """Text of the bytes: by byte-order mark, else UTF-8, UTF-16, GB18030 or Windows Latin, whichever fits.

    UTF-8 with a few broken bytes stays UTF-8, the broken ones become U+FFFD. GB18030 is taken where most bytes outside
    ASCII stand in pairs of its common range; Latin letters stand alone.

    Raises:
        ValueError: If the bytes are not text: many control characters are left.

    """
    text = _decoded(payload)
    sample = text[:_SAMPLE]
    controls = len(_CONTROLS.findall(sample))
    if sample and controls > _FEW_CONTROLS * len(sample):
        raise ValueError(f"not a text: {controls} of its first {len(sample)} characters are control characters")
    return text


def clean(text: str) -> str:
    """The text as documents keep it: line feeds for line breaks, no controls, no marks that reorder it, NFC.

    Composing sorts the marks of a character, in time that grows with their square; so a run of more than 30 is divided
    by U+034F, as Unicode's Stream-Safe Text Format has it (UAX #15). Linear in the text.
    """
    text = without_surrogates(_ORDER_MARKS.sub("", _CONTROLS.sub("", _BREAKS.sub("\n", text))))
    return _JOINER.join(unicodedata.normalize("NFC", piece) for piece in mark_runs(text))


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for what no file can hold."""
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
