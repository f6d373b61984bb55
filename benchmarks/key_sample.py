"""A sample of the keys made without a model from five corpora, and the shares of those that were judged by reading.

The sample is fixed by hashes: distinct keys but titles, each with one event that carries it. Judgements stand in
`judged_keys.csv` as ids alone, in halves by the hash of the key: `dev` was read while rules were made, `held_out` once
afterwards. A key that the rules no longer make of its event counts in `before` alone.
"""

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from scripted_server import ROOT

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import TITLE, Document, Event, Key
from sag_retrieval.language.detection import detect_language

DATA = ROOT.parent / "shared" / "data"
JUDGED = Path(__file__).parent / "judged_keys.csv"
VERDICTS = ("usable", "wrong", "type", "stray")
"""Usable; cut or joined wrongly; of a wrong type; a common word or a part of something that helps nobody."""
_SPREAD = {"musique": 8, "dragonball-zh": 4, "lihua": 2}
"""Of these every n-th document is read."""


def _half(identity: str) -> str:
    return ("dev", "held_out")[blake2b(identity.encode(), digest_size=4).digest()[0] % 2]


def _files(folder: Path) -> Iterator[Document]:
    for raw in list_source(str(folder)):
        read = parse_document(raw) if isinstance(raw, RawDocument) else raw
        if isinstance(read, Document):
            yield read


def _rows(name: str, file: str, **wanted: str) -> Iterator[Document]:
    rows = pq.read_table(DATA / f"{file}.docs.parquet").to_pylist()
    chosen = [row for row in rows if all(row[field] == value for field, value in wanted.items())]
    for row in chosen[:: _SPREAD[name]]:
        text = f"{row['title']}\n{row['text']}" if "title" in row else row["text"]
        yield Document(row["doc_id"], name, row.get("title", row["doc_id"]), text, detect_language(text))


CORPORA: dict[str, Callable[[], Iterator[Document]]] = {
    "business": lambda: _files(DATA / "business" / "documents"),
    "demo": lambda: _files(ROOT / "data" / "documents"),
    "musique": lambda: _rows("musique", "musique_train"),
    "dragonball-zh": lambda: _rows("dragonball-zh", "dragonball", language="zh"),
    "lihua": lambda: _rows("lihua", "lihua_world"),
}


def _extracted(document: Document) -> Iterator[tuple[Event, Key]]:
    chunks = split_chunks(document, offline_sections(document))
    events = [event for found in offline_events(document, chunks) for event in found]
    events = with_context_dates(document, events)
    by_id = {event.event_id: event for event in events}
    for link in offline_keys(document, chunks, events):
        if link.key.key_type != TITLE:
            yield by_id[link.event_id], link.key


def _order(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def sample(corpus: str, size: int) -> list[dict[str, Any]]:
    """As many distinct keys of a corpus, with one event each."""
    first: dict[str, tuple[Event, Key]] = {}
    for document in CORPORA[corpus]():
        for event, key in _extracted(document):
            kept = first.setdefault(key.key_id, (event, key))
            if _order(event.event_id) < _order(kept[0].event_id):
                first[key.key_id] = (event, key)
    chosen = sorted(first.values(), key=lambda pair: _order(pair[1].key_id))[:size]
    return [
        {
            "half": _half(key.key_id),
            "event_id": event.event_id,
            "key_id": key.key_id,
            "type": key.key_type,
            "key": " ".join(str(part) for part in (key.value, key.unit) if part is not None),
            "event": event.content,
        }
        for event, key in chosen
    ]


def judged() -> dict[str, Any]:
    """Shares of verdicts in percent, by corpus and half: of what was judged, and of what is still made of it."""
    rows: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    with JUDGED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["corpus"]].append(row)
    found: dict[str, Any] = {}
    for corpus, own in rows.items():
        made = {(event.event_id, key.key_id) for document in CORPORA[corpus]() for event, key in _extracted(document)}
        for half in ("dev", "held_out"):
            part = [row for row in own if row["half"] == half]
            still = [row for row in part if (row["event_id"], row["key_id"]) in made]
            found[f"{corpus} {half}"] = {"before": _shares(part), "now": _shares(still)}
    return found


def _shares(rows: list[dict[str, str]]) -> dict[str, float]:
    counts = Counter(row["verdict"] for row in rows)
    shares = {verdict: round(100 * counts[verdict] / max(1, len(rows)), 1) for verdict in VERDICTS}
    return {"keys": len(rows), **shares}
