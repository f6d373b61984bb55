"""Releases of several layers on disk: killed while they are written, pruned, copied, damaged, and after a removal."""

import atexit
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.runs.maintenance import vacuum
from sag_pipeline.store.vectors import KINDS
from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.release.manifest import OF_LARGE, Manifest
from sag_retrieval.release.mapped_arrays import PACK, open_pack
from sag_retrieval.release.reader import verify_release
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.release.vectors import open_database
from tests.pipeline.publish.histories import ONE_BY_ONE, Home, Made, records
from tests.pipeline.publish.killed import publish_killed

pytestmark = pytest.mark.slow

FIRST = {"first.md": Made((((0, 4, 10), (7, 9)), ((1,),)), 1), "last.md": Made((((3, 5),),), 2)}
SECOND = {"b.md": Made((((0, 8), (6,)),), 3), "first.md": Made((((4, 2),),), 4)}
THIRD = {"海.md": Made((((7, 9, 1),), ((12, 0),)), 5), "z": Made((((11, 4),),), 6)}
QUESTION = "What did Lumen Optics sell at Port Ansel?"
KILLS = 8
LATER = datetime.now(UTC) + timedelta(days=400)


def built(folder: Path, *, is_dense: bool = True) -> Home:
    """A home whose current release has two layers, and that holds documents of a third."""
    home = Home(folder, is_dense)
    for documents in (FIRST, SECOND):
        home.put(documents)
        home.publish()
    assert len(home.publish().manifest.layers) == 2
    home.put(THIRD)
    return home


@cache
def _once(*, is_dense: bool) -> Home:
    place = Path(tempfile.mkdtemp(prefix="sag-layers-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return built(place / "home", is_dense=is_dense)


def of_layers(folder: Path, *, is_dense: bool = True) -> Home:
    """The same, made once and copied."""
    return copied(_once(is_dense=is_dense), folder)


def copied(home: Home, folder: Path) -> Home:
    """With its hard links."""
    subprocess.run(["cp", "-a", home.folder, folder], check=True)
    return replace(home, folder=folder, kept=dict(home.kept))


def found(home: Home, folder: Path | None = None) -> list[tuple[str, float]]:
    with home.opened(folder) as release:
        return [(hit.chunk_id, hit.score) for hit in release.search(QUESTION).hits]


def files_of(manifest: Manifest) -> dict[str, tuple[int, str]]:
    """Files with length and hash but those that Lance names by chance, and what names or sums up these."""
    others = ("lance/", "checksums")
    found = {name: tuple(each) for name, each in manifest.files.items() if not name.startswith(others)}
    return {name: each for name, each in found.items() if not name.endswith(".runs.json")}


def names(home: Home) -> set[str]:
    """What lies below a home, without the names that commits are given by chance."""
    found = (path.relative_to(home.folder).as_posix() for path in home.folder.rglob("*"))
    return {name for name in found if not name.startswith(("ledger/", "vectors/")) and "/lance/" not in name}


def in_lance(home: Home) -> dict[str, list[dict[str, object]]]:
    """The rows of the Lance tables of the current release, sorted."""
    tables = open_database(Releases(home.folder).path() / "lance")
    rows = {name: tables.open_table(name).to_arrow().to_pylist() for name in KINDS}
    return {name: sorted(each, key=lambda row: row[f"{name[:-1]}_id"]) for name, each in rows.items()}


def stages(changes: str) -> list[int]:
    """Some changes of the disk, and each rename that makes a release or makes it current, and what comes after it."""
    lines = changes.splitlines()
    spread = [1 + len(lines) * n // KILLS for n in range(KILLS)]
    renames = [n for n, line in enumerate(lines, 1) if line.startswith("os.rename")][-3:]
    return sorted({*spread, *renames, *(n + 1 for n in renames if n < len(lines))})


@pytest.mark.slow
@pytest.mark.parametrize(("is_dense", "most"), [(True, 6), (False, 6), (True, 2)], ids=["dense", "words", "merge"])
def test_a_layer_whose_publishing_is_killed_at_any_stage_is_that_of_an_undisturbed_run(tmp_path, is_dense, most):
    before = of_layers(tmp_path / "before", is_dense=is_dense)
    before = replace(before, layering=replace(ONE_BY_ONE, most=most))  # two of at most two are merged
    calm = copied(before, tmp_path / "calm")
    code, changes = publish_killed(calm)
    wanted = Manifest.read(Releases(calm.folder).path())
    assert (code, len(wanted.layers)) == (0, min(most, 3))
    calm = replace(calm)  # reads what the other process committed
    vacuum(calm.store, calm.vectors)

    for stage in stages(changes)[:: 3 if is_dense and most > 2 else 6]:
        home = copied(before, tmp_path / "killed")
        was = Releases(home.folder).current()
        code, _ = publish_killed(home, stage)

        assert code == -signal.SIGKILL, stage
        assert Releases(home.folder).current() in {was, wanted.release_id}
        assert found(home), "the release that is current can be searched after any kill"
        home = replace(home)  # reads the ledger again
        done = home.publish()
        vacuum(home.store, home.vectors)

        assert done.manifest.release_id == wanted.release_id
        assert files_of(done.manifest) == files_of(wanted), changes.splitlines()[stage - 1]
        assert in_lance(home) == in_lance(calm)
        assert verify_release(Releases(home.folder).path()) == []
        assert names(home) == names(calm), "nothing is left over"
        shutil.rmtree(home.folder)


def test_what_a_killed_process_left_of_a_release_is_listed_and_then_deleted(tmp_path):
    home = of_layers(tmp_path / "home")
    _, changes = publish_killed(copied(home, tmp_path / "calm"))
    lines = changes.splitlines()
    linked = 1 + max(n for n, line in enumerate(lines) if line.startswith("os.link"))

    publish_killed(home, linked)
    drafts = [path.name for path in (home.folder / "releases").glob(".*")]
    listed = {each.name: each.of for each in verify_home(home.folder, deep=True).checked}

    assert len(drafts) == 1
    assert listed["releases"] == "releases, 1 unfinished that the next ingest deletes"
    assert replace(home).publish().is_new
    assert not list((home.folder / "releases").glob(".*"))


def test_pruning_keeps_the_layers_that_later_releases_share(tmp_path):
    home = of_layers(tmp_path / "home")
    home.publish()
    before = found(home)
    shared = home.folder / "shared"
    shutil.copytree(Releases(home.folder).path(), shared)

    gone = prune_releases(home.folder, keep=1, grace_hours=0, now=LATER)

    assert len(gone) == 2
    assert [path.name for path in (home.folder / "releases").iterdir()] == [Releases(home.folder).current()]
    assert verify_release(Releases(home.folder).path()) == []
    assert found(home) == before == found(home, shared)
    home.put({"n.md": Made((((0, 9),),), 9)})
    assert len(home.publish().manifest.layers) == 4, "layers go on after their first release is gone"


def test_pruning_an_older_release_that_is_current_keeps_its_layers(tmp_path):
    home = of_layers(tmp_path / "home")
    old = Releases(home.folder).current()
    assert old
    before = found(home)
    home.publish()
    Releases(home.folder).promote(old)

    prune_releases(home.folder, keep=1, grace_hours=0, now=LATER)

    assert verify_release(Releases(home.folder).path()) == []
    assert found(home) == before


ONLY = (
    "SELECT chunk_id AS id FROM chunks WHERE document_id = '{0}'",
    "SELECT event_id AS id FROM events WHERE document_id = '{0}'",
    """SELECT key_id AS id FROM chunk_keys JOIN chunks USING (chunk_id) GROUP BY 1
    HAVING min(document_id) = '{0}' AND max(document_id) = '{0}'""",
)
"""Ids of what belongs to one document alone."""


def holders_of(home: Path, marks: Sequence[bytes]) -> list[str]:
    """Files below a home, and those inside packed layers and Parquet files, that hold one of some texts."""
    found = []
    for path in (path for path in home.rglob("*") if path.is_file()):
        held = {"": path.read_bytes()}
        if path.name == PACK:
            held |= {name: data.to_pybytes() for name, data in open_pack(path).members.items()}
        elif path.suffix == ".parquet":
            held["rows"] = repr(pq.read_table(path).to_pylist()).encode()
        found += [f"{path.relative_to(home)}: {name}" for name, data in held.items() if any(m in data for m in marks)]
    return found


@pytest.mark.parametrize(("name", "is_dense"), [("first.md", False), ("海.md", True)])
def test_a_removed_document_is_in_no_file_of_a_release_whatever_layer_had_it(tmp_path, name, is_dense):
    home = of_layers(tmp_path / "home", is_dense=is_dense)
    home.publish()
    with home.opened() as release:
        rows = release.sql(f"SELECT text FROM chunks WHERE document_id = '{name}'").to_pandas()["text"].tolist()
        ids = [row for query in ONLY for row in release.sql(query.format(name)).to_pandas()["id"].tolist()]
    for made in (each[name] for each in (FIRST, SECOND, THIRD) if name in each):  # earlier editions lie in other layers
        ids += [mark for chunk in records(name, made)["chunks"] for mark in (chunk.chunk_id, chunk.text)]
    marks = [text.encode() for text in [*rows, *ids, f"Report {name}", name]]
    assert holders_of(home.folder, marks)

    home.remove([name])
    done = home.publish()
    prune_releases(home.folder, keep=1, grace_hours=0, now=LATER)

    assert len(done.manifest.layers) == 4
    assert holders_of(home.folder, marks) == []
    with home.opened() as release:
        assert release.sql(f"SELECT * FROM documents WHERE document_id = '{name}'").to_pandas().empty
        words = release.index.arrays.terms.numbers(" ".join([*rows, name]))
        used = release.index.arrays.chunk_text.rows_of.sizes()
        assert all(used[number] for number in words.values()), "no word of it alone is left in the full text"
        assert not len(release.index.arrays.mentions.exact(f"Report {name}"))


def test_a_copied_home_of_layers_opens_and_searches(tmp_path):
    home = of_layers(tmp_path / "home")
    home.publish()
    before = found(home)
    other = copied(home, tmp_path / "copy")
    shutil.rmtree(home.folder)

    assert found(other) == before
    assert verify_release(Releases(other.folder).path()) == []
    other.put({"n.md": Made((((0, 9),),), 9)})
    assert len(other.publish().manifest.layers) == 4


@pytest.mark.parametrize(("place", "is_dense"), [(0.02, True), (0.98, False)])
def test_a_damaged_layer_is_found_and_the_next_release_is_written_whole(tmp_path, place, is_dense):
    home = of_layers(tmp_path / "home", is_dense=is_dense)
    home.publish()
    folder = Releases(home.folder).path()
    *_, name = layered = sorted(name for name in Manifest.read(folder).files if name.startswith("layers/"))
    data = bytearray((folder / name).read_bytes())
    data[int(place * len(data))] ^= 16
    (folder / name).write_bytes(data)

    assert [each.split("/")[1] for each in layered] == ["1", "2"]
    assert [fault.file for fault in verify_release(folder)] == [name]
    faults = verify_home(home.folder, deep=True).faults
    assert f"releases/{folder.name}/{name}" in {fault.file for fault in faults}
    with pytest.raises(ReleaseError, match=f"{name} of release {folder.name} is damaged"):
        found(home)
    home.put({"n.md": Made((((0, 9),),), 9)})
    done = home.publish()
    assert not done.manifest.layers
    assert not done.faults
    assert verify_release(Releases(home.folder).path()) == []
    assert found(home)


def test_a_release_shares_the_checksums_of_large_files_that_it_shares(tmp_path, monkeypatch):
    monkeypatch.setattr("sag_retrieval.release.manifest._LARGE", 0)
    home = built(tmp_path / "home")
    before = Releases(home.folder).path()
    now = Releases(home.folder).folder / home.publish().manifest.release_id

    sums = [name for name in Manifest.read(now).files if name.startswith(OF_LARGE)]
    shared = {name for name in sums if (before / name).is_file() and (now / name).samefile(before / name)}
    assert {f"{OF_LARGE}rows/events.arrow.npy", f"{OF_LARGE}layers/1/{PACK}.npy"} <= shared
    assert f"{OF_LARGE}layers/2/{PACK}.npy" in set(sums) - shared
    assert verify_release(now) == []
    assert found(home)
    (now / sums[0]).write_bytes((now / sums[0]).read_bytes()[:-8] + bytes(8))
    with pytest.raises(ReleaseError, match=f"{sums[0]} of release .* is damaged: it is not as published"):
        found(home)


def test_a_layer_of_few_rows_is_one_file_and_a_larger_one_is_mapped(tmp_path, monkeypatch):
    home = of_layers(tmp_path / "home")
    before = home.publish().manifest
    packed = found(home)

    monkeypatch.setattr("sag_pipeline.publish.build.PACKED_ROWS", 3)
    home.put({"n.md": Made((((0, 9),), ((1, 4),)), 9)})
    plain = home.publish().manifest

    assert [name for name in before.files if name.startswith("layers/")] == [f"layers/{n}/{PACK}" for n in (1, 2)]
    assert f"layers/1/{PACK}" in plain.files
    assert "layers/3/rows/events.arrow" in plain.files
    assert f"layers/3/{PACK}" not in plain.files
    assert packed
    with home.opened() as release:
        assert release.sql("SELECT count(*) AS n FROM documents").to_pandas()["n"].tolist() == [6]
