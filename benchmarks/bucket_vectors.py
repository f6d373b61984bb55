"""What a search fetches of a large table of dense vectors in a bucket; a mode of `object_store.py`."""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from benchmarks.bucket_machines import Bench
from benchmarks.vector_readers import BLOCK, asked, generated
from sag_pipeline.publish.publish import seal
from sag_retrieval.release.manifest import Contents, Manifest
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import SCHEMA_VERSION
from sag_retrieval.release.vector_tables import VectorTables
from sag_retrieval.release.vectors import DenseVectors, VectorSet, open_vectors, write_dense

_WIDTH, _NEAREST = 384, 50
_QUERIES: Final = 3


def search_vectors(bench: Bench, rows: int) -> None:
    """Publish a release of generated vectors alone, and search it on another machine, whose cache is empty."""
    maker = Releases(bench.become("maker"))
    folder = maker.folder / "r1"
    place = folder / "arrays" / "vectors"
    place.mkdir(parents=True)
    blocks = ((np.arange(n * BLOCK, n * BLOCK + len(each)), each) for n, each in enumerate(generated(rows, _WIDTH)))
    write_dense(place, "events", blocks, (rows, _WIDTH))
    seal(folder, _manifest(rows))
    with bench.counted("publish") as whole:
        assert maker.remote is not None
        maker.remote.push(folder)
    usual = open_vectors(place)["events"]
    assert isinstance(usual, DenseVectors)
    questions = asked(usual.matrix, _QUERIES)
    reader = Releases(bench.become("reader"))
    with bench.counted("open") as opening:
        vectors = _opened(reader)
    with bench.counted("first search") as first:
        found, _ = vectors.top(questions[0], _NEAREST)
    with bench.counted(f"{_QUERIES - 1} more searches") as more:
        for question in questions[1:]:
            vectors.top(question, _NEAREST)
    with bench.counted("the first one again") as again:
        vectors.top(questions[0], _NEAREST)
    told = {"opening": opening, "the first search": first, f"{_QUERIES - 1} more": more}
    print("; ".join(f"{name} fetches {moved['down'] / whole['up']:.1%}" for name, moved in told.items()))
    expected, _ = usual.top(questions[0], _NEAREST)
    bench.check("it finds what the machine finds that has all vectors", found.tolist() == expected.tolist())
    bench.check("opening and the first search fetch less than half", opening["down"] + first["down"] < whole["up"] / 2)
    bench.check("what was fetched is not fetched again", again["down"] == 0)


def _manifest(rows: int) -> Manifest:
    return Manifest(
        release_id="r1",
        schema_version=SCHEMA_VERSION,
        content_hash="",
        input_hash="",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        embedding_model="",
        embedder_fingerprint="",
        dimension=_WIDTH,
        counts={"events": rows},
        hashes={},
        checks={},
        index={},
    )


def _opened(releases: Releases) -> VectorSet:
    folder = releases.path("r1", by_block=True)
    assert releases.remote is not None
    manifest = Manifest.read(folder)
    contents = Contents(folder, manifest, fill=releases.remote.filler("r1"))
    return VectorTables(contents, manifest)["events"]
