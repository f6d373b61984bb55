"""Keys without a model: names against recorded ones, shares of keys and dated events by language, and speed.

python benchmarks/keys.py [names] [business] [speed]
python benchmarks/keys.py judged                 shares of judged keys (`judged_keys.csv`), before and now
python -m benchmarks.keys --sample N CORPUS      N keys of a corpus with their events, to be judged

`--recogniser NAME` takes names and speed of another recogniser than the rules, such as those of
`examples/sag-recognisers`.

Every set is divided in halves by the hash of the ids: rules are made on `dev`, `held_out` is only looked at.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

import csv
import sys
from pathlib import Path

from scripted_server import ROOT

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys, read_mentions
from sag_pipeline.extract.rules.recogniser import RULES
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import Document, Event, EventKey
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.words import normal_name

sys.path.insert(0, str(Path(__file__).parent))


from sag_retrieval.core.records import TITLE, Key

DATA = ROOT.parent / "shared" / "data"
JUDGED = Path(__file__).parent / "judged_keys.csv"
VERDICTS = ("usable", "wrong", "type", "stray")
"""Usable; cut or joined wrongly; of a wrong type; a common word or a part of something that helps nobody."""
RECOGNISER = RULES
"""Who finds names; `--recogniser` sets it."""
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
    for link in offline_keys(document, chunks, events, recogniser=RECOGNISER):
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


DATA = ROOT.parent / "shared" / "data"
HALVES = ("dev", "held_out")
NAME_TYPES = frozenset({"person", "organisation", "place", "product", "work", "entity"})


def half(identity: str) -> str:
    """The half that a passage or document belongs to, whichever run asks."""
    return HALVES[blake2b(identity.encode(), digest_size=4).digest()[0] % 2]


def is_name(recorded: str) -> bool:
    """Whether a recorded entity is a name: written with a capital, and no date."""
    if not any(map(str.isupper, recorded)):
        return False
    longest = max((found.end - found.start for found in dates(recorded)), default=0)
    return not longest or longest < len(recorded.strip(" .,")) - 6


def names() -> dict[str, dict[str, float]]:
    """Recall of the names that a model recorded for the passages of MuSiQue, and precision, in percent.

    A mention counts by its value or as it is written (`U.S.` has the value `United States`). `all` counts every
    recorded entity as wanted, also common nouns and dates.
    """
    rows = pq.read_table(DATA / "musique_train.extraction.parquet").to_pylist()
    recorded = {row["doc_id"]: row["entities"] for row in rows}
    tally: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in pq.read_table(DATA / "musique_train.docs.parquet").to_pylist():
        text = f"{row['title']}\n{row['text']}"
        mentions = [found for found in read_mentions(text, "en", RECOGNISER)[0] if found.key_type in NAME_TYPES]
        spelt: defaultdict[str, set[str]] = defaultdict(set)
        for found in mentions:
            value = normal_name(str(found.value))
            spelt[value] |= {value, normal_name(text[found.start : found.end])}
        every = {normal_name(entity) for entity in recorded[row["doc_id"]]} - {""}
        wanted = {normal_name(entity) for entity in recorded[row["doc_id"]] if is_name(entity)} - {""}
        surfaces = set().union(*spelt.values()) if spelt else set()
        tally[half(row["doc_id"])] += Counter(
            passages=1,
            found=len(spelt),
            right=sum(bool(forms & every) for forms in spelt.values()),
            wanted=len(wanted),
            hit=len(wanted & surfaces),
            wanted_all=len(every),
            hit_all=len(every & surfaces),
        )
    return {
        name: {
            "passages": each["passages"],
            "recall": 100 * each["hit"] / each["wanted"],
            "precision": 100 * each["right"] / each["found"],
            "recall_of_all": 100 * each["hit_all"] / each["wanted_all"],
        }
        for name, each in sorted(tally.items())
    }


def business() -> dict[str, Any]:
    """Of the messy business documents: key types, and the share of events with a date, by half and language."""
    documents: defaultdict[str, list[Document]] = defaultdict(list)
    for raw in list_source(str(DATA / "business" / "documents")):
        read = parse_document(raw) if isinstance(raw, RawDocument) else raw
        if isinstance(read, Document):
            documents[half(read.document_id)].append(read)
    return {name: _measures(documents[name]) for name in HALVES}


def _measures(documents: Sequence[Document]) -> dict[str, Any]:
    keys: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    events: Counter[str] = Counter()
    dated: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    for document in documents:
        made, links = extracted(document)
        own = {link.event_id for link in links if link.key.key_type == DATE}
        keys[document.language] |= {(link.key.key_type, str(link.key.value)) for link in links}
        events[document.language] += len(made)
        for event in made:
            source = "text" if event.event_id in own else event.context_source
            dated[document.language] += source is not None
            sources[source or "none"] += 1
    distinct = set().union(*keys.values())
    return {
        "documents": Counter(document.language for document in documents),
        "keys": Counter(key_type for key_type, _ in distinct),
        "entity_percent": {
            language: 100 * sum(key_type == "entity" for key_type, _ in each) / max(1, len(each))
            for language, each in (*sorted(keys.items()), ("all", distinct))
        },
        "events_with_a_date_percent": {
            language: 100 * dated[language] / events[language] for language in sorted(events)
        },
        "date_sources": sources,
    }


def extracted(document: Document) -> tuple[list[Event], list[EventKey]]:
    """Events with their dates, and keys, as an ingest without a model makes them."""
    chunks = split_chunks(document, offline_sections(document))
    events = [event for found in offline_events(document, chunks) for event in found]
    events = with_context_dates(document, events)
    return events, offline_keys(document, chunks, events, recogniser=RECOGNISER)


def speed() -> dict[str, float]:
    """Characters a second of processor time, best of three: language, sections, chunks, events and keys."""
    detect_language("The model is loaded by the first text that needs it.")
    return {name: max(_speed(list(texts)) for _ in range(3)) for name, texts in _texts().items()}


def _texts() -> dict[str, Iterator[str]]:
    rows = pq.read_table(DATA / "dragonball.docs.parquet").to_pylist()
    passages = pq.read_table(DATA / "musique_train.docs.parquet").to_pylist()
    return {
        "reports zh": (row["text"] for row in rows if row["language"] == "zh"),
        "reports en": (row["text"] for row in rows if row["language"] == "en"),
        "passages en": (row["text"] for row in passages),
    }


def _speed(texts: Sequence[str]) -> float:
    started = time.process_time()
    for number, text in enumerate(texts):
        extracted(Document(f"d{number}", "s", "title", text, detect_language(text)))
    return sum(map(len, texts)) / (time.process_time() - started)


MEASURES: dict[str, Callable[[], Any]] = {"names": names, "business": business, "speed": speed, "judged": judged}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--sample", nargs=2, metavar=("N", "CORPUS"), help=", ".join(CORPORA))
    parser.add_argument("--recogniser", default=RULES)
    given = parser.parse_args()
    RECOGNISER = given.recogniser
    if given.sample:
        for row in sample(given.sample[1], int(given.sample[0])):
            print(json.dumps(row, ensure_ascii=False))
    else:
        asked = given.asked or ["names", "business", "speed"]
        print(json.dumps({name: MEASURES[name]() for name in asked}, indent=1, ensure_ascii=False))
