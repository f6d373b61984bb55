"""A release of a few documents with triples, zh and en, built in memory maps as publishing does."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from sag_retrieval.core.records import make_id
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.hashing import HashingEmbedder, fit
from sag_retrieval.release.arrays import Index, open_arrays, write_arrays
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.vectors import write_vectors
from tests.support.graph_parts import graph_parts

Triple = tuple[str, str, str]
Document = tuple[str, str, Sequence[tuple[str, Sequence[Triple]]]]
"""Id, title, and chunks: the text, which is also the one event, and its triples."""

DOCUMENTS: list[Document] = [
    ("d0", "Acme", [("Acme owns Bolt Labs.", [("Acme", "owns", "Bolt Labs")]), ("Nothing more here.", [])]),
    ("d1", "Bolt Labs", [("Established by Mara Voss, long ago.", [("Bolt Labs", "founded_by", "Mara Voss")])]),
    ("d2", "Mara Voss", [("She grew up in Port Ansel.", [("Mara Voss", "raised_in", "Port Ansel")])]),
    ("d3", "光澜公司", [("光澜公司由陈雨创建。", [("陈雨", "创建", "光澜公司")])]),
    ("d4", "陈雨", [("她出生于安塞港。", [("陈雨", "出生于", "安塞港")])]),
    ("d5", "Weather", [("Rain fell on the harbour all day.", [])]),
]


def build_index(folder: Path, documents: Sequence[Document] = tuple(DOCUMENTS)) -> Index:
    """The index of the documents, its arrays below `folder`."""
    rows = _rows(documents)
    parts = graph_parts(rows)
    write_arrays(folder, parts, rows)
    texts = {
        "chunks": [f"{h}\n{t}" for h, t in _pairs(rows["chunks"], "header", "text")],
        "events": [f"{h}: {t}" for h, t in _pairs(rows["events"], "title", "content")],
        "keys": rows["keys"]["value_string"].to_pylist(),
    }
    embedder = HashingEmbedder(fit(texts["chunks"]))
    for name, listed in texts.items():
        blocks = [(range(len(listed)), embedder.embed(listed))] if listed else []
        write_vectors(folder / "vectors", name, blocks, (len(listed), embedder.dimension))
    return Index(rows, open_arrays(folder), embedder)


def _pairs(table: pa.Table, one: str, other: str) -> list[tuple[str, str]]:
    return list(zip(table[one].to_pylist(), table[other].to_pylist(), strict=True))


def _rows(documents: Sequence[Document]) -> dict[str, pa.Table]:
    found: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
    key_of: dict[str, str] = {}
    for document_id, title, chunks in documents:
        text = " ".join(content for content, _ in chunks)
        found["documents"].append({"document_id": document_id, "title": title, "text": text, "summary": text[:40]})
        for place, (content, triples) in enumerate(chunks):
            chunk, event = f"{document_id}.{place}", f"{document_id}.{place}.e"
            found["chunks"].append(
                {"chunk_id": chunk, "document_id": document_id, "chunk_index": place, "text": content, "header": title}
            )
            found["events"].append(
                {"event_id": event, "document_id": document_id, "chunk_id": chunk, "content": content, "title": title}
            )
            names = dict.fromkeys([title, *(end for head, _, tail in triples for end in (head, tail))])
            for name in names:
                key_of.setdefault(name, make_id("k", "name", normal_name(name)))
                found["event_keys"].append({"event_id": event, "key_id": key_of[name]})
                found["chunk_keys"].append({"chunk_id": chunk, "key_id": key_of[name], "count": 1})
            for head, relation, tail in triples:
                found["triples"].append(
                    {
                        "triple_id": f"{event}{head}{tail}",
                        "document_id": document_id,
                        "chunk_id": chunk,
                        "event_id": event,
                        "head": head,
                        "head_key_id": key_of[head],
                        "relation": relation,
                        "tail": tail,
                        "tail_key_id": key_of[tail],
                        "properties": "{}",
                    }
                )
    linked = [row["key_id"] for row in found["event_keys"]]
    for name, key in sorted(key_of.items(), key=lambda item: item[1]):
        found["keys"].append(
            {
                "key_id": key,
                "key_type": "name",
                "value_string": name,
                "name": normal_name(name),
                "idf": 1.0,
                "event_count": linked.count(key),
            }
        )
    return {name: _table(name, listed) for name, listed in found.items()}


def _table(name: str, rows: list[dict[str, object]]) -> pa.Table:
    def value(field: pa.Field, row: dict[str, object]) -> object:
        if field.name in row:
            return row[field.name]
        return None if field.nullable else {pa.string(): "", pa.bool_(): False}.get(field.type, 0)

    columns = {f.name: pa.array([value(f, row) for row in rows], f.type) for f in TABLES[name]}
    return pa.table(columns)
