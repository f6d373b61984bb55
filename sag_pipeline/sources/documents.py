"""Parse listed documents: decode them, check their fields, and add title, language and version."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from sag_pipeline.sources.conversion import CODE, convert, is_converted
from sag_pipeline.sources.converters.plain import records_text
from sag_pipeline.sources.decoding import clean, decode, parse_json
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import STEP, RawDocument
from sag_retrieval.core.errors import PluginError
from sag_retrieval.core.records import Document, Quarantined
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.layout import Line, LineKind, bare_heading, logical_lines, physical_lines
from sag_retrieval.language.places import PLACES, numbered_places

_TITLE_LENGTH = 120
_SENTENCE_ENDS = tuple(".!?;,:。！？；，：…")
_OWN_FIELDS = frozenset(("id", "title", "text", "metadata", "events"))
_LONGEST_FIELD = 1_000
_SET_OFF = re.compile(r"(?:\A|\n[ \t]*\n[ \t]*\n)[ \t]*(\S[^\n]{0,79})(?=\n[ \t]*\n)")
_LEAST_PARTS = 3
_MOST_LINES = 1_000
_TITLE_WITHIN = 4000
"""The first heading is the title only within these first characters."""


class FieldError(ValueError):
    """A field of a given document is missing, empty or of the wrong type."""


def parse_document(raw: RawDocument, options: SourceOptions | None = None) -> Document | Quarantined:
    """The document, or the reason why it is skipped.

    Time and memory have no bound here: `BoundedReader` sets them.

    The title is the given one, else the first heading, else the file's stem. Text has line feeds for breaks, no control
    characters, composed characters; offsets count from there. `version` is the hash of all that steps read, so two
    spellings of one JSON line are one version.

    Raises:
        MemoryError: If the file needs more memory than this process may have.
    """
    try:
        return _parse(raw, options or SourceOptions())
    except OSError as error:
        return skipped(raw, f"disappeared or cannot be read: {error.strerror or error}", is_passing=True)
    except PluginError as error:
        return skipped(raw, str(error), is_passing=True)
    except RecursionError:
        return skipped(raw, "not read: nested too deeply")
    except ValueError as error:
        return skipped(raw, str(error) or type(error).__name__)


def skipped(raw: RawDocument, reason: str, *, is_passing: bool = False) -> Quarantined:
    """A found document that is skipped, with the reason."""
    return Quarantined(raw.source, raw.path, raw.line, STEP, reason, raw.document_id, is_passing=is_passing)


def document_version(document: Document) -> str:
    """The hash of all that steps read from a document."""
    parts = (document.title, document.text, document.language, document.metadata, document.extraction)
    return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _parse(raw: RawDocument, options: SourceOptions) -> Document:
    payload = raw.read()
    suffix = raw.suffix
    fields: Mapping[str, Any]
    if raw.line is not None:
        _refuse_changed(raw, payload)
    if raw.encoding:
        fields = parse_json(payload.decode(raw.encoding))
    elif suffix == ".json":
        text = decode(payload)
        value = parse_json(text)
        fields = value if isinstance(value, dict) and "text" in value else {"text": records_text(value) or text}
    elif is_converted(suffix):
        title, text, places, metadata = convert(suffix, payload, options)
        is_workbook = any(name.startswith("sheet ") for _, name in places)
        fields = {
            "title": PurePosixPath(raw.path).stem if is_workbook else title,  # a sheet names itself alone
            "text": text,
            "metadata": {**metadata, **({PLACES: parts} if (parts := places or numbered_places(clean(text))) else {})},
        }
    elif suffix.removeprefix(".") in CODE:
        text = clean(decode(payload)).replace("\t", "    ")
        fields = {"title": PurePosixPath(raw.path).name, "text": text, "metadata": {PLACES: line_places(text)}}
    else:
        text = clean(decode(payload))
        fields = {"text": text, "metadata": {PLACES: parts} if (parts := _parts(text)) else None}
    return _document(raw, fields)


def _parts(text: str) -> list[tuple[int, str]]:
    return numbered_places(text) or set_off_headings(text)


def _refuse_changed(raw: RawDocument, payload: bytes) -> None:
    if blake2b(payload.strip(), digest_size=16).hexdigest() != raw.version:
        raise ValueError("the file changed while it was being read; run again")


def _document(raw: RawDocument, fields: Mapping[str, Any]) -> Document:
    _field(fields, "id", (str, int), "")
    text = clean(_field(fields, "text", (str,), ""))
    if not text.strip():
        raise FieldError("no text" if "text" in fields else "field 'text' is missing")
    title = " ".join(clean(_field(fields, "title", (str,), "")).split())
    metadata = {**_plain_fields(fields), **_field(fields, "metadata", (dict,), {})}
    events = _field(fields, "events", (list,), None)
    if events is not None:
        _check_events(events)
    document = Document(
        document_id=raw.document_id,
        source=raw.source,
        title=title or first_heading(text) or PurePosixPath(raw.path).stem,
        text=text,
        language=detect_language(text),
        metadata=_json(metadata),
        extraction=None if events is None else _json(events),
    )
    return replace(document, version=document_version(document))


def _plain_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The other fields of a record that are plain values: its date, its author."""
    return {
        name: value
        for name, value in fields.items()
        if name not in _OWN_FIELDS and isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_FIELD
    }


def first_heading(text: str) -> str:
    """The first marked heading near the text's start, or a first line that stands alone like one; else empty."""
    head = text[:_TITLE_WITHIN]
    lines = logical_lines(head)
    if lines and _stands_alone(head, lines):
        lines = [lines[0]]
    elif lines:
        lines = [line for line in lines if line.kind is LineKind.HEADING]
    return " ".join(bare_heading(head[lines[0].start : lines[0].end]).split())[:_TITLE_LENGTH] if lines else ""


def line_places(text: str) -> list[tuple[int, str]]:
    r"""First character and name of each line; of a long text, of every second, third … line, at most 1,000 in all.

    Example:
        >>> line_places("a: 1\nb: 2\n")
        [(0, 'line 1'), (5, 'line 2')]
    """
    starts = [line.start for line in physical_lines(text)]
    return [(starts[row], f"line {row + 1}") for row in range(0, len(starts), 1 + len(starts) // _MOST_LINES)]


def set_off_headings(text: str) -> list[tuple[int, str]]:
    r"""First character and text of the headings of a plain text: short lines under two empty lines and over one.

    Books without marks are set so. Fewer than three, or one over half of the text, do not divide it.

    Example:
        >>> set_off_headings("STAVE ONE\n\nOld.\n\n\nSTAVE TWO\n\nYoung.\n\n\nSTAVE THREE\n\nLast.\n")
        [(0, 'STAVE ONE'), (18, 'STAVE TWO'), (38, 'STAVE THREE')]
    """
    found = [
        (match.start(1), " ".join(match[1].split()))
        for match in _SET_OFF.finditer(text)
        if not match[1].rstrip().endswith(_SENTENCE_ENDS[3:-1]) and any(map(str.isalpha, match[1]))
    ]
    starts = [at for at, _ in found]
    longest = max((end - start for start, end in pairwise([*starts, len(text)])), default=0)
    return found if len(found) >= _LEAST_PARTS and longest <= len(text) / 2 else []


def _stands_alone(text: str, lines: Sequence[Line]) -> bool:
    first = text[lines[0].start : lines[0].end]
    gap = text[lines[0].end : lines[1].start] if len(lines) > 1 else ""
    is_short = len(first) <= _TITLE_LENGTH // 2 and "\n" not in first and not first.endswith(_SENTENCE_ENDS)
    return (
        lines[0].kind in (LineKind.PROSE, LineKind.LABEL)
        and is_short
        and gap.count("\n") > 1
        and any(map(str.isalpha, first))
    )


def _field(fields: Mapping[str, Any], name: str, types: tuple[type, ...], default: Any) -> Any:  # noqa: ANN401
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, types) or isinstance(value, bool):
        wanted = " or ".join(kind.__name__ for kind in types)
        raise FieldError(f"field {name!r} must be {wanted}, got {type(value).__name__}")
    return value


def _check_events(events: list[Any]) -> None:
    for number, event in enumerate(events, 1):
        if not isinstance(event, dict) or not isinstance(event.get("content"), str):
            raise FieldError(f"event {number} must be an object with a text `content`")
        for name in ("keys", "triples"):
            if not isinstance(event.get(name) or [], list):
                raise FieldError(f"{name} of event {number} must be a list")
        for key in event.get("keys") or []:
            if not isinstance(key, dict) or not isinstance(key.get("value"), str | int | float):
                raise FieldError(f"a key of event {number} must be an object with type and value")


def _json(value: object) -> str:
    return clean(json.dumps(_cleaned(value), ensure_ascii=False, sort_keys=True))


def _cleaned(value: object) -> object:
    """The value with every text and name cleaned: JSON hides control characters behind escapes."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(item) for name, item in value.items()}
    return value
