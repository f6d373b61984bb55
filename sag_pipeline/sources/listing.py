"""List the documents of a source in a stable order, without parsing them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Final

from sag_pipeline.sources.bucket_source import fetch, version_of, walk_bucket
from sag_pipeline.sources.conversion import is_read, lacks_ocr
from sag_pipeline.sources.decoding import decode_exactly, parse_json, split_list
from sag_pipeline.sources.folders import BucketFile, Place, SourceOptions, open_regular, printable, suffix_of, walk
from sag_pipeline.sources.web_source import walk_web
from sag_retrieval.core.home_urls import names_bucket, names_web
from sag_retrieval.core.records import Quarantined
from sag_retrieval.language.words import is_text, without_breaks

STEP = "documents"
_BLOCK = 1 << 20
_BEFORE_JSON = b" \t\n\r\x00\xef\xbb\xbf\xff\xfe"
"""Bytes that may stand before a list: white space, also of UTF-16, and byte-order marks."""


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document that was found but not parsed: the place of its bytes, and their hash as `version`."""

    document_id: str
    source: str
    path: str
    """Below the source; the source's own name if it is a file."""
    line: int | None
    """Line of a JSONL file, item of a JSON list, or mail of a mailbox, from 1."""
    version: str
    file: str
    offset: int = 0
    length: int = 0
    encoding: str = ""
    """Codec of a line or an item; empty for a whole file and a mail, whose encoding is found when it is read."""
    remote: BucketFile | None = None
    """Where the bytes of `file` lie, if it is to be fetched when it is read."""
    state: str = ""
    """Of a whole file, as it was found: its size, times and number."""

    @property
    def suffix(self) -> str:
        """By which it is read."""
        return suffix_of(Path(self.file))

    def read(self) -> bytes:
        """Its bytes: the file's, its line's or its item's."""
        with open_regular(Path(self.file)) as stream:
            stream.seek(self.offset)
            return stream.read(self.length)


FoundDocument = RawDocument | Quarantined


VersionOf = Callable[[str, str, str], str]
"""Of a document, its path and the state of its file: the version that was read of it in this state, or nothing."""


def _unknown(document: str, path: str, state: str) -> str:  # noqa: ARG001  as every `VersionOf`
    return ""


def list_source(
    source: str, options: SourceOptions | None = None, name: str | None = None, version_of: VersionOf = _unknown
) -> Iterator[FoundDocument]:
    """Every document below a folder, or in one file, by path and line; what is skipped as `Quarantined`.

    Files of kinds that are not read are counted in one `Quarantined` per kind. A second document of the same id is
    skipped. A folder that cannot be listed or a broken file has a `document_id`, so that the last good version of every
    document there can be kept.
    Memory grows with the ids, and with the items of one JSON list.

    Raises:
        SourceError: If there is no such file or folder, or it cannot be listed; of a bucket also if it is empty.
    """
    options = options or SourceOptions()
    name = source if name is None else name
    seen: dict[str, str] = {}
    unread: dict[str, list[str]] = {}
    for where in _places(source, options):
        suffix = suffix_of(where.file)
        if not where.reason and (lacks_ocr(suffix, options) or not is_read(suffix)):
            unread.setdefault(suffix, []).append(where.path)
            continue
        for found in _list_place(name, where, options, version_of):
            own = place(found.path, found.line)
            if isinstance(found, RawDocument) and (first := seen.setdefault(found.document_id, own)) != own:
                yield _skipped(name, found.path, found.line, f"id {found.document_id!r} is already used by {first}")
            else:
                yield found
    for suffix, paths in unread.items():
        hint = "; pictures need OCR: `sag ingest --set ocr=rapidocr`" if lacks_ocr(suffix, options) else ""
        yield _skipped(name, f"*{suffix}", None, f"{_unread_kind(suffix, paths)}{hint}")


def _places(source: str, options: SourceOptions) -> Iterator[Place]:
    if names_web(source):
        return walk_web(source, options)
    return walk_bucket(source, options) if names_bucket(source) else walk(Path(source), options)


def _unread_kind(suffix: str, paths: Sequence[str]) -> str:
    count = f"{len(paths):,} files" if len(paths) > 1 else "1 file"
    kind = f"of kind {suffix}" if suffix else "without a suffix"
    return f"{count} {kind} {'are' if len(paths) > 1 else 'is'} not read: {paths[0]}{' …' if len(paths) > 1 else ''}"


def place(path: str, line: int | None) -> str:
    """`path` or `path:line`, for messages."""
    return path if line is None else f"{path}:{line}"


def _list_place(source: str, where: Place, options: SourceOptions, version_of: VersionOf) -> Iterator[FoundDocument]:
    path = where.path
    if where.reason:
        yield _skipped(source, path, None, where.reason, path if where.is_unknown else None)
        return
    own, size = _mail_id(where.file, path), int(where.state.partition("|")[0] or 0)
    if 0 < size <= options.max_bytes and (version := version_of(own, path, where.state)):
        yield RawDocument(own, source, path, None, version, str(where.file), 0, size, state=where.state)
    else:
        lister = _LISTERS.get(where.file.suffix.lower(), _list_whole)
        try:
            if where.remote is None:
                for found in lister(source, where.file, path, options):
                    if isinstance(found, RawDocument) and found.line is None:
                        yield replace(found, state=where.state)
                    else:
                        yield found
            else:
                yield from _list_remote(source, where, where.remote, options)
        except OSError as error:
            yield _skipped(source, path, None, f"cannot be read: {error.strerror or error}", path)


def _list_remote(source: str, where: Place, remote: BucketFile, options: SourceOptions) -> Iterator[FoundDocument]:
    """The documents of a file in a bucket; only a file that may hold several is fetched."""
    suffix = where.file.suffix.lower()
    if suffix in (".json", *_LISTERS) and 0 < remote.size <= options.max_bytes:
        fetch(where.file, remote)
        for found in _LISTERS.get(suffix, _list_whole)(source, where.file, where.path, options):
            yield replace(found, remote=remote) if isinstance(found, RawDocument) else found
    elif not remote.size:
        yield _skipped(source, where.path, None, "the file is empty (0 bytes)", where.path)
    elif remote.size > options.max_bytes:
        yield _skipped(source, where.path, None, _too_large(remote.size, options), where.path)
    else:
        version, file = version_of(remote), str(where.file)
        yield RawDocument(where.path, source, where.path, None, version, file, 0, remote.size, remote=remote)


def _list_whole(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[FoundDocument]:
    with open_regular(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size == 0:
            yield _skipped(source, path, None, "the file is empty (0 bytes)", path)
            return
        if size > options.max_bytes:
            yield _skipped(source, path, None, _too_large(size, options), path)
            return
        if file.name.lower().endswith(".json"):
            payload = stream.read()
            items = _list_items(source, file, path, payload)
            if items is not None:
                yield from items
                return
            stream.seek(0)
        version = _hash(stream, size)
    yield RawDocument(_mail_id(file, path), source, path, None, version, str(file), 0, size)


def _mail_id(file: Path, path: str) -> str:
    """The id of a file: its path; of a mail in a Maildir without what changes when it is read or answered."""
    if suffix_of(file) != ".eml" or file.suffix.lower() == ".eml":
        return path
    folder, _, name = path.rpartition("/")
    above = folder.rpartition("/")[0]
    return f"{above}/{name}".lstrip("/").partition(":2,")[0]


def _list_items(source: str, file: Path, path: str, payload: bytes) -> list[FoundDocument] | None:
    """The items of a JSON list of documents; None for any other file."""
    if not payload.lstrip(_BEFORE_JSON).startswith(b"["):
        return None
    try:
        encoded = decode_exactly(payload)
        spans = split_list(encoded.text)
    except ValueError as error:
        return [_skipped(source, path, None, str(error), path)]
    found: list[FoundDocument] = []
    has_documents = False
    for number, (span, (offset, length)) in enumerate(zip(spans or (), encoded.places(spans or []), strict=True), 1):
        digest = blake2b(payload[offset : offset + length], digest_size=16).hexdigest()
        raw = RawDocument("", source, path, number, digest, str(file), offset, length, encoded.encoding)
        try:
            fields = _fields(encoded.text[slice(*span)])
            has_documents |= "text" in fields
            found.append(_named(raw, fields))
        except ValueError as error:
            found.append(_unread(raw, str(error)))
    return found if has_documents else None


def _list_lines(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[FoundDocument]:
    offset = 0
    is_empty = True
    with open_regular(file) as stream:
        for number, (length, payload) in enumerate(_bounded_lines(stream, options.max_bytes), 1):
            is_empty &= payload is not None and not payload.strip()
            if payload is None:
                yield _skipped(source, path, number, _too_large(length, options), f"{path}#{number}")
            elif payload.strip():
                version = blake2b(payload.strip(), digest_size=16).hexdigest()
                raw = RawDocument("", source, path, number, version, str(file), offset, len(payload), "utf-8-sig")
                yield _line(raw, payload)
            offset += length
    if is_empty:
        yield _skipped(source, path, None, "the file holds no line", path)


def _list_mails(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[FoundDocument]:
    """The mails of a mailbox in the order of the file, by Message-ID where they have one."""
    number = 0
    with open_regular(file) as stream:
        for number, (offset, length, payload) in enumerate(_mails(stream, options.max_bytes), 1):
            if payload is None:
                yield _skipped(source, path, number, _too_large(length, options), f"{path}#{number}")
                continue
            version = blake2b(payload.strip(), digest_size=16).hexdigest()
            own = f"{path}#{_message_id(payload) or number}"
            yield RawDocument(own, source, path, number, version, str(file), offset, length)
    if not number:
        yield _skipped(source, path, None, "the mailbox holds no mail", path)


def _mails(stream: BinaryIO, most: int) -> Iterator[tuple[int, int, bytes | None]]:
    """Offset, length and content of each mail; None for the content of one that is too large."""
    start = length = 0
    held: list[bytes] = []
    before = b"\n"
    while line := stream.readline(_BLOCK):
        if before in (b"\n", b"\r\n") and line.startswith(b"From ") and b":" in line:
            if length:
                yield start, length, b"".join(held) if length <= most else None
            start, length, held = start + length, 0, []
        length += len(line)
        if length <= most:
            held.append(line)
        before = line
    if length:
        yield start, length, b"".join(held) if length <= most else None


def _message_id(payload: bytes) -> str:
    lines = iter(payload[:_BLOCK].splitlines())
    for line in lines:
        name, colon, value = line.partition(b":")
        if not line.strip():
            break
        if colon and name.lower() == b"message-id":
            folded = next(lines, b"") if not value.strip() else b""
            own = (value + folded if folded[:1].isspace() else value).strip().strip(b"<>")
            return printable(own.decode("utf-8", "replace"))
    return ""


def _bounded_lines(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Length and content of every line; None for the content of a line that is too long."""
    while line := stream.readline(max_bytes + 1):
        if len(line) <= max_bytes:
            yield len(line), line
            continue
        length = len(line)
        while not line.endswith(b"\n") and (line := stream.readline(_BLOCK)):
            length += len(line)
        yield length, None


def _line(raw: RawDocument, payload: bytes) -> FoundDocument:
    try:
        return _named(raw, _fields(payload.decode(raw.encoding)))
    except UnicodeDecodeError as error:
        return _unread(raw, f"not UTF-8: byte {error.start + 1:,} of the line; save the file as UTF-8")
    except ValueError as error:
        return _unread(raw, str(error))


_LISTERS: Final = {".jsonl": _list_lines, ".mbox": _list_mails}


def _fields(text: str) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"of type {type(value).__name__}, not an object with `text`")  # noqa: TRY004  reported as a reason
    return value


def _named(raw: RawDocument, fields: Mapping[str, Any]) -> RawDocument:
    return replace(raw, document_id=given_id(fields) or f"{raw.path}#{raw.line}")


def _unread(raw: RawDocument, reason: str) -> Quarantined:
    return _skipped(raw.source, raw.path, raw.line, reason, f"{raw.path}#{raw.line}")


def given_id(fields: Mapping[str, Any]) -> str | None:
    """The id an object gives itself, as one line of text without control characters.

    None without one, or if it is of a wrong type (parsing reports that).

    Raises:
        ValueError: If it holds half a character, which two different ids might lose alike.
    """
    own = fields.get("id")
    if isinstance(own, bool) or not isinstance(own, str | int):
        return None
    text = str(own).strip()
    if not is_text(text):
        raise ValueError(f"the id {text!r} holds half a character (a lone surrogate)")
    return without_breaks(text) or None


def _hash(stream: BinaryIO, size: int) -> str:
    digest = blake2b(digest_size=16)
    while block := stream.read(min(_BLOCK, size + 1)):  # a buffer of a block takes longer than a small file
        digest.update(block)
    return digest.hexdigest()


def _too_large(size: int, options: SourceOptions) -> str:
    return f"{size:,} bytes are over the limit of {options.max_bytes:,}; split it or raise `max_bytes`"


def _skipped(source: str, path: str, line: int | None, reason: str, document_id: str | None = None) -> Quarantined:
    """A skipped file, line or item; `document_id` names its document, whose last good version is kept."""
    return Quarantined(source, path, line, STEP, reason, document_id)
