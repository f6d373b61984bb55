"""The whole path in one page: documents, chunks, events, keys, two hops, PageRank, and the best passage.

    python examples/minimal.py data/documents "Which company made the part that caused the sensors to leak?"

`sag` does the same with stored tables, vectors, full text and bridges; docs/algorithm.md numbers each formula.
"""

import sys

import numpy as np

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import TITLE, Chunk, Document, Event
from sag_retrieval.models.hashing import HashingEmbedder, fit
from sag_retrieval.release.mapped_arrays import group
from sag_retrieval.search.weights import Links, event_weights, key_weights, normalise, power, sharpen


def read(folder: str) -> tuple[list[Chunk], list[Event], list[tuple[str, str]]]:
    """Chunks, events and pairs of event and key of all documents below a folder."""
    chunks, events, pairs = [], [], []
    for raw in list_source(folder):
        document = parse_document(raw) if isinstance(raw, RawDocument) else None
        if isinstance(document, Document):
            passages = split_chunks(document, offline_sections(document))
            found = [event for made in offline_events(document, passages) for event in made]
            links = offline_keys(document, found)
            pairs += [(link.event_id, link.key.key_id) for link in links if link.key.key_type != TITLE]
            chunks += passages
            events += found
    return chunks, events, pairs


def search(folder: str, query: str, hops: int = 2) -> Chunk:
    """The chunk that the query's keys lead to."""
    chunks, events, pairs = read(folder)
    event_row = {event.event_id: row for row, event in enumerate(events)}
    key_row = {key: row for row, key in enumerate(dict.fromkeys(key for _, key in pairs))}
    links = Links(np.array([event_row[event] for event, _ in pairs]), np.array([key_row[key] for _, key in pairs]))

    embedder = HashingEmbedder(fit(event.content for event in events))
    similarity = sharpen((embedder.embed([e.content for e in events]) @ embedder.embed([query]).T).toarray()[:, 0], 4)

    weight = normalise(key_weights(links, similarity, len(key_row)))  # seed keys: those of events like the query
    for _ in range(hops):  # key → event → key
        weight = normalise(key_weights(links, event_weights(links, weight, similarity), len(key_row)))

    chunk_row = {chunk.chunk_id: row for row, chunk in enumerate(chunks)}
    key_of, chunk_of = np.unique(
        [(k, chunk_row[events[e].chunk_id]) for e, k in zip(links.event, links.key, strict=True)], axis=0
    ).T
    key_chunks, _ = group(key_of, chunk_of.astype(np.int32), len(key_row))
    chunk_keys, _ = group(chunk_of, key_of.astype(np.int32), len(chunks))
    best = np.sort(np.argsort(-weight)[:30])
    _, rank = power(key_chunks, chunk_keys, (best, weight[best] / weight[best].sum()), (best[:0], weight[:0]), 0.7)
    return chunks[int(np.argmax(rank))]


if __name__ == "__main__":
    found = search(sys.argv[1], sys.argv[2])
    print(found.document_id, found.text, sep="\n")
