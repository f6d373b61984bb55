"""Events made without a model from five unlike corpora, sampled by the hash of what they say.

An event is in the sample if the hash of its corpus and content lies below a bound, so a changed rule keeps
those of the sample that it makes as before.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from scripted_server import ROOT
from sets import locomo

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import TITLE, Document, Key
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.words import normal_name

DATA = ROOT.parent / "shared" / "data"
_HALVES = ("dev", "held_out")
_RANGE = 2**32


class Sampled(NamedTuple):
    """An event of the sample with its keys but the title."""

    corpus: str
    half: str
    event: str
    content: str
    title: str
    keys: tuple[Key, ...]


class Corpus(NamedTuple):
    """Documents, and the share of their events that the sample holds."""

    documents: Callable[[], Iterator[Document]]
    share: float


def read_folder(folder: Path) -> Iterator[Document]:
    """The documents of a folder."""
    for raw in list_source(str(folder)):
        read = parse_document(raw) if isinstance(raw, RawDocument) else raw
        if isinstance(read, Document):
            yield read


def _long(name: str) -> Iterator[Document]:
    text = gzip.decompress((DATA / "longdocs" / name).read_bytes()).decode("utf-8", "replace")
    yield Document(name, "longdocs", name.partition(".")[0], text, detect_language(text))


def _pages(folder: Path) -> Iterator[Document]:
    yield from read_folder(DATA / "business" / "documents" / "policies")
    if folder.is_dir():
        yield from read_folder(folder)


def _lihua() -> Iterator[Document]:
    for row in pq.read_table(DATA / "lihua_world.docs.parquet").to_pylist():
        yield Document(row["doc_id"], "lihua", row["doc_id"], row["text"], detect_language(row["text"]))


def _locomo() -> Iterator[Document]:
    for line in locomo().lines:
        yield Document(line["id"], "locomo", line["title"], line["text"], "en")


def of_domain(domain: str, language: str) -> Iterator[Document]:
    """The documents of a domain of DragonBall in a language."""
    for row in pq.read_table(DATA / "dragonball.docs.parquet").to_pylist():
        if row["domain"] == domain and row["language"] == language:
            yield Document(row["doc_id"], domain, row["name"], row["text"], language)


def _tables() -> Iterator[Document]:
    yield from read_folder(DATA / "business" / "documents" / "finance")
    yield from read_folder(DATA / "business" / "documents" / "invoices")


def corpora(manuals: Path) -> dict[str, Corpus]:
    """The corpora by name; `manuals` is the folder that `manuals/build.py` of the evaluation data writes."""
    return {
        "reports-zh": Corpus(lambda: _long("alibaba_fy2025_interim_zh.md.gz"), 0.025),
        "reports-en": Corpus(lambda: _long("nike_2023_annual_report.txt.gz"), 0.0138),
        "manuals": Corpus(lambda: _pages(manuals), 0.0083),
        "chats-lihua": Corpus(_lihua, 0.0034),
        "chats-locomo": Corpus(_locomo, 0.009),
        "law-zh": Corpus(lambda: of_domain("law", "zh"), 0.0245),
        "law-en": Corpus(lambda: of_domain("law", "en"), 0.0215),
        "tables": Corpus(_tables, 0.076),
    }


def digest(*parts: str) -> str:
    """The hash that stands for some text in the labels."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def half_of(event: str) -> str:
    """The half that an event belongs to."""
    return _HALVES[int(event[-2:], 16) % 2]


def sampled(name: str, corpus: Corpus) -> tuple[list[Sampled], dict[str, int]]:
    """The sampled events of a corpus, each content once; and of all its events, how many keys have each type."""
    found: dict[str, Sampled] = {}
    types: dict[str, int] = {}
    for document in corpus.documents():
        chunks = split_chunks(document, offline_sections(document))
        events = with_context_dates(document, [event for made in offline_events(document, chunks) for event in made])
        keys: dict[str, list[Key]] = {}
        for link in offline_keys(document, chunks, events):
            if link.key.key_type != TITLE:
                types[link.key.key_type] = types.get(link.key.key_type, 0) + 1
                keys.setdefault(link.event_id, []).append(link.key)
        for event in events:
            identity = digest(name, event.content)
            if int(identity[:8], 16) < corpus.share * _RANGE:
                own = tuple(keys.get(event.event_id, ()))
                found.setdefault(
                    identity, Sampled(name, half_of(identity), identity, event.content, document.title, own)
                )
    return sorted(found.values(), key=lambda one: one.event), types


def key_mark(key_type: str, value: object, unit: str | None = None) -> tuple[str, str]:
    """What stands for a key in the labels: the hash of its value, and its type."""
    bare = normal_name(value) if isinstance(value, str) else json.dumps([value, unit])
    return digest("key", bare), key_type
