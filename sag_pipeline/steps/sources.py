"""What a source holds, listed in a stable order without parsing it."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from sag_retrieval.characters import one_line
from sag_retrieval.errors import SettingsError, SourceError
from sag_retrieval.records import Quarantined

SUFFIXES = frozenset({".md", ".txt", ".html", ".htm", ".pdf", ".docx", ".pptx", ".xlsx", ".csv", ".json", ".jsonl"})
STEP = "documents"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Bounds on what is read."""

    max_bytes: int = 50_000_000
    """A larger file, or line of a JSONL file, is put aside."""

    def __post_init__(self) -> None:
        """Refuse a bound that nothing meets."""
        if self.max_bytes < 1:
            raise SettingsError(f"max_bytes={self.max_bytes} must be at least 1")


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document that was found but not read: where its bytes lie, and their hash as `version`."""

    document_id: str
    source: str
    path: str
    """Below the source; the source's own name if it is a file."""
    line: int | None
    """Line of a JSONL file, or item of a JSON list, from 1."""
    version: str
    file: str
    offset: int = 0
    length: int = 0

    def read(self) -> bytes:
        """Its bytes: the file's, or its line's.

        Raises:
            OSError: If the file is gone.

        """
        with Path(self.file).open("rb") as stream:
            stream.seek(self.offset)
            return stream.read(self.length)


Found = RawDocument | Quarantined


def list_source(source: str, options: SourceOptions | None = None) -> Iterator[Found]:
    """Every document below a folder, or in one file, by path and line; what cannot be one comes as `Quarantined`.

    Hidden files and folders are passed over. A file of another kind is put aside, so that nothing is missed in silence.
    A second document of the same id is put aside. Memory grows with the ids alone.

    Raises:
        SourceError: If there is no such file or folder, or the folder cannot be listed.

    Source:
        docs/algorithm.md §extraction.1.

    """
    options = options or SourceOptions()
    root = Path(source)
    if not root.exists():
        raise SourceError(f"source {source!r} does not exist; give a folder or a file that does")
    seen: dict[str, str] = {}
    for file, path in _files(root):
        for found in _list_file(source, file, path, options):
            if isinstance(found, RawDocument):
                first = seen.setdefault(found.document_id, place(found.path, found.line))
                if first != place(found.path, found.line):
                    yield _aside(source, path, found.line, f"id {found.document_id!r} is already used by {first}")
                    continue
            yield found


def place(path: str, line: int | None) -> str:
    """`path` or `path:line`, for messages."""
    return path if line is None else f"{path}:{line}"


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    if not root.is_dir():
        yield root, _printable(root.name)
        return
    try:
        with os.scandir(root) as entries:
            next(entries, None)
    except OSError as error:
        raise SourceError(f"folder {str(root)!r} cannot be listed: {error.strerror}") from error
    yield from _below(root, root)


def _below(root: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        entries = []
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, Path(entry.path))
        else:
            file = Path(entry.path)
            yield file, _printable(file.relative_to(root).as_posix())


def _printable(path: str) -> str:
    """File names need not be text on one line; ids must be."""
    return one_line(path.encode("utf-8", "replace").decode("utf-8"))


def _list_file(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[Found]:
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        yield _aside(source, path, None, f"files of kind {suffix or 'without suffix'!r} are not read")
        return
    try:
        if suffix == ".jsonl":
            yield from _list_lines(source, file, path, options)
        else:
            yield from _list_whole(source, file, path, options)
    except OSError as error:
        yield _aside(source, path, None, f"cannot be read: {error.strerror or error}", path)


def _list_whole(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[Found]:
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size == 0:
            yield _aside(source, path, None, "the file is empty (0 bytes)", path)
            return
        if size > options.max_bytes:
            yield _aside(source, path, None, _too_large(size, options), path)
            return
        items = _items(stream.read()) if file.suffix.lower() == ".json" else None
        stream.seek(0)
        version = _hash(stream)
    whole = RawDocument(path, source, path, None, version, str(file), 0, size)
    if items is None:
        yield whole
        return
    for number, item in enumerate(items, 1):
        own_id = given_id(item) or f"{path}#{number}"
        own_hash = blake2b(json.dumps(item, sort_keys=True).encode(), digest_size=16).hexdigest()
        yield RawDocument(own_id, source, path, number, own_hash, str(file), 0, size)


def _items(payload: bytes) -> list[Any] | None:
    """The objects of a JSON list of documents, or the one object with text; None for any other JSON."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value and all(isinstance(item, dict) and "text" in item for item in value):
        return value
    return None


def _list_lines(source: str, file: Path, path: str, options: SourceOptions) -> Iterator[Found]:
    offset = 0
    is_empty = True
    with file.open("rb") as stream:
        for number, line in enumerate(_bounded_lines(stream, options.max_bytes), 1):
            length, payload = line
            if payload is None:
                is_empty = False
                yield _aside(source, path, number, _too_large(length, options), f"{path}#{number}")
            elif payload.strip():
                is_empty = False
                yield _list_line(source, file, path, number, (offset, payload))
            offset += length
    if is_empty:
        yield _aside(source, path, None, "the file holds no line")


def _bounded_lines(stream: BinaryIO, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Length and content of every line; None for the content of a line that is too long to be held."""
    while line := stream.readline(max_bytes + 1):
        if len(line) <= max_bytes:
            yield len(line), line
            continue
        length = len(line)
        while not line.endswith(b"\n") and (line := stream.readline(_BLOCK)):
            length += len(line)
        yield length, None


def _list_line(source: str, file: Path, path: str, number: int, found: tuple[int, bytes]) -> Found:
    offset, payload = found
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError) as error:
        return _aside(source, path, number, f"the line is not JSON: {error}", f"{path}#{number}")
    if not isinstance(fields, dict):
        reason = f"the line is a {type(fields).__name__}, not an object with `text`"
        return _aside(source, path, number, reason, f"{path}#{number}")
    version = blake2b(payload.strip(), digest_size=16).hexdigest()
    own_id = given_id(fields) or f"{path}#{number}"
    return RawDocument(own_id, source, path, number, version, str(file), offset, len(payload))


def given_id(fields: Mapping[str, Any]) -> str | None:
    """The id an object gives itself, as text; None without one, or if it is of a wrong type (parsing reports that)."""
    own = fields.get("id")
    if isinstance(own, bool) or not isinstance(own, str | int):
        return None
    return _printable(str(own).strip()) or None


def _hash(stream: BinaryIO) -> str:
    digest = blake2b(digest_size=16)
    while block := stream.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _too_large(size: int, options: SourceOptions) -> str:
    return f"{size:,} bytes are over the limit of {options.max_bytes:,}; split it or raise `max_bytes`"


def _aside(source: str, path: str, line: int | None, reason: str, document_id: str | None = None) -> Quarantined:
    """What was put aside; `document_id` names the document it would have been, so that its last version is kept."""
    return Quarantined(source, path, line, STEP, reason, document_id)
