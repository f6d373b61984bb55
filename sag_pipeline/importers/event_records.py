"""Event and entity records: statements with the entities they name, as AutoSchemaKG writes them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sag_pipeline.importers import records
from sag_pipeline.steps.places import Places
from sag_retrieval.text.words import fold

_TEXT = ("text", "original_text", "passage", "content")
_RELATIONS = ("entity_relations", "entity_relation_dict", "triples")


def event_documents(rows: Iterable[records.SourceRow]) -> Iterator[records.GivenDocument]:
    """One document a row with a text: its events with their entities as keys.

    Reads the columns `text`, `events` (or `event_entity_dict`; objects with `Event` and `Entity`, names in
    any case), `entity_relations` (objects with `Head`, `Relation`, `Tail`), and `id`, `title`. A triple
    belongs to the first event that names both ends; one that no event holds becomes an event. Equal ids are
    counted up.
    """
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        text = str(records.first_of(row, _TEXT) or "")
        if not text.strip():
            continue
        name = _id_of(row, number)
        seen[name] += 1
        document_id = name if seen[name] == 1 else f"{name}#{seen[name]}"
        yield _document(document_id, text, row)


def _id_of(row: records.SourceRow, number: int) -> str:
    own = records.first_of(row, ("doc_id", "document_id", "id"))
    parts = [own] if own is not None else [row.get(name) for name in ("collection", "model", "chunk_id")]
    return "/".join(str(part) for part in parts if part) or str(number)


def _document(document_id: str, text: str, row: records.SourceRow) -> records.GivenDocument:
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
    for raw in records.listed(records.first_of(row, _RELATIONS)):
        triple = records.as_triple(raw)
        if triple is None:
            left_out["broken triple"] += 1
        else:
            found.append(triple)
    return list(dict.fromkeys(found))


def _statements_with(names: Iterable[str], statements: Sequence[str]) -> dict[str, dict[int, None]]:
    """By name the rows of the statements that hold it, in order."""
    places = Places(names)
    rows_of: dict[str, dict[int, None]] = {}
    for row, content in enumerate(statements):
        for _, name in places.within(fold(content)):
            rows_of.setdefault(name, {})[row] = None
    return rows_of


def _with_triples(
    statements: Mapping[str, tuple[tuple[str, str], ...]], triples: Iterable[tuple[str, str, str]]
) -> tuple[list[records.GivenEvent], list[tuple[str, str, str]]]:
    """The events with the triples they hold, and the triples that none holds."""
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
