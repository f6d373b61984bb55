"""Rows of files of other systems, and documents with supplied events as lines of JSONL."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sag_pipeline.extract.places import Places
from sag_pipeline.extract.triples import is_entity, relation_name
from sag_pipeline.sources.decoding import without_surrogates
from sag_retrieval.core.errors import SourceError
from sag_retrieval.language.dates import dates
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import fold, is_cjk, normal_name

UNTYPED = "entity"
_LONGEST_FIELD = 1 << 28
"""Characters of one CSV field: it may hold a whole document."""
SourceRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GivenEvent:
    """A statement, its keys as (type, value), and its triples."""

    content: str
    keys: tuple[tuple[str, str], ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    """What its triples say besides."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other names of its keys, by value."""
    unnamed: int = 0
    """Ends of its triples that are ids of nothing known."""

    def record(self) -> dict[str, Any]:
        """The event as documents supply it."""
        other = {value: {"same_as": list(names)} for value, names in self.aliases.items() if names}
        keys = [{"type": key_type, "value": value} | other.get(value, {}) for key_type, value in self.keys]
        parts = ("head", "relation", "tail")
        triples: list[Any] = [list(triple) for triple in self.triples]
        if self.properties:
            triples = [dict(zip(parts, each, strict=True)) | {"properties": self.properties} for each in self.triples]
        return {"content": self.content, "keys": keys, "triples": triples}


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document with its supplied events; `left_out` counts what could not be used, by reason."""

    document_id: str
    title: str
    text: str
    events: tuple[GivenEvent, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def line(self) -> str:
        """The document as one line of JSON."""
        events = [event.record() for event in self.events]
        record = {"id": self.document_id, "title": self.title, "text": self.text}
        line = json.dumps(record | {"metadata": dict(self.metadata), "events": events}, ensure_ascii=False)
        return without_surrogates(line)


def read_rows(path: Path) -> Iterator[SourceRow]:
    """The rows of a Parquet, JSONL, JSON or CSV file; of a JSON object the rows of its longest list.

    Raises:
        SourceError: If the file is not of the format of its suffix, or a row is not an object.
    """
    if path.suffix not in _READERS:
        raise SourceError(f"{path}: {path.suffix!r} is none of {', '.join(_READERS)}")
    try:
        for number, row in enumerate(_READERS[path.suffix](path), start=1):
            if not isinstance(row, Mapping):
                raise SourceError(f"{path}, row {number}: must be an object, got {type(row).__name__}")
            yield row
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise SourceError(f"{path} cannot be read: {error}") from error


def _parquet(path: Path) -> Iterator[SourceRow]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()


def _json(path: Path) -> Iterator[SourceRow]:
    found = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(found, dict):
        lists = (rows for rows in found.values() if isinstance(rows, list) and all(isinstance(r, dict) for r in rows))
        found = [found] if "text" in found else max(lists, key=len, default=[found])
    yield from found if isinstance(found, list) else [found]


def _json_lines(path: Path) -> Iterator[SourceRow]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def _csv(path: Path) -> Iterator[SourceRow]:
    csv.field_size_limit(_LONGEST_FIELD)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        yield from csv.DictReader(lines)


_READERS = {".parquet": _parquet, ".jsonl": _json_lines, ".json": _json, ".csv": _csv}


def first_of(row: SourceRow, names: Sequence[str]) -> Any:  # noqa: ANN401  whatever the column holds
    """The value of the first of these columns that the row has, or None."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def listed(value: object) -> list[Any]:
    """A list column, whether it holds a list, JSON of one, or nothing."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else []


def as_key(name: str, key_type: str = UNTYPED) -> tuple[str, str]:
    """A name as a key; one without a type that is a date gets the type `date`."""
    if key_type == UNTYPED:
        mention = next(dates(name), None)
        if mention is not None and (mention.start, mention.end) == (0, len(name)) and mention.key_type == "date":
            return "date", str(mention.value)
    return key_type, name


def as_triple(raw: object) -> tuple[str, str, str] | None:
    """Head, relation and tail, or None for anything that is not three texts."""
    if isinstance(raw, Mapping):
        folded = {str(name).lower(): value for name, value in raw.items()}
        raw = [
            first_of(folded, names) for names in (("head", "subject"), ("relation", "predicate"), ("tail", "object"))
        ]
    if not isinstance(raw, Sequence) or isinstance(raw, str) or len(raw) != 3:  # noqa: PLR2004  a triple
        return None
    if not all(isinstance(part, str) and part.strip() for part in raw):
        return None
    head, relation, tail = (" ".join(part.split()) for part in raw)
    return head, relation, tail


def statement(triple: tuple[str, str, str]) -> str:
    """A triple as a sentence.

    Examples:
        >>> statement(("Ada", "was born in", "London")), statement(("张角", "遇到", "南华老仙"))
        ('Ada was born in London.', '张角遇到南华老仙。')
    """
    if is_cjk("".join(triple)):
        return "".join(triple) + "。"
    return " ".join(part.replace("_", " ") for part in triple) + "."


def related(triple: tuple[str, str, str]) -> tuple[str, str, str]:
    """A triple with its relation in the normal form."""
    return triple[0], relation_name(triple[1]) or "related_to", triple[2]


def event_of(triple: tuple[str, str, str]) -> GivenEvent:
    """A triple as an event: its statement, with head and tail as keys, bare amounts left out."""
    ends = dict.fromkeys(as_key(name) for name in (triple[0], triple[2]) if is_entity(name))
    return GivenEvent(statement(triple), tuple(ends), (related(triple),))


_PASSAGE_ID = ("doc_id", "document_id", "idx", "id")
_PASSAGE_TEXT = ("text", "passage", "content")
_EVENT_TEXT = ("text", "original_text", "passage", "content")
_EVENT_RELATIONS = ("entity_relations", "entity_relation_dict", "triples")


def openie_documents(
    rows: Iterable[SourceRow], texts: Mapping[str, SourceRow] | None = None
) -> Iterator[GivenDocument]:
    """One document per passage: triples are events; entities in no triple are keys of the sentence they occur in.

    Reads the columns `doc_id` (or `idx`, `id`), `entities` (or `extracted_entities`), `triples` (or
    `extracted_triples`), and `text` (or `passage`), `title` where they are not in `texts`, by id.
    Without `title` the first line is the title. Passages without text are left out.
    """
    for number, row in enumerate(rows):
        document_id = str(first_of(row, _PASSAGE_ID) if first_of(row, _PASSAGE_ID) is not None else number)
        source = (texts or {}).get(document_id, row)
        text = str(first_of(source, _PASSAGE_TEXT) or "")
        if text:
            title = str(source.get("title") or text.split("\n", 1)[0][:80])
            yield _passage(document_id, title, text, row)


def openie_file(source: Path) -> Path:
    """The newest file of extractions below a folder of HippoRAG, `openie_results_….json`; a file is that itself."""
    found = sorted(source.rglob("openie_*results*.json"), key=lambda path: path.stat().st_mtime_ns)
    if source.is_dir() and not found:
        raise SourceError(f"{source} holds no openie_results_….json of HippoRAG; name its folder of outputs")
    return found[-1] if source.is_dir() else source


def _passage(document_id: str, title: str, text: str, row: SourceRow) -> GivenDocument:
    raw = listed(first_of(row, ("triples", "extracted_triples")))
    triples = list(dict.fromkeys(triple for triple in map(as_triple, raw) if triple))
    events = [event_of(triple) for triple in triples]
    used = {normal_name(end) for triple in triples for end in (triple[0], triple[2])}
    names = [str(name) for name in listed(first_of(row, ("entities", "extracted_entities")))]
    left = [name for name in dict.fromkeys(names) if normal_name(name) not in used]
    events += _sentence_events(text, left)
    return GivenDocument(
        document_id,
        title,
        text,
        tuple(events),
        left_out=Counter({"broken triple": sum(as_triple(one) is None for one in raw)}),
    )


def _sentence_events(text: str, names: list[str]) -> Iterator[GivenEvent]:
    """The sentences that contain the names, with those names as keys; a name in no sentence is left out."""
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows_of.setdefault(fold(name), []).append(row)
    places = Places(rows_of)
    for sentence in sentences(text):
        held = {name for _, name in places.within(fold(sentence))}
        rows = sorted(row for name in held for row in rows_of[name])
        keys = tuple(dict.fromkeys(as_key(names[row]) for row in rows))
        if keys:
            yield GivenEvent(" ".join(sentence.split()), keys)


def event_documents(rows: Iterable[SourceRow]) -> Iterator[GivenDocument]:
    """One document per row with text: its events with their entities as keys, as AutoSchemaKG writes them.

    Reads the columns `text`, `events` (or `event_entity_dict`; objects with `Event` and `Entity`, names in
    any case), `entity_relations` (objects with `Head`, `Relation`, `Tail`), and `id`, `title`. A triple
    belongs to the first event that names both ends; a triple in no event becomes an event. Equal ids get a
    number.
    """
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        text = str(first_of(row, _EVENT_TEXT) or "")
        if text.strip():
            own = first_of(row, ("doc_id", "document_id", "id"))
            parts = [own] if own is not None else [row.get(name) for name in ("collection", "model", "chunk_id")]
            name = "/".join(str(part) for part in parts if part) or str(number)
            seen[name] += 1
            yield _event_record(name if seen[name] == 1 else f"{name}#{seen[name]}", text, row)


def _event_record(document_id: str, text: str, row: SourceRow) -> GivenDocument:
    left_out: Counter[str] = Counter()
    statements: dict[str, tuple[tuple[str, str], ...]] = {}
    for raw in listed(first_of(row, ("events", "event_entity_dict"))):
        folded = {str(name).lower(): value for name, value in raw.items()} if isinstance(raw, Mapping) else {}
        content = " ".join(str(first_of(folded, ("event", "content")) or "").split())
        if not content:
            left_out["event without text"] += 1
            continue
        names = [str(name).strip() for name in listed(first_of(folded, ("entity", "entities", "keys")))]
        statements.setdefault(content, tuple(dict.fromkeys(as_key(name) for name in names if name)))
    raws = listed(first_of(row, _EVENT_RELATIONS))
    triples = list(dict.fromkeys(triple for triple in map(as_triple, raws) if triple))
    if broken := sum(as_triple(raw) is None for raw in raws):
        left_out["broken triple"] = broken
    events, free = _with_triples(statements, triples)
    events += [event_of(triple) for triple in free]
    return GivenDocument(document_id, str(row.get("title") or ""), text, tuple(events), left_out=left_out)


def _with_triples(
    statements: Mapping[str, tuple[tuple[str, str], ...]], triples: Sequence[tuple[str, str, str]]
) -> tuple[list[GivenEvent], list[tuple[str, str, str]]]:
    """The events with their triples, and the triples in no event."""
    places = Places(fold(end) for head, _, tail in triples for end in (head, tail))
    rows_of: dict[str, dict[int, None]] = {}
    for row, content in enumerate(statements):
        for _, name in places.within(fold(content)):
            rows_of.setdefault(name, {})[row] = None
    held: dict[int, list[tuple[str, str, str]]] = {}
    free = []
    for triple in triples:
        fewer, more = sorted((rows_of.get(fold(triple[0]), {}), rows_of.get(fold(triple[2]), {})), key=len)
        owner = next((row for row in fewer if row in more), None)
        if owner is None:
            free.append(triple)
        else:
            held.setdefault(owner, []).append(related(triple))
    events = enumerate(statements.items())
    return [GivenEvent(content, keys, tuple(held.get(row, ()))) for row, (content, keys) in events], free
