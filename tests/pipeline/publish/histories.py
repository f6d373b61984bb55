"""Histories of a store: documents added, changed and removed, and what is published after each."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from sag_pipeline.extract.keys import make_key
from sag_pipeline.publish.build import Embedding, ReleaseInput, build_whole
from sag_pipeline.publish.changes import Held, Layering
from sag_pipeline.publish.distinct_keys import make_links
from sag_pipeline.publish.links import LINK_TABLES, Resolution, weighing
from sag_pipeline.publish.publish import Publication, publish, seal
from sag_pipeline.runs.maintenance import forget, vacuum
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import PURGE, Pending, StepSpec, Store
from sag_pipeline.store.vectors import KINDS, VectorStore, vector_ids
from sag_pipeline.tables import STORED
from sag_retrieval import Release
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Key, Section, Triple, make_id
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.hashing import HashingEmbedder, fit
from sag_retrieval.release.manifest import Manifest
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases

VALUES = (
    "Lumen Optics", "lumen  optics", "LumenOptics", "Lumen Optics Ltd", "Port Ansel", "Heron Buoy", "heron-buoy",
    "光澜公司", "光澜 公司", "安塞港", "Mara Voss", "Ilse Brandt", "Egret",
)  # fmt: skip
TYPES = ("organisation", "organisation", "entity", "organisation", "place", "entity", "entity",
         "organisation", "organisation", "place", "person", "person", "entity")  # fmt: skip
WORDS = "heron buoy salt sensor pier noon crates sold built harbour 海鹭 浮标 制造 公司 in at by 2021".split()
NAMES = ("a.md", "b.md", "b/c.md", "海.md", "z", "Z", "é.md", "m.md", "n.md", "o.md")
ONE_BY_ONE = Layering(least_rows=0, growth=0.0, share=1.0, most=6)
"""Each change is a layer, as long as there are few."""


@dataclass(frozen=True, slots=True)
class Made:
    """One edition of a document: for each chunk, for each event, the numbers of the values that it names."""

    chunks: tuple[tuple[tuple[int, ...], ...], ...]
    seed: int


def _key(number: int) -> Key | None:
    if number >= len(VALUES):
        return make_key(*(("amount", 3.5 * number) if number % 2 else ("date", f"20{number:02d}-05")))
    return make_key(TYPES[number], VALUES[number])


def records(name: str, made: Made) -> dict[str, list[object]]:
    """Everything of one document."""
    random = np.random.default_rng([made.seed, len(name)])
    found: dict[str, list[object]] = {table: [] for table in STORED}
    section, title, texts = make_id("s", name, 0), f"Report {name}", list[str]()
    main = make_key("title", title)
    for index, events in enumerate(made.chunks):
        words = " ".join(WORDS[n] for n in random.integers(0, len(WORDS), 9))
        text = f"{words} {' '.join(VALUES[n % len(VALUES)] for event in events for n in event)}."
        chunk = make_id("c", name, made.seed, index)
        at = sum(map(len, texts))
        found["chunks"].append(Chunk(chunk, name, section, index, at, at + len(text), text, title))
        if main and index % 2 == 0:
            found["keys"].append(EventKey(name, chunk, main))
        for place, numbers in enumerate(events):
            event = make_id("e", chunk, place)
            content = f"{VALUES[numbers[0] % len(VALUES)] if numbers else 'Nobody'} {words[:30]} {place}."
            found["events"].append(Event(event, name, chunk, place, content, title, at, at + 5))
            keys = [key for key in map(_key, numbers) if key]
            found["keys"] += [EventKey(name, event, key) for key in keys]
            texts_of = [key for key in keys if key.value_string]
            for one, other in pairwise(texts_of):
                ends = (one.value_string, one.key_id, "sold", other.value_string, other.key_id)
                found["triples"].append(Triple(make_id("t", event, *ends), name, chunk, event, *ends, "{}"))
        texts.append(text)
    whole = "".join(texts) + f"\n\n| Site | Cost (EUR) |\n|---|---|\n| {name} | {made.seed} |\n"
    found["documents"] = [Document(name, "made", title, whole, "en", version=f"{made.seed}")]
    found["sections"] = [Section(section, name, 0, "", "", 0, len(whole))]
    return found


class DenseEmbedder:
    """Vectors of a fixed random projection of the hashing embedder's."""

    dimension = 24
    fingerprint = "dense"

    def __init__(self, hashing: HashingEmbedder) -> None:
        """Draw the projection."""
        self._hashing = hashing
        self._columns = np.random.default_rng(0).standard_normal((hashing.dimension, 24)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit rows."""
        rows = np.asarray(self._hashing.embed(texts) @ self._columns, np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@dataclass
class Home:
    """A store that is changed and published."""

    folder: Path
    is_dense: bool
    layering: Layering = ONE_BY_ONE
    kept: dict[str, Made] = field(default_factory=dict)
    clock: int = 0

    def __post_init__(self) -> None:
        """Open the store and the embedder."""
        self.store = Store(self.folder)
        fitted = fit([*VALUES, " ".join(WORDS)])
        hashing = HashingEmbedder(fitted)
        self.embedder = DenseEmbedder(hashing) if self.is_dense else hashing
        self.vectors = VectorStore(self.folder, self.embedder.fingerprint, self.embedder.dimension)
        save = (lambda folder: folder.mkdir(parents=True)) if self.is_dense else fitted.save
        computed = None if self.is_dense else (lambda texts: hashing.embed_blocks(texts.to_pylist()))
        self.embedding = Embedding("made", self.embedder, self.vectors, save, computed=computed)

    def put(self, documents: Mapping[str, Made]) -> None:
        """Commit new documents, or new editions."""
        outcomes: dict[str, dict[Pending, StepResult]] = {}
        for name, made in documents.items():
            for table, rows in records(name, made).items():
                outcomes.setdefault(table, {})[Pending(name, f"{made.seed}")] = StepResult(rows)
        for table, found in outcomes.items():
            self.store.commit(StepSpec(table), found)
        for kind in KINDS if self.is_dense else ():
            listed = [record for outcome in outcomes.get(kind, {}).values() for record in outcome.records]
            texts = [r.key.value_string if kind == "keys" else r.indexed_text for r in listed]
            texts = [text for text in texts if text]  # keys that are no text have no vector
            ids, first = np.unique(vector_ids(texts), return_index=True)
            fresh = ~np.isin(ids, self.vectors.known(kind))
            if fresh.any():
                self.vectors.append(kind, ids[fresh], self.embedder.embed([texts[n] for n in first[fresh]]))
        self.kept |= documents

    def remove(self, names: Sequence[str]) -> None:
        """Remove documents."""
        self.store.remove(names)
        for name in names:
            self.kept.pop(name, None)

    def link(self) -> None:
        """Resolve keys, as the assets do."""
        state = self.store.state_hash(["keys"])
        if not all(self.store.is_current_whole(name, state) for name in LINK_TABLES):
            self.store.commit_wholes(make_links(self.store), state)
        self.store.commit_wholes(
            {"idf": weighing(self.store, "none")}, self.store.state_hash(["events", "distinct_keys"])
        )

    def publish(self) -> Publication:
        """Make a release, in layers where that can be, as the asset does."""
        self.link()
        self.clock += 1
        is_removal = self.store.ledger.whole(PURGE) is not None
        forget(self.store, self.vectors)
        done = publish(self.store, self.embedding, self.now, layering=self.layering)
        if is_removal:
            vacuum(self.store, self.vectors)
        return done

    @property
    def now(self) -> str:
        """When the newest release was made."""
        return f"2026-01-01T00:00:{self.clock:02d}+00:00"

    def whole(self, folder: Path) -> Manifest:
        """Write what the store holds as a release of one layer."""
        source = ReleaseInput(self.store, self.embedding, Resolution.read(self.store), Held.read(self.store))
        folder.mkdir(parents=True)
        manifest, checks = build_whole(folder, source)
        assert all(check.passed for check in checks), checks
        seal(folder, replace(manifest, created_at=self.now))
        return Manifest.read(folder)

    @contextmanager
    def opened(self, folder: Path | None = None) -> Iterator[Release]:
        """A release in a folder, whose reports lie beside it, or the current one."""
        reader = Reader(folder or Releases(self.folder).path(), lambda *_: self.embedder)
        with Release(reader, load_settings(home=folder.parent if folder else self.folder)) as release:
            yield release
