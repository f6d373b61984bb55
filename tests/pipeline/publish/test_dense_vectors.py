"""Dense vectors lie once, in Lance files that the home and its releases share; readers map them, or ask Lance."""

import shutil
from pathlib import Path

import pytest

from sag_pipeline.embed.embed import open_embedding, wanted_vectors
from sag_pipeline.integrity.repair import repair_home
from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.store.store import Store
from sag_retrieval import open_release
from sag_retrieval.core.errors import ReleaseError, SettingsError
from sag_retrieval.release.releases import Releases, prune_releases
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

QUESTIONS = ("Which pier did the Egret leave?", "Who built the Heron buoy?", "海鹭浮标由谁制造？")
FILES = {
    "heron.md": "# Heron Buoy\n\nThe Heron Buoy was built by Quill Instruments in 2019. It measures salt.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。2021年5月4日起，安塞海警使用这种浮标。\n",
    "one.md": "The Egret sank.",
} | {f"log-{n}.md": f"# Log {n}\n\nThe Egret left pier {n} at noon with {n + 3} crates.\n" for n in range(12)}


@pytest.fixture
def inbox(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with ChatServer(read_well) as server:
        monkeypatch.setenv("SAG_EMBEDDING_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield folder


def found(home: Path, vectors: str = "mapped") -> list[list[tuple[str, float]]]:
    with open_release(home, vectors=vectors) as release:
        return [
            [(hit.chunk_id, round(hit.score, 5)) for hit in release.search(text, method=method).hits]
            for text in QUESTIONS
            for method in ("sag", "dense", "hybrid")
        ]


def linked(home: Path) -> dict[str, int]:
    """Links of each Lance file of the current release, but of communities, which are made after it."""
    folder = Releases(home).path() / "lance"
    files = (p for p in folder.rglob("*") if p.is_file() and "communities.lance" not in p.parts)
    return {p.relative_to(folder).as_posix(): p.stat().st_nlink for p in files}


def test_a_release_links_the_vectors_of_the_home_and_has_no_copy(home, inbox):
    kept_ingest(["inbox"])

    assert {*linked(home).values()} == {2}
    assert not list((Releases(home).path() / "arrays/vectors").glob("*.dense.npy"))
    assert verify_home(home, deep=True).faults == []


def test_lance_finds_what_the_mapped_arrays_find(home, inbox):
    kept_ingest(["inbox"])

    assert found(home, "lance") == found(home)


def test_a_release_copied_elsewhere_answers_by_itself(home, inbox, tmp_path):
    kept_ingest(["inbox"])
    usual = found(home)
    other = tmp_path / "other"
    shutil.copytree(Releases(home).path(), other / "releases" / Releases(home).path().name)
    shutil.copy(home / "CURRENT", other)
    shutil.rmtree(home)

    assert found(other) == found(other, "lance") == usual


def test_an_older_release_keeps_the_vectors_that_the_home_purged_until_it_is_pruned(home, inbox):
    first = kept_ingest(["inbox"])["release"]
    usual = found(home)
    (inbox / "heron.md").unlink()
    bare_ingest(["inbox"])
    held = b"".join(path.read_bytes() for path in (Releases(home).path() / "lance").rglob("data/*"))
    store = Store(home)
    vectors = open_embedding(store, "openai:scripted").vectors
    assert vectors.known().tolist() == wanted_vectors(store).tolist()
    assert all(
        block[n].tobytes() in held for _, block in vectors.blocks(vectors.known(), 99) for n in range(len(block))
    )
    assert len(held) < sum(path.stat().st_size for path in (home / "releases" / first / "lance").rglob("data/*"))

    Releases(home).promote(first)
    assert found(home) == usual
    assert {*linked(home).values()} == {1}
    assert verify_home(home, deep=True).faults == []

    second = [each.folder.name for each in Releases(home).found() if each.folder.name != first]
    Releases(home).promote(*second)
    prune_releases(home, keep=1, grace_hours=0)
    assert {*linked(home).values()} == {2}


def test_the_same_content_gives_the_same_release_in_another_order_of_ingests(home, inbox, tmp_path, monkeypatch):
    whole = kept_ingest(["inbox"])["release"]
    usual = found(home)
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "second"))
    held = {name: (inbox / name).read_text(encoding="utf-8") for name in ("one.md", "log-3.md")}
    for name in held:
        (inbox / name).unlink()
    bare_ingest(["inbox"])
    for name, text in held.items():
        (inbox / name).write_text(text, encoding="utf-8")

    assert bare_ingest(["inbox"])["release"] == whole
    assert found(tmp_path / "second") == usual


def test_a_damaged_vector_is_refused_by_the_search_that_reads_it_and_mended(home, inbox):
    release = kept_ingest(["inbox"])["release"]
    usual = found(home)
    (data,) = (Releases(home).path() / "lance/events.lance/data").iterdir()
    with data.open("r+b") as file:  # the home's file too
        file.write(b"\x00\x00\x80\x7f")

    for vectors in ("mapped", "lance"):
        with pytest.raises(
            ReleaseError, match=rf"lance/events\.lance/data/{data.name} of release {release} is damaged"
        ):
            found(home, vectors)
    files = {fault.file.partition("/")[0] for fault in verify_home(home, deep=True).faults}
    assert files == {"vectors", "releases"}
    repair_home(home)
    assert bare_ingest(["inbox"])["release"] == release
    assert found(home) == usual
    assert verify_home(home, deep=True).faults == []


def test_vectors_in_a_form_that_cannot_be_mapped_are_copied(home, inbox, monkeypatch):
    monkeypatch.setattr("sag_pipeline.store.lance_tables.locate", lambda *_: [])
    bare_ingest(["inbox"])
    folder = Releases(home).path()

    assert len(list((folder / "arrays/vectors").glob("*.dense.npy"))) == 3
    copied = found(home)
    assert verify_home(home, deep=True).faults == []
    monkeypatch.undo()
    assert copied[0]


def test_vectors_that_lance_cannot_search_are_said_to_be_so(demo_home):
    with pytest.raises(ReleaseError, match="has no vectors in Lance"), open_release(demo_home, vectors="lance") as it:
        it.search("Who made the O-ring?")
    with pytest.raises(SettingsError, match="vectors 'faiss' is none of mapped, lance"):
        open_release(demo_home, vectors="faiss")
