from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sag_retrieval.language.words import normal_name
from sag_retrieval.models.hashing import HashingEmbedder, fit
from sag_retrieval.release.arrays import Index, open_arrays, write_arrays
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.vectors import write_vectors
from tests.support.graph_parts import graph_parts


@dataclass(frozen=True)
class Doc:
    """A document: its title, and per chunk its events, each with the names of its keys."""

    title: str
    chunks: Sequence[Sequence[tuple[str, Sequence[str]]]]


class AngleEmbedder:
    """Turns the text `query` into (1, 0); stored vectors are given by their cosine with it."""

    fingerprint = "angle"
    dimension = 2
    kind = "hashing"

    def embed(self, texts):
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))


def at(cosine: float) -> list[float]:
    return [cosine, float(np.sqrt(1 - cosine**2))]


def table(name: str, columns: dict[str, list]) -> pa.Table:
    size = len(next(iter(columns.values()), []))
    arrays = []
    for field in TABLES[name]:
        empty = "" if pa.types.is_string(field.type) else 0
        values = columns.get(field.name, [None if field.nullable else empty] * size)
        arrays.append(pa.array(values, field.type))
    return pa.table(dict(zip(TABLES[name].names, arrays, strict=True)))


def make_rows(documents: Sequence[Doc], keys: Sequence[str] | None = None) -> dict[str, pa.Table]:
    """Tables as a release holds them; key rows in the given order, else sorted by name."""
    chunks, events, pairs = [], [], []
    for number, document in enumerate(documents):
        title = [document.title] if document.title else []
        for place, listed in enumerate(document.chunks):
            chunk = f"c{number:02}.{place:02}"
            text = " ".join(content for content, _ in listed)
            chunks.append((chunk, f"d{number:02}", place, text, document.title))
            for index, (content, names) in enumerate(listed):
                event = f"{chunk}.{index:02}"
                events.append((event, f"d{number:02}", chunk, index, content, document.title))
                pairs.extend((event, chunk, name) for name in dict.fromkeys([*title, *names]))
    names = list(keys) if keys else sorted({name for _, _, name in pairs})
    ids = {name: f"k{row:03}" for row, name in enumerate(names)}
    count = {name: sum(1 for _, _, other in pairs if other == name) for name in names}
    idf = [float(np.log(len(events) / max(1, count[name]))) for name in names]
    linked = sorted({(chunk, name) for _, chunk, name in pairs}, key=lambda pair: (pair[0], ids[pair[1]]))
    text_of = {chunk[0]: chunk[3] for chunk in chunks}
    main = {chunk[0]: ids.get(chunk[4]) for chunk in chunks}
    return {
        "documents": table(
            "documents",
            {
                "document_id": [f"d{number:02}" for number in range(len(documents))],
                "title": [document.title for document in documents],
                "text": [" ".join(c for chunk in d.chunks for c, _ in chunk) for d in documents],
            },
        ),
        "chunks": table(
            "chunks",
            {
                "chunk_id": [chunk[0] for chunk in chunks],
                "document_id": [chunk[1] for chunk in chunks],
                "chunk_index": [chunk[2] for chunk in chunks],
                "text": [chunk[3] for chunk in chunks],
                "header": [chunk[4] for chunk in chunks],
                "main_key_id": [main[chunk[0]] for chunk in chunks],
            },
        ),
        "events": table(
            "events",
            {
                "event_id": [event[0] for event in events],
                "document_id": [event[1] for event in events],
                "chunk_id": [event[2] for event in events],
                "event_index": [event[3] for event in events],
                "content": [event[4] for event in events],
                "title": [event[5] for event in events],
            },
        ),
        "keys": table(
            "keys",
            {
                "key_id": [ids[name] for name in names],
                "key_type": ["name"] * len(names),
                "value_string": names,
                "name": [normal_name(name) for name in names],
                "idf": idf,
            },
        ),
        "event_keys": table(
            "event_keys",
            {"event_id": [pair[0] for pair in pairs], "key_id": [ids[pair[2]] for pair in pairs]},
        ),
        "chunk_keys": table(
            "chunk_keys",
            {
                "chunk_id": [chunk for chunk, _ in linked],
                "key_id": [ids[name] for _, name in linked],
                "count": [max(1, text_of[chunk].count(name)) for chunk, name in linked],
                "is_main": [main[chunk] == ids[name] for chunk, name in linked],
            },
        ),
        "key_aliases": table("key_aliases", {"alias": [], "key_id": []}),
        "triples": table("triples", {name: [] for name in ("chunk_id", "head", "relation", "tail")}),
    }


def make_index(folder: Path, rows: dict[str, pa.Table], vectors: dict[str, np.ndarray] | None = None) -> Index:
    """An index on disk: with the given dense vectors, else with hashed ones."""
    write_arrays(folder, graph_parts(rows), rows)
    chunks = [
        f"{header}\n{text}" if header else text
        for header, text in zip(rows["chunks"]["header"].to_pylist(), rows["chunks"]["text"].to_pylist(), strict=True)
    ]
    embedder = AngleEmbedder() if vectors else HashingEmbedder(fit(chunks))
    texts = {
        "chunks": chunks,
        "events": rows["events"]["content"].to_pylist(),
        "keys": rows["keys"]["value_string"].to_pylist(),
    }
    for name, listed in texts.items():
        block = np.asarray(vectors[name], np.float32) if vectors else embedder.embed(listed)
        shape = (len(listed), embedder.dimension)
        write_vectors(folder / "vectors", name, [(np.arange(len(listed)), block)], shape)
    return Index(rows, open_arrays(folder), embedder)


@pytest.fixture
def build(tmp_path):
    """Documents → index with hashed vectors, or with given cosines."""

    def built(documents, *, keys=None, cosines=None):
        rows = make_rows(documents, keys)
        vectors = {name: np.array([at(c) for c in each]) for name, each in cosines.items()} if cosines else None
        return make_index(tmp_path / f"arrays{len(list(tmp_path.iterdir()))}", rows, vectors)

    return built


CORPUS = (
    Doc("Hello Love", [[("Hello Love is a song recorded by Hank Snow.", ["Hank Snow"])]]),
    Doc("Hank Snow", [[("Hank Snow was a singer who died in Tennessee.", ["Tennessee"])]]),
    Doc("Tennessee", [[("Tennessee borders North Carolina.", ["North Carolina"])]]),
    Doc("Green Tea", [[("Green tea is grown in Zhejiang.", ["Zhejiang"])]]),
    Doc("云南农业公司", [[("云南农业公司收购了昆明种子公司。", ["昆明种子公司"])]]),
    Doc("昆明种子公司", [[("昆明种子公司由张伟创立。", ["张伟"])]]),
    Doc("张伟", [[("张伟毕业于北京大学。", ["北京大学"])]]),
    Doc("北京大学", [[("北京大学位于海淀区。", ["海淀区"])]]),
)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Index:
    """Eight short documents, half Chinese, linked by the names in them."""
    return make_index(tmp_path_factory.mktemp("corpus"), make_rows(CORPUS))


LONG = tuple(
    Doc(
        title,
        [
            [(f"{title} {verb} {thing} in {year}.", [thing, str(year)])]
            for verb, thing, year in zip(
                ("bought", "sold", "hired", "closed"), things, (2019, 2020, 2021, 2022), strict=True
            )
        ],
    )
    for title, things in (
        ("Alder Farms", ("a tractor", "wheat", "Mary Stone", "the old mill")),
        ("Birch Bank", ("a vault", "bonds", "John Field", "two branches")),
        ("Cedar Clinic", ("a scanner", "beds", "Ann Brook", "the ward")),
    )
)


@pytest.fixture(scope="session")
def long_corpus(tmp_path_factory) -> Index:
    """Three documents of four chunks each."""
    return make_index(tmp_path_factory.mktemp("long"), make_rows(LONG))


@pytest.fixture(scope="session")
def Document():  # noqa: N802  a type
    return Doc
