"""OpenIE records: entities and triples of each passage become events."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from sag_pipeline.importers import records
from sag_pipeline.steps.places import Places
from sag_retrieval.text.sentences import sentences
from sag_retrieval.text.words import fold, normal_name

_ID = ("doc_id", "document_id", "idx", "id")
_TEXT = ("text", "passage", "content")


def openie_documents(
    rows: Iterable[records.SourceRow], texts: Mapping[str, records.SourceRow] | None = None
) -> Iterator[records.GivenDocument]:
    """One document a passage: triples are events; entities in none are keys of the sentence they stand in.

    Reads the columns `doc_id` (or `idx`, `id`), `entities` (or `extracted_entities`), `triples` (or
    `extracted_triples`), and `text` (or `passage`), `title` where they are not in `texts`, by id.
    A passage whose first line is its title may leave `title` out. Passages without text are left out.
    """
    for number, row in enumerate(rows):
        document_id = str(records.first_of(row, _ID) if records.first_of(row, _ID) is not None else number)
        source = (texts or {}).get(document_id, row)
        text = str(records.first_of(source, _TEXT) or "")
        if text:
            title = str(source.get("title") or text.split("\n", 1)[0][:80])
            yield _document(document_id, title, text, row)


def _document(document_id: str, title: str, text: str, row: records.SourceRow) -> records.GivenDocument:
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
    """The sentences that hold the names, with those names as keys; a name that stands nowhere is left out."""
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
