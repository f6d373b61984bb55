"""Records of passages as documents: OpenIE's entities and triples, or events with the entities they name."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sag_pipeline.extract.places import Places
from sag_pipeline.importers import records
from sag_retrieval.core.errors import SourceError
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import fold, normal_name

_PASSAGE_ID = ("doc_id", "document_id", "idx", "id")
_PASSAGE_TEXT = ("text", "passage", "content")
_EVENT_TEXT = ("text", "original_text", "passage", "content")
_EVENT_RELATIONS = ("entity_relations", "entity_relation_dict", "triples")


def openie_documents(
    rows: Iterable[records.SourceRow], texts: Mapping[str, records.SourceRow] | None = None
) -> Iterator[records.GivenDocument]:
    """One document per passage: triples are events; entities in no triple are keys of the sentence they occur in.

    Reads the columns `doc_id` (or `idx`, `id`), `entities` (or `extracted_entities`), `triples` (or
    `extracted_triples`), and `text` (or `passage`), `title` where they are not in `texts`, by id.
    Without `title` the first line is the title. Passages without text are left out.
    """
    for number, row in enumerate(rows):
        document_id = str(
            records.first_of(row, _PASSAGE_ID) if records.first_of(row, _PASSAGE_ID) is not None else number
        )
        source = (texts or {}).get(document_id, row)
        text = str(records.first_of(source, _PASSAGE_TEXT) or "")
        if text:
            title = str(source.get("title") or text.split("\n", 1)[0][:80])
            yield _passage(document_id, title, text, row)


def openie_file(source: Path) -> Path:
    """The newest file of extractions below a folder of HippoRAG, `openie_results_….json`; a file is that itself.

    Raises:
        SourceError: If there is none.
    """
    found = sorted(source.rglob("openie_*results*.json"), key=lambda path: path.stat().st_mtime_ns)
    if source.is_dir() and not found:
        raise SourceError(f"{source} holds no openie_results_….json of HippoRAG; name its folder of outputs")
    return found[-1] if source.is_dir() else source


def _passage(document_id: str, title: str, text: str, row: records.SourceRow) -> records.GivenDocument:
    raw = records.listed(records.first_of(row, ("triples", "extracted_triples")))
    triples = list(dict.fromkeys(triple for triple in map(records.as_triple, raw) if triple))
    events = [records.event_of(triple) for triple in triples]
    used = {normal_name(end) for triple in triples for end in (triple[0], triple[2])}
    names = [str(name) for name in records.listed(records.first_of(row, ("entities", "extracted_entities")))]
    left = [name for name in dict.fromkeys(names) if normal_name(name) not in used]
    events += _sentence_events(text, left)
    return records.GivenDocument(
        document_id,
        title,
        text,
        tuple(events),
        left_out=Counter({"broken triple": sum(records.as_triple(one) is None for one in raw)}),
    )


def _sentence_events(text: str, names: list[str]) -> Iterator[records.GivenEvent]:
    """The sentences that contain the names, with those names as keys; a name in no sentence is left out."""
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        rows_of.setdefault(fold(name), []).append(row)
    places = Places(rows_of)
    for sentence in sentences(text):
        held = {name for _, name in places.within(fold(sentence))}
        rows = sorted(row for name in held for row in rows_of[name])
        keys = tuple(dict.fromkeys(records.as_key(names[row]) for row in rows))
        if keys:
            yield records.GivenEvent(" ".join(sentence.split()), keys)


def event_documents(rows: Iterable[records.SourceRow]) -> Iterator[records.GivenDocument]:
    """One document per row with text: its events with their entities as keys, as AutoSchemaKG writes them.

    Reads the columns `text`, `events` (or `event_entity_dict`; objects with `Event` and `Entity`, names in
    any case), `entity_relations` (objects with `Head`, `Relation`, `Tail`), and `id`, `title`. A triple
    belongs to the first event that names both ends; a triple in no event becomes an event. Equal ids get a
    number.
    """
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        text = str(records.first_of(row, _EVENT_TEXT) or "")
        if not text.strip():
            continue
        name = _id_of(row, number)
        seen[name] += 1
        document_id = name if seen[name] == 1 else f"{name}#{seen[name]}"
        yield _event_record(document_id, text, row)


def _id_of(row: records.SourceRow, number: int) -> str:
    own = records.first_of(row, ("doc_id", "document_id", "id"))
    parts = [own] if own is not None else [row.get(name) for name in ("collection", "model", "chunk_id")]
    return "/".join(str(part) for part in parts if part) or str(number)


def _event_record(document_id: str, text: str, row: records.SourceRow) -> records.GivenDocument:
    left_out: Counter[str] = Counter()
    statements: dict[str, tuple[tuple[str, str], ...]] = {}
    for raw in records.listed(records.first_of(row, ("events", "event_entity_dict"))):
        folded = {str(name).lower(): value for name, value in raw.items()} if isinstance(raw, Mapping) else {}
        content = " ".join(str(records.first_of(folded, ("event", "content")) or "").split())
        if not content:
            left_out["event without text"] += 1
            continue
        names = [str(name).strip() for name in records.listed(records.first_of(folded, ("entity", "entities", "keys")))]
        statements.setdefault(content, tuple(dict.fromkeys(records.as_key(name) for name in names if name)))
    triples = _triples(row, left_out)
    events, free = _with_triples(statements, triples)
    events += [records.event_of(triple) for triple in free]
    title = str(row.get("title") or "")
    return records.GivenDocument(document_id, title, text, tuple(events), left_out=left_out)


def _triples(row: records.SourceRow, left_out: Counter[str]) -> list[tuple[str, str, str]]:
    found = []
    for raw in records.listed(records.first_of(row, _EVENT_RELATIONS)):
        triple = records.as_triple(raw)
        if triple is None:
            left_out["broken triple"] += 1
        else:
            found.append(triple)
    return list(dict.fromkeys(found))


def _statements_with(names: Iterable[str], statements: Sequence[str]) -> dict[str, dict[int, None]]:
    """For each name the rows of the statements that contain it, in order."""
    places = Places(names)
    rows_of: dict[str, dict[int, None]] = {}
    for row, content in enumerate(statements):
        for _, name in places.within(fold(content)):
            rows_of.setdefault(name, {})[row] = None
    return rows_of


def _with_triples(
    statements: Mapping[str, tuple[tuple[str, str], ...]], triples: Iterable[tuple[str, str, str]]
) -> tuple[list[records.GivenEvent], list[tuple[str, str, str]]]:
    """The events with their triples, and the triples in no event."""
    held: dict[str, list[tuple[str, str, str]]] = {content: [] for content in statements}
    free = []
    named = [(triple, fold(triple[0]), fold(triple[2])) for triple in triples]
    rows_of = _statements_with({end for _, *ends in named for end in ends}, list(statements))
    contents = list(statements)
    for triple, head, tail in named:
        fewer, more = sorted((rows_of.get(head, {}), rows_of.get(tail, {})), key=len)
        owner = next((contents[row] for row in fewer if row in more), None)
        if owner is None:
            free.append(triple)
        else:
            held[owner].append(records.related(triple))
    return [records.GivenEvent(content, keys, tuple(held[content])) for content, keys in statements.items()], free
