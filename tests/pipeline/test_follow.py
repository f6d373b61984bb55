"""Following a source: what cannot be seen stays, much is removed only on a word, and each place is one source."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.source_list import Source, SourceList
from sag_pipeline.store.store import PURGE, StepSpec, Store
from sag_pipeline.sync.sync import SyncOptions, TooManyRemoved, sync_source, tell_fault
from sag_retrieval.core.errors import SettingsError, SourceError

DOCUMENTS = StepSpec("documents")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    return Store(tmp_path / "home")


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return write(tmp_path / "inbox", 20)


def write(folder: Path, count: int) -> Path:
    folder.mkdir(exist_ok=True)
    for n in range(count):
        (folder / f"{n:02}.md").write_text(f"Pier {n}.", encoding="utf-8")
    return folder


def follow(store: Store, source: str | Path = "inbox", **options: object) -> dict[str, int]:
    return dict(sync_source(store, DOCUMENTS, str(source), SyncOptions(**options)).counts)


def ids(store: Store) -> list[str]:
    return sorted(pa.concat_tables(list(store.scan("documents")))["document_id"].to_pylist())


def sources_of(store: Store) -> set[str]:
    return set(pa.concat_tables(list(store.scan("documents")))["source"].to_pylist())


def aside(store: Store) -> dict[str, str]:
    return {entry.path: entry.reason for entry in store.ledger.entries("kind = 'aside'")}


def test_a_folder_that_cannot_be_listed_keeps_what_is_known(store, inbox):
    for name in ("sub", "sub2", "sub.d"):
        write(inbox / name, 2)
    follow(store)
    (inbox / "sub").rename(inbox.parent / "away")
    (inbox / "sub").symlink_to("sub")  # listing it fails for root as well

    counts = follow(store)

    assert counts["removed"] == 0
    assert {"sub/00.md", "sub/01.md"} <= set(ids(store))
    assert "Too many levels" in aside(store)["sub"]
    assert "kept" in aside(store)["sub"]

    (inbox / "sub").unlink()
    (inbox.parent / "away").rename(inbox / "sub")
    follow(store)
    assert aside(store) == {}


def test_what_lies_beside_an_unlisted_folder_is_removed_as_ever(store, inbox):
    for name in ("sub", "sub2"):
        write(inbox / name, 1)
    follow(store)
    (inbox / "sub" / "00.md").unlink()
    (inbox / "sub").rmdir()
    (inbox / "sub").symlink_to("sub")
    (inbox / "sub2" / "00.md").unlink()

    assert follow(store)["removed"] == 1
    assert "sub/00.md" in ids(store)
    assert "sub2/00.md" not in ids(store)


@pytest.mark.parametrize("name", ["lines.jsonl", "list.json"])
def test_a_file_of_many_documents_that_breaks_keeps_them(store, inbox, name):
    rows = [{"id": f"own-{n}", "text": f"Pier {n}."} for n in range(5)]
    whole = json.dumps(rows) if name.endswith(".json") else "\n".join(map(json.dumps, rows))
    (inbox / name).write_text(whole, encoding="utf-8")
    follow(store)
    (inbox / name).unlink()
    (inbox / name).symlink_to(name)
    assert follow(store)["removed"] == 0
    (inbox / name).unlink()
    (inbox / name).write_text("" if name.endswith("l") else whole[:-10], encoding="utf-8")

    assert follow(store)["removed"] == 0
    assert {row["id"] for row in rows} <= set(ids(store))


def test_a_line_that_breaks_keeps_the_document_that_stood_there(store, inbox):
    rows = [json.dumps({"id": f"own-{n}", "text": f"Pier {n}."}) for n in range(5)]
    (inbox / "lines.jsonl").write_text("\n".join(rows), encoding="utf-8")
    follow(store)
    rows[2] = rows[2][:-4]
    (inbox / "lines.jsonl").write_text("\n".join(rows[:4]), encoding="utf-8")

    assert follow(store)["removed"] == 1
    assert [name for name in ids(store) if name.startswith("own")] == ["own-0", "own-1", "own-2", "own-3"]


@pytest.mark.parametrize(("left", "is_refused"), [(0, True), (9, True), (13, True), (14, False), (20, False)])
def test_much_of_a_source_is_removed_only_on_a_word(store, inbox, left, is_refused):
    """Of 20 documents 30 % are 6, fewer than the least number that needs a word; so at most 14 stay."""
    follow(store)
    for path in sorted(inbox.iterdir())[left:]:
        path.unlink()
    (inbox / "new.md").write_text("New.", encoding="utf-8") if left else None
    options = {"least_removed": 7}

    if is_refused:
        with pytest.raises(TooManyRemoved, match=rf"{20 - left} of its 20 documents .*--allow-removals"):
            follow(store, **options)
        assert len(ids(store)) == 20
        assert store.ledger.whole(PURGE) is None
    assert follow(store, allow_removals=is_refused, **options)["removed"] == 20 - left
    assert len(ids(store)) == left + bool(left)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_an_empty_source_is_never_followed_in_silence_and_one_file_of_two_may_go(store, tmp_path, count):
    folder = write(tmp_path / "few", count)
    follow(store, folder)
    files = sorted(folder.iterdir())
    for path in files[1:]:
        path.unlink()

    assert follow(store, folder)["removed"] == count - 1
    files[0].unlink()
    with pytest.raises(TooManyRemoved):
        follow(store, folder)
    assert ids(store) == ["00.md"]


def test_a_share_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="max_removed_share=30"):
        SyncOptions(max_removed_share=30)


def test_spellings_of_one_place_are_one_source(store, inbox):
    follow(store, "inbox")
    (inbox.parent / "link").symlink_to("inbox")

    for spelling in ("./inbox", f"{inbox}", "inbox/", "inbox/../inbox", "link"):
        assert follow(store, spelling)["skipped"] == 20
    assert sources_of(store) == {"inbox"}
    assert [source.name for source in SourceList(store)] == ["inbox"]


def test_a_link_that_leads_elsewhere_now_is_the_same_source(store, tmp_path):
    for name in ("v1", "v2"):
        write(tmp_path / name, 3)
    (tmp_path / "current").symlink_to("v1")
    follow(store, "current")
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("v2")

    assert follow(store, "current")["skipped"] == 3


def test_the_same_name_in_another_folder_is_another_source(store, tmp_path, monkeypatch):
    write(tmp_path / "inbox", 2)
    (tmp_path / "other").mkdir()
    (write(tmp_path / "other" / "inbox", 1) / "00.md").rename(tmp_path / "other" / "inbox" / "x.md")
    follow(store, "inbox")
    monkeypatch.chdir(tmp_path / "other")

    follow(store, "inbox")

    assert ids(store) == ["00.md", "01.md", "x.md"]
    assert sources_of(store) == {"inbox", f"{tmp_path}/other/inbox"}


def test_spellings_that_a_0_1_ledger_kept_apart_become_one(store, inbox):
    follow(store, "inbox")
    old = store.ledger.entries("kind = 'document' AND unit < '05'")
    store.ledger.commit([Entry(**{f: getattr(e, f) for f in e.__slots__} | {"source": "./inbox"}) for e in old])
    (store.home / "sources.json").unlink()

    counts = follow(store, f"{inbox}")

    assert counts["skipped"] == 20
    assert counts["failed"] == 0
    assert {entry.source for entry in store.ledger.entries()} == {"inbox"}


def test_a_source_that_is_not_there_is_told_until_it_is_back(store, inbox):
    follow(store)
    inbox.rename(inbox.parent / "away")
    with pytest.raises(SourceError, match="does not exist") as told:
        follow(store)
    tell_fault(store, "./inbox", str(told.value))
    tell_fault(store, "never-known", "does not exist")

    assert aside(store) == {"": str(told.value)}
    assert len(ids(store)) == 20
    (inbox.parent / "away").rename(inbox)
    follow(store)
    assert aside(store) == {}


def test_a_working_directory_that_is_gone_is_a_clear_error(store, tmp_path):
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(SourceError, match="working directory"):
        follow(store, "inbox")


@pytest.mark.parametrize("given", ["", " "])
def test_a_source_without_a_name_is_refused_and_not_the_working_directory(store, inbox, given):
    with pytest.raises(SourceError, match="is empty"):
        follow(store, given)


def test_a_broken_list_of_sources_is_a_clear_error(store, inbox):
    follow(store)
    (store.home / "sources.json").write_text("[{", encoding="utf-8")

    with pytest.raises(SourceError, match=r"sources\.json is damaged"):
        follow(store)


def test_a_source_knows_whether_it_is_there(tmp_path):
    assert Source("a", str(tmp_path)).is_there
    assert not Source("a", str(tmp_path / "nowhere")).is_there
