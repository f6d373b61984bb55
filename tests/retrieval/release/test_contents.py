"""A damaged file of a release is refused by name, whatever the damage, before anything is read from it."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.damage import Damage, inflict
from sag_pipeline.publish.publish import seal
from sag_retrieval import open_release
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import ReleaseError, SettingsError
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.folders import BLOCK, measure, sums_of
from sag_retrieval.release.manifest import Contents, Manifest, packed_list, unpacked_list
from sag_retrieval.release.reader import FileFault, open_reader, verify_release
from sag_retrieval.release.tables import VectorTables
from sag_retrieval.release.vectors import write_dense
from sag_retrieval.topics.stored import release_communities

pytestmark = pytest.mark.slow

QUESTION = "Who built the tide gauge?"


@pytest.fixture
def copied(demo_home: Path, tmp_path: Path) -> Path:
    """A home with a copy of the demo's release, by links: what is damaged is replaced, not written into."""
    home = tmp_path / "home"
    shutil.copytree(demo_home / "releases", home / "releases", copy_function=os.link)
    shutil.copy(demo_home / "CURRENT", home / "CURRENT")
    return home


def folder_of(home: Path) -> Path:
    return home / "releases" / (home / "CURRENT").read_text(encoding="utf-8").strip()


def first(folder: Path, pattern: str) -> str:
    return min(path.relative_to(folder).as_posix() for path in folder.glob(pattern))


def without_files(folder: Path) -> None:
    """Make its manifest one of version 0.1."""
    told = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del told["files"], told["manifest_hash"]
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize("kind", ["truncate", "extend", "empty", "delete", "folder instead"])
@pytest.mark.parametrize(
    "pattern",
    ["arrays/vectors/chunks.values.npy", "arrays/text/chunks.items.npy", "rows/sections.arrow", "checksums.npy"],
)
def test_a_file_of_another_length_is_refused_while_opening(copied, kind, pattern):
    name = first(folder_of(copied), pattern)
    inflict(folder_of(copied), Damage(kind, name, 0.5))

    with pytest.raises(ReleaseError, match=rf"{name} of release r\w+ is damaged: .*`sag repair`"):
        open_release(copied)


@pytest.mark.parametrize(
    "name",
    [
        "arrays/graph/event_keys.items.npy",
        "arrays/graph/names.marisa",
        "arrays/text/terms.marisa",
        "arrays/names/keys.starts.npy",
        "arrays/vectors/chunks.rows.npy",
        "embedder/hashing.npy",
        "rows/chunks.arrow",
    ],
)
@pytest.mark.parametrize("place", [0.0, 0.4, 0.999])
def test_a_flipped_bit_is_refused_by_the_search_that_needs_it(copied, name, place):
    inflict(folder_of(copied), Damage("flip a bit", name, place))
    release = open_release(copied)

    for _ in range(2):
        with pytest.raises(ReleaseError, match=rf"{name} of release r\w+ is damaged: .*`sag repair`"):
            release.search(QUESTION)


def test_a_method_that_falls_back_does_not_hide_a_damage(copied):
    inflict(folder_of(copied), Damage("flip a bit", "arrays/vectors/events.values.npy", 0.5))

    with pytest.raises(ReleaseError, match=r"arrays/vectors/events\.values\.npy"):
        open_release(copied).search(QUESTION, method="hybrid")


def test_a_file_that_a_search_does_not_need_does_not_stop_it(copied, demo_home):
    inflict(folder_of(copied), Damage("flip a bit", "rows/triples.arrow", 0.5))
    release = open_release(copied)

    found = release.search(QUESTION)

    assert [hit.chunk_id for hit in found.hits] == [
        hit.chunk_id for hit in open_release(demo_home).search(QUESTION).hits
    ]
    with pytest.raises(ReleaseError, match=r"rows/triples\.arrow"):
        release.table("triples")


@pytest.mark.parametrize("place", [0.001, 0.5])
def test_a_damaged_table_is_refused_by_a_query_that_reads_it_and_by_no_other(copied, place):
    inflict(folder_of(copied), Damage("flip a bit", "rows/sections.arrow", place))
    release = open_release(copied)

    assert release.search(QUESTION, where={"language": "en"}).hits
    for _ in range(2):
        with pytest.raises(ReleaseError, match=r"rows/sections\.arrow of release r\w+ is damaged: .*`sag repair`"):
            release.sql("SELECT count(*) AS n FROM sections")


def test_a_flipped_bit_anywhere_in_the_manifest_is_refused(copied):
    path = folder_of(copied) / "manifest.json"
    before = path.read_bytes()
    path.unlink()

    for place in range(0, len(before), 97):
        path.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :])
        with pytest.raises(ReleaseError):
            Manifest.read(path.parent)


def test_verifying_deep_names_every_file_with_a_flipped_bit(copied):
    folder = folder_of(copied)
    names = sorted(Manifest.read(folder).files)
    for name in names:
        inflict(folder, Damage("flip a bit", name, 0.6))

    assert [fault.file for fault in verify_release(folder)] == names
    assert verify_release(folder, deep=False) != []


def test_a_sound_release_has_no_faults(copied):
    folder = folder_of(copied)
    on_disk = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    assert verify_release(folder) == verify_release(folder, deep=False) == []
    made_later = ("communities/", "lance/communities.lance/")
    assert {*Manifest.read(folder).files, "manifest.json"} == {n for n in on_disk if not n.startswith(made_later)}


def test_verifying_shallow_sees_lengths_and_says_which(copied):
    folder = folder_of(copied)
    name = first(folder, "arrays/vectors/chunks.values.npy")
    length = (folder / name).stat().st_size
    inflict(folder, Damage("extend", name, 0.0))
    inflict(folder, Damage("delete", "rows/keys.arrow", 0.0))

    assert verify_release(folder, deep=False) == [
        FileFault(name, f"it has {length + 1} bytes, not {length}"),
        FileFault("rows/keys.arrow", "it cannot be read (No such file or directory)"),
    ]


def test_full_looks_at_every_byte_while_opening_and_off_at_none(copied):
    inflict(folder_of(copied), Damage("flip a bit", first(folder_of(copied), "arrays/vectors/chunks.values.npy"), 0.5))
    inflict(folder_of(copied), Damage("flip a bit", "arrays/text/chunks.weights.npy", 0.9))

    with pytest.raises(ReleaseError, match="is damaged"):
        open_release(copied, verify="full")
    assert open_release(copied, verify="off").search(QUESTION).hits
    with pytest.raises(SettingsError, match="'some' is none of lazy, full, off"):
        open_release(copied, verify="some")


def test_a_release_of_version_0_1_is_read_and_said_not_to_be_verifiable(copied):
    without_files(folder_of(copied))

    assert open_release(copied).search(QUESTION).hits
    (fault,) = verify_release(folder_of(copied))
    assert "nothing can be verified" in fault.what
    with pytest.raises(ReleaseError, match="cannot be verified"):
        open_release(copied, verify="full")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graph/event_keys.items", 1 << 30),
        ("graph/key_chunks.items", -5),
        ("graph/event_chunk", 1 << 30),
        ("graph/document_chunks", 1 << 40),
        ("text/chunks.starts", 1 << 40),
        ("names/keys.items", -1),
        ("vectors/chunks.rows", 60_000),
    ],
)
@pytest.mark.parametrize("make", [without_files, lambda folder: None], ids=["version 0.1", "off"])
def test_row_numbers_out_of_bounds_end_no_process_where_checksums_are_not_compared(copied, name, value, make):
    path = folder_of(copied) / "arrays" / f"{name}.npy"
    values = np.load(path)
    values[len(values) // 2] = value
    path.unlink()
    np.save(path, values)
    make(folder_of(copied))

    with pytest.raises(ReleaseError, match="are damaged"):
        open_release(copied, verify="off").search(QUESTION)


def spoil_sizes(folder: Path) -> None:
    np.save(folder / "arrays/graph/key_idf.npy", np.ones(3, np.float32))


def spoil_rows(folder: Path) -> None:
    shutil.copy(folder / "rows/keys.arrow", folder / "rows/events.arrow")


def spoil_vectors(folder: Path) -> None:
    for kind in ("starts", "rows", "values"):
        shutil.copy(folder / f"arrays/vectors/keys.{kind}.npy", folder / f"arrays/vectors/chunks.{kind}.npy")


@pytest.mark.parametrize("spoil", [spoil_sizes, spoil_rows, spoil_vectors])
def test_files_that_do_not_fit_one_another_are_refused_though_each_is_sound(copied, tmp_path, spoil):
    folder = tmp_path / "home" / "releases" / "spoilt"
    shutil.copytree(folder_of(copied), folder)
    spoil(folder)
    for name in ("checksums.npy", "manifest.json"):
        (folder / name).unlink()
    seal(folder, replace(Manifest.read(folder_of(copied)), release_id="spoilt"))

    assert len(verify_release(folder)) == 1
    with pytest.raises(ReleaseError, match="damaged"):
        open_release(copied, release="spoilt").search(QUESTION)


def test_dense_vectors_are_compared_where_their_rows_are_read(tmp_path, copied):
    count, width = 4_000, 64
    matrix = np.random.default_rng(1).standard_normal((count, width)).astype(np.float32)
    folder = tmp_path / "release"
    (folder / "arrays/vectors").mkdir(parents=True)
    write_dense(folder / "arrays/vectors", "chunks", [(range(count), matrix)], (count, width))
    manifest = replace(Manifest.read(folder_of(copied)), dimension=width, counts={"chunks": count})
    seal(folder, manifest)
    path = folder / "arrays/vectors/chunks.dense.npy"
    damaged_row = 3_000
    values = np.lib.format.open_memmap(path, "r+")
    values[damaged_row, 3] += 1
    values.flush()
    vectors = VectorTables(Contents(folder, Manifest.read(folder)), manifest)["chunks"]
    far = np.array([0, 10, 500], np.int32)

    assert vectors.scores(matrix[0], far) == pytest.approx(matrix[far] @ matrix[0], abs=1e-4)
    for read in (lambda: vectors.take(np.array([damaged_row])), lambda: vectors.scores(matrix[0])):
        with pytest.raises(ReleaseError, match=r"chunks\.dense\.npy"):
            read()


def test_checksums_follow_blocks_whatever_part_of_a_file_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(np.random.default_rng(2).bytes(40 * BLOCK + 17))

    whole = measure(path)

    assert whole.length == 40 * BLOCK + 17
    assert len(whole.sums) == 41
    for start, stop in [(0, 41), (0, 1), (5, 30), (40, 41), (16, 17)]:
        assert sums_of(path, start, stop).tolist() == whole.sums[start:stop].tolist()


@pytest.mark.parametrize("kind", ["flip a bit", "truncate", "delete"])
def test_damaged_communities_are_refused_by_tiers_and_made_anew(copied, kind):
    def make() -> list[str]:
        reader = open_reader(copied, None, open_embedder)
        return [each.title for each in release_communities(reader, ClusterOptions()).at(0)]

    def search() -> list[str]:
        return [hit.chunk_id for hit in open_release(copied).search(QUESTION, method="tiers").hits]

    titles, before = make(), search()
    inflict(folder_of(copied), Damage(kind, "communities/community_events.parquet", 0.5))

    with pytest.raises(ReleaseError, match=r"communities/community_events\.parquet .*`sag ingest`"):
        search()
    assert make() == titles
    assert search() == before


def test_a_list_of_files_is_read_as_it_was_packed():
    files = {f"arrays/海/{n}.npy": (n, f"{n:032x}") for n in range(200)}

    assert unpacked_list(packed_list(files)) == files
    assert len(packed_list(files)) < len(json.dumps(files)) / 2
    assert unpacked_list({}) == unpacked_list(None) == {}


@pytest.mark.parametrize("held", ["a", "QUJD", packed_list({"a": (1, "b")})[:-8], ["a"], 3])
def test_a_list_of_files_that_cannot_be_read_is_a_clear_error(held):
    with pytest.raises((ValueError, TypeError), match=r"files|Base64|base64|padding|decoding"):
        unpacked_list(held)
