"""Arrays of any size grown from real passages: copies share frequent keys and words and have rare ones of their own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import marisa_trie
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit
from sag_retrieval.release.arrays import GraphParts, Index, open_arrays, write_graph
from sag_retrieval.release.postings import build_postings
from sag_retrieval.release.text_index import Vocabulary, write_mentions
from sag_retrieval.release.vectors import write_vectors

DATA = Path(__file__).parents[2] / "shared" / "data"
PER_CHUNK = 3
"""Passages joined to one chunk, about ten events."""
SHARED = 3
"""Keys and words of more chunks than this are the same in every copy."""
KEY_COPIES = 4
"""Copies that have their rare names in common: names grow more slowly than texts, to about one for two events."""
DENSE = 384
"""Columns of dense vectors, unless another number is asked for."""


@dataclass(frozen=True)
class Seed:
    """One real corpus as lists: chunks of events, keys of events, and texts."""

    events: list[str]
    event_chunk: np.ndarray
    links: np.ndarray
    keys: list[str]
    chunks: list[str]


def read_seed() -> Seed:
    """MuSiQue passages with their recorded extraction, three to a chunk."""
    passages = pd.read_parquet(DATA / "musique_train.docs.parquet")
    recorded = pd.read_parquet(DATA / "musique_train.extraction.parquet").set_index("doc_id")["entities"]
    number: dict[str, int] = {}
    events, event_chunk, links, chunks = [], [], [], []
    for place, row in enumerate(passages.itertuples()):
        if place % PER_CHUNK == 0:
            chunks.append("")
        chunks[-1] += f"{row.title}\n{row.text}\n"
        names = {normal_name(name) for name in [*recorded[row.doc_id], row.title]} - {""}
        for sentence in sentences(row.text):
            within = f" {normal_name(sentence)} "
            own = {name for name in names if f" {name} " in within} | {normal_name(row.title)}
            links.extend((len(events), number.setdefault(name, len(number))) for name in sorted(own))
            events.append(f"{row.title}: {sentence}")
            event_chunk.append(len(chunks) - 1)
    return Seed(events, np.array(event_chunk), np.array(links), list(number), chunks)


def questions() -> list[str]:
    """The 60 questions of the passages."""
    return pd.read_parquet(DATA / "musique_train.questions.parquet")["question"].tolist()


class DenseEmbedder:
    """Hashed vectors projected to few columns, as a model's would be."""

    def __init__(self, hashing: HashingEmbedder, dimension: int) -> None:
        self._hashing = hashing
        self.dimension = dimension
        self._matrix = np.random.default_rng(0).normal(size=(hashing.dimension, dimension)).astype(np.float32)
        self.fingerprint = f"projected-{hashing.fingerprint}"

    def embed(self, texts: list[str]) -> np.ndarray:
        """Rows of length 1."""
        return unit(self._hashing.embed(texts) @ self._matrix)


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


def grow(folder: Path, events: int, *, dense: int) -> None:
    """Write arrays of about this many events; `dense`: columns of their vectors, 0 for those of hashing."""
    seed = read_seed()
    copies = max(1, round(events / len(seed.events)))
    hashing = HashingEmbedder(fit(seed.chunks))
    hashing.fitted.save(folder)
    _write_graph(folder, seed, copies)
    _write_text(folder / "text", seed, copies)
    embedder = DenseEmbedder(hashing, dense) if dense else hashing
    sizes = {"events": seed.events, "chunks": seed.chunks, "keys": seed.keys}
    for name, texts in sizes.items():
        base, times = embedder.embed(texts), _groups(copies) if name == "keys" else copies
        write_vectors(folder / "vectors", name, _copies_of(base, times), (len(texts) * times, embedder.dimension))


def _groups(copies: int) -> int:
    return -(-copies // KEY_COPIES)


def _copies_of(base: np.ndarray | csr_array, copies: int) -> Iterator[tuple[np.ndarray, np.ndarray | csr_array]]:
    """The base rows, then rows as like it as one text is to another on its subject."""
    for copy in range(copies):
        random = np.random.default_rng(copy)
        rows = np.arange(base.shape[0]) + copy * base.shape[0]
        if copy == 0:
            yield rows, base
        elif isinstance(base, csr_array):
            moved = np.arange(base.shape[1])
            some = random.permutation(base.shape[1])[: base.shape[1] // 2]
            moved[some] = random.permutation(some)
            yield rows, csr_array((base.data, moved[base.indices], base.indptr), shape=base.shape)
        else:
            yield rows, unit(base + random.normal(scale=1 / np.sqrt(base.shape[1]), size=base.shape))


def _write_graph(folder: Path, seed: Seed, copies: int) -> None:
    chunk_links = np.unique(np.stack([seed.event_chunk[seed.links[:, 0]], seed.links[:, 1]], axis=1), axis=0)
    shared = np.bincount(chunk_links[:, 1], minlength=len(seed.keys)) > SHARED
    keys, chunks, events = len(seed.keys), len(seed.chunks), len(seed.events)

    def spread(links: np.ndarray, left: int) -> np.ndarray:
        own = [
            np.stack(
                [links[:, 0] + copy * left, links[:, 1] + np.where(shared[links[:, 1]], 0, copy // KEY_COPIES * keys)],
                axis=1,
            )
            for copy in range(copies)
        ]
        return np.concatenate(own).astype(np.int32)

    event_key, chunk_key = spread(seed.links, events), spread(chunk_links, chunks)
    frequency = np.bincount(event_key[:, 1], minlength=keys * _groups(copies))
    main = np.full(chunks * copies, -1)
    main[chunk_key[::-1, 0]] = chunk_key[::-1, 1]
    parts = GraphParts(
        event_key=event_key,
        chunk_key=chunk_key,
        chunk_key_count=np.ones(len(chunk_key), np.int32),
        event_chunk=np.concatenate([seed.event_chunk + copy * chunks for copy in range(copies)]).astype(np.int32),
        chunk_document=np.arange(chunks * copies, dtype=np.int32),
        chunk_main_key=main.astype(np.int32),
        key_idf=np.log(events * copies / np.maximum(frequency, 1)).astype(np.float32),
        document_count=chunks * copies,
    )
    write_graph(folder, parts)
    names = ((name if group == 0 else f"{name} {group}", group * keys + row) for group in range(_groups(copies))
             for row, name in enumerate(seed.keys))  # fmt: skip
    write_mentions(folder / "names", names)


def _write_text(folder: Path, seed: Seed, copies: int) -> None:
    """Postings of all copies from one reading: rare words get a number of their own in each copy."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = Vocabulary()
    flat, sizes = vocabulary.read(seed.chunks)
    words = list(vocabulary.numbers)
    row = np.repeat(np.arange(len(sizes)), sizes)
    pairs = np.unique(flat.astype(np.int64) * len(sizes) + row) // len(sizes)
    shared = np.bincount(pairs, minlength=len(words)) > SHARED
    own = [words] + [
        [word if shared[t] else f"{word}~{copy}" for t, word in enumerate(words)] for copy in range(1, copies)
    ]
    trie = marisa_trie.Trie([word for listed in own for word in listed])
    trie.save(str(folder / "terms.marisa"))
    numbers = np.concatenate([np.array([trie[word] for word in listed], np.int32)[flat] for listed in own])
    sizes = np.tile(sizes, copies)
    row = np.repeat(np.arange(len(sizes)), sizes)
    postings = build_postings(numbers, row, len(sizes), len(trie))
    postings.save(folder / "chunks")
    postings.save(folder / "documents")


def open_grown(folder: Path, *, dense: int) -> Index:
    """The index, without rows: rankings need none."""
    hashing = HashingEmbedder(HashingFit.load(folder))
    return Index({}, open_arrays(folder), DenseEmbedder(hashing, dense) if dense else hashing)


def describe(index: Index) -> str:
    """Sizes in one line."""
    arrays = index.arrays
    sizes = {"events": arrays.event_count, "chunks": arrays.chunk_count, "keys": arrays.key_count}
    return json.dumps(sizes | {"links": len(arrays.event_keys.items)})
