"""The sources of a home: the name, place and last ingest of each."""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa

from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import Store
from sag_retrieval.core import durable
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.home_urls import checked_url, names_bucket, names_web

FILE = "sources.json"
LISTED = "listed"
"""Folder of what was seen of the files of each source, so that unchanged ones are not opened again; see `SeenFiles`."""
ASSET = "asset://"
"""Before the key of an asset whose rows are documents: such a source has no place in the file system."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder or file that documents are read from."""

    name: str
    """As first given; used in the table `documents` and in the ledger."""
    path: str
    """Absolute. Two spellings that lead to the same place are one source."""
    last_ingest: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the file or folder exists now; an asset always does; a bucket or the web is not asked."""
        is_place = not (self.path.startswith(ASSET) or names_bucket(self.path) or names_web(self.path))
        return not is_place or os.path.exists(self.path)  # noqa: PTH110  never raises, whatever the rights


class SeenFiles:
    """Files of a source as its last sync saw them: hashes of path, state and the ledger's hash of what was read."""

    def __init__(self, home: Path, source: str) -> None:
        """Read the hashes; a file of them that is missing or damaged has none."""
        self._file = home / LISTED / f"{blake2b(os.fsencode(source), digest_size=8).hexdigest()}.npy"
        self._now = set[int]()
        self._known = set[int]()
        with suppress(OSError, ValueError, EOFError):
            self._known.update(np.load(self._file).tolist())

    def version(self, path: str, state: str, input_hash: str) -> str:
        """The version of the bytes of a file, if it is as it was when they were read; else empty."""
        return input_hash.rpartition("|")[2] if _seen(path, state, input_hash) in self._known else ""

    def note(self, path: str, state: str, input_hash: str) -> None:
        """Keep what was seen of a file."""
        self._now.add(_seen(path, state, input_hash))

    def save(self) -> None:
        """Write what was noted in place of what was known."""
        if self._now != self._known:
            durable.make_folder(self._file.parent)
            draft = self._file.with_suffix(".new.npy")
            np.save(draft, np.array(sorted(self._now), np.uint64))
            draft.replace(self._file)


def _seen(*parts: str) -> int:
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=8).digest())


class SourceList:
    """The sources of a store, kept in a file next to its ledger."""

    def __init__(self, store: Store | Path) -> None:
        """Read the list, of a home without what only its ledger names; that is resolved from the working directory."""
        home, names = (store, []) if isinstance(store, Path) else (store.home, store.ledger.source_names())
        self._file = home / FILE
        self._sources = {source.name: source for source in self._read()}
        for name in names:
            self._sources.setdefault(name, Source(name, _absolute(name)))

    def __iter__(self) -> Iterator[Source]:
        """Every source in the order of names, one per place."""
        found = {self.find(source.path).name for source in self._sources.values()}
        return iter([self._sources[name] for name in sorted(found)])

    def find(self, given: str) -> Source:
        """The known source at the place that a spelling leads to, or a new one with an unused name."""
        path = _absolute(given)
        known = list(self._sources.values())
        for own in (lambda s: s.path == path, lambda s: os.path.realpath(s.path) == os.path.realpath(path)):
            if found := next(filter(own, known), None):
                return found
        names = (given, path, *(f"{path} ({n})" for n in range(2, len(known) + 3)))
        return Source(next(name for name in names if name not in self._sources), path)

    def known(self, given: str) -> Source:
        """The known source of a name or place; a SourceError if there is none."""
        found = self._sources.get(given, self.find(given))
        if found.name not in self._sources:
            names = ", ".join(source.name for source in self) or "none"
            raise SourceError(f"{given!r} is not a source of this home; known: {names}. See `sag sources list`")
        return found

    def spellings(self, source: Source) -> set[str]:
        """Every name that the ledger has for this source."""
        return {source.name} | {name for name in self._sources if self.find(self._sources[name].path) == source}

    def put(self, source: Source, instead_of: Collection[str] = ()) -> None:
        """Save a source, in place of others; the file is written whole or left as before."""
        self._sources = {n: s for n, s in self._sources.items() if n not in instead_of} | {source.name: source}
        self._write()

    def note_ingest(self, given: str, now: str) -> None:
        """Record when a source was synced."""
        self.put(replace(self.find(given), last_ingest=now))

    def drop(self, names: Collection[str]) -> None:
        """Forget names."""
        self._sources = {n: s for n, s in self._sources.items() if n not in names}
        self._write()

    def _read(self) -> list[Source]:
        if not self._file.is_file():
            return []
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            rows = kept if isinstance(kept, list) else kept["sources"]  # versions before 0.3 wrote the rows alone
            if rows is not kept and kept["digest"] != _digest(rows):
                raise ValueError("its rows have another hash than it names")  # noqa: TRY301
            return [Source(**row) for row in rows]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SourceError(f"{self._file} is damaged ({error}); `sag repair` mends it") from error

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        rows = [asdict(self._sources[name]) for name in sorted(self._sources)]
        kept = {"sources": rows, "digest": _digest(rows)}
        durable.write_text(self._file, json.dumps(kept, ensure_ascii=False, indent=1) + "\n")


def _digest(rows: list[dict[str, str]]) -> str:
    return blake2b(json.dumps(rows, sort_keys=True).encode(), digest_size=16).hexdigest()


def _absolute(given: str) -> str:
    if not given.strip():
        raise SourceError(f"source {given!r} is empty; give a folder or a file")
    if given.startswith(ASSET) or names_web(given):
        return given
    if names_bucket(given):
        return checked_url(given)
    try:
        return os.path.abspath(given)  # noqa: PTH100  links stay, `..` goes
    except OSError as error:
        raise SourceError(f"source {given!r}: the working directory is gone ({error.strerror})") from error


def rename_documents(store: Store, old: Collection[str], new: str) -> None:
    """Give the documents and skipped files of some sources the name of another source, in one commit.

    Rows are rewritten with only that name changed, so no step has anything to do.
    """
    entries = store.ledger.entries("step = 'documents' AND list_contains(?, source)", sorted(old), view="stored")
    documents = {entry.unit: entry for entry in entries if entry.kind == "document"}
    fresh = []
    for part, units in store.places("documents", list(documents), "stored").items():
        rows = of_documents(store.parts.read("documents", part), units)
        column = rows.schema.get_field_index("source")
        rows = rows.set_column(column, rows.schema.field(column), pa.array([new] * len(rows), pa.string()))
        written = store.parts.write("documents", rows, [new, *(f"{u}|{documents[u].output_hash}" for u in units)])
        fresh += [replace(documents[unit], source=new, part=written) for unit in units]
    skipped = [entry for entry in entries if entry.kind == "aside"]
    by_unit = {entry.unit: replace(entry, status="removed") for entry in skipped}
    for entry in skipped:
        unit = unit_of(new, entry.path, entry.line)
        by_unit[unit] = replace(entry, unit=unit, source=new)
    store.ledger.commit([*fresh, *by_unit.values()])


def unit_of(source: str, path: str, line: int) -> str:
    """The ledger unit of a file or line of a source that was skipped with errors."""
    return f"{source}\x1f{path}\x1f{line}"
