"""Of the vectors of a release in a bucket only the blocks are fetched that a search reads."""

import errno
import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from sag_pipeline.publish.publish import seal
from sag_retrieval import BucketError, open_release
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release import remote
from sag_retrieval.release.manifest import Contents, Manifest
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import SCHEMA_VERSION
from sag_retrieval.release.tables import VectorTables
from sag_retrieval.release.vectors import VectorSet, write_dense
from sag_retrieval.remote.mirror import BLOCK, PartialFile, mirror_of, open_files
from tests.support.bare_ingest import bare_ingest
from tests.support.buckets import Proxy, s3_proxy
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

ROWS, WIDTH = 20_000, 64
FILE = "arrays/vectors/chunks.dense.npy"
Machine = Callable[[str], Path]


@pytest.fixture
def machine(url: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Go on as another machine; returns its mirror of the home."""

    def become(name: str) -> Path:
        monkeypatch.setenv("SAG_CACHE", str(tmp_path / name))
        return Path(load_settings(home=url).home)

    return become


@pytest.fixture
def published(machine: Machine) -> Path:
    """A release of vectors alone, in the bucket; returns its folder on the machine that made it."""
    releases = Releases(machine("maker"))
    folder = releases.folder / "r1"
    matrix = np.random.default_rng(1).standard_normal((ROWS, WIDTH)).astype(np.float32)
    (folder / "arrays/vectors").mkdir(parents=True)
    write_dense(folder / "arrays/vectors", "chunks", [(range(ROWS), matrix)], (ROWS, WIDTH))
    seal(
        folder,
        Manifest(
            release_id="r1", schema_version=SCHEMA_VERSION, content_hash="", input_hash="", embedding_model="",
            created_at="2026-01-01T00:00:00+00:00", embedder_fingerprint="", dimension=WIDTH,
            counts={"chunks": ROWS}, hashes={}, checks={}, index={},
        ),
    )  # fmt: skip
    assert releases.remote is not None
    releases.remote.push(folder)
    return folder


def opened(home: Path, *, by_block: bool = True) -> VectorSet:
    releases = Releases(home)
    folder = releases.path("r1", by_block=by_block)
    assert releases.remote is not None
    manifest = Manifest.read(folder)
    return VectorTables(Contents(folder, manifest, fill=releases.remote.filler("r1")), manifest)["chunks"]


def blocks_there(home: Path) -> int:
    return sum(path.read_bytes().count(1) for path in (home / "files").glob(".*.blocks"))


def test_only_the_blocks_of_the_rows_that_are_read_are_fetched(published: Path, machine: Machine):
    usual, home = opened(published.parents[1]), machine("reader")
    vectors, rows = opened(home), np.array([3, 9_000, 19_999], np.int32)
    before = blocks_there(home)
    taken = vectors.take(rows)
    after = blocks_there(home)

    assert taken.tolist() == usual.take(rows).tolist()
    assert before == 1  # the header
    assert after == 3  # the first row lies beside the header
    assert (home / "releases/r1" / FILE).stat().st_size == (published / FILE).stat().st_size


def test_a_search_finds_the_same_as_with_all_vectors(published: Path, machine: Machine):
    usual, vectors = opened(published.parents[1]), opened(machine("reader"))
    for query in np.random.default_rng(2).standard_normal((5, WIDTH)).astype(np.float32):
        assert [each.tolist() for each in vectors.top(query, 20)] == [each.tolist() for each in usual.top(query, 20)]


def test_what_was_fetched_is_shared_and_can_be_completed(published: Path, machine: Machine):
    home = machine("reader")
    held = opened(home)
    held.take(np.array([0], np.int32))
    again = opened(home)
    whole = opened(home, by_block=False)

    assert list((home / "files").glob(".*.blocks")) == []
    assert (home / "releases/r1" / FILE).read_bytes() == (published / FILE).read_bytes()
    everything = np.arange(ROWS, dtype=np.int32)
    for vectors in (held, again, whole):  # who mapped the file before sees what came later
        assert vectors.take(everything).sum() == pytest.approx(
            float(opened(published.parents[1]).take(everything).sum())
        )


def test_a_block_that_was_marked_and_is_not_there_is_fetched_again(published: Path, machine: Machine):
    usual, home = opened(published.parents[1]), machine("reader")
    vectors = opened(home)
    for path in (home / "files").glob(".*.blocks"):
        path.write_bytes(b"\1" * path.stat().st_size)

    assert vectors.take(np.array([19_999])).tolist() == usual.take(np.array([19_999])).tolist()


def test_vectors_that_were_deleted_in_the_bucket_are_said_to_be_gone(url: str, published: Path, machine: Machine):
    vectors = opened(machine("reader"))
    files = open_files(url)
    files.delete([each.key for each in files.list("files/")])

    with pytest.raises(BucketError, match=r"its release was deleted there while it was open; open the current one"):
        vectors.take(np.array([19_999]))


def test_other_bytes_are_refused_when_a_file_is_completed(url: str, machine: Machine):
    mirror = mirror_of(machine("reader"))
    assert mirror is not None
    body = np.random.default_rng(3).bytes(5 * BLOCK + 7)
    digest = blake2b(body, digest_size=16).hexdigest()
    open_files(url).put(f"files/{digest}", body[:-1] + bytes([body[-1] ^ 1]))
    place = mirror.folder / "place"
    mirror.place_partial(place, len(body), digest)
    partial: PartialFile = mirror.partial(len(body), digest)
    partial.fill(place, [(1, 2)])

    assert place.read_bytes()[BLOCK : 2 * BLOCK] == body[BLOCK : 2 * BLOCK]
    assert place.read_bytes()[:BLOCK] == bytes(BLOCK)
    with pytest.raises(BucketError, match=r"is damaged"):
        partial.complete()
    open_files(url).put(f"files/{digest}", body)
    partial.complete()  # what was fetched before is fetched again
    assert place.read_bytes() == body


def test_a_server_sends_no_more_than_the_wanted_blocks(at_s3: str, s3: str, tmp_path: Path, monkeypatch):
    body = np.random.default_rng(3).bytes(100 * BLOCK)
    digest = blake2b(body, digest_size=16).hexdigest()
    open_files(at_s3).put(f"files/{digest}", body)
    with s3_proxy(s3) as found:
        proxy: Proxy = found
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        open_files.cache_clear()
        partial = PartialFile(open_files(at_s3), tmp_path / "files" / digest, len(body))
        partial.own.parent.mkdir()
        partial.make()
        partial.fill(partial.own, [(0, 1), (10, 11), (99, 100)])
        sent = proxy.sent

    assert sent == 3 * BLOCK
    assert partial.own.stat().st_blocks * 512 < len(body) / 2


@pytest.mark.slow
def test_a_release_with_vectors_in_lance_is_searched_by_block(at_s3: str, home: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(remote, "_SMALL", 0)
    monkeypatch.setenv("SAG_HOME", at_s3)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for n in range(12):
        (inbox / f"log-{n}.md").write_text(f"# Log {n}\n\nThe Egret left pier {n} with {n + 3} crates.\n")
    (inbox / "海鹭.md").write_text("# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。\n", encoding="utf-8")
    with ChatServer(read_well) as server:
        named = {"EMBEDDING_MODEL": "openai:scripted", "CACHE": str(tmp_path / "maker")}
        for name, value in named.items():
            monkeypatch.setenv(f"SAG_{name}", value)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        bare_ingest([str(inbox)])
        found = []
        for machine, verify in (("reader", "lazy"), ("another", "full")):
            monkeypatch.setenv("SAG_CACHE", str(tmp_path / machine))
            with open_release(verify=verify) as release:
                marked = list((tmp_path / machine).glob("*/files/.*.blocks"))
                there = sum(path.read_bytes().count(1) for path in marked)
                found.append(
                    [
                        [(hit.chunk_id, round(hit.score, 5)) for hit in release.search(text, method=method).hits]
                        for text in ("Which pier did the Egret leave?", "海鹭浮标由谁制造？")
                        for method in ("sag", "dense", "hybrid")
                    ]
                )
            assert (bool(marked), there) == (verify == "lazy", 0)

    assert found[0] == found[1]


def test_where_files_cannot_be_linked_they_are_fetched_whole(
    published: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    home = machine("reader")

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    vectors = opened(home)

    assert vectors.take(np.array([7])).tolist() == opened(published.parents[1]).take(np.array([7])).tolist()
    assert (home / "releases/r1" / FILE).read_bytes() == (published / FILE).read_bytes()
