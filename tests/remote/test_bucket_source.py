"""Documents in a bucket are listed by tag and read only when they changed."""

from pathlib import Path

import pytest

from sag_pipeline.sources.bucket_source import state_of_bucket
from sag_pipeline.sources.folders import SourceOptions, refuse_source
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval import SagError, SettingsError, SourceError, open_release
from sag_retrieval.core.home_urls import mirror_folder
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.mirror import Files, open_files
from tests.support.bare_ingest import bare_ingest

TEXTS = {
    "acme.txt": "Acme Corporation was founded by Mara Voss in Oslo in 1999.",
    "deep/er/光澜.txt": "光澜公司由陈雨于2015年在上海创建。",
    "rows.jsonl": '{"id": "one", "text": "Bolt Labs supplied valves."}\n{"id": "two", "text": "Kestrel bought Bolt Labs."}',
    ".hidden/x.txt": "not read",
    "~$lock.docx": "not read",
    "drafts/d.txt": "A draft about Acme.",
}


def fill(files: Files) -> None:
    for key, text in TEXTS.items():
        files.put(key, text.encode())


def ids(url: str, options: SourceOptions | None = None) -> list[str]:
    return [each.document_id for each in list_source(url, options) if isinstance(each, RawDocument)]


@pytest.mark.slow
@pytest.mark.usefixtures("cache", "home")
def test_a_bucket_holds_the_documents_that_a_folder_would_hold(url: str, tmp_path: Path):
    fill(open_files(url))
    for key, text in TEXTS.items():
        (tmp_path / "inbox" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "inbox" / key).write_text(text, encoding="utf-8")
    chosen = SourceOptions(exclude=("drafts",))

    assert sorted(ids(url)) == sorted(ids("inbox"))
    assert sorted(ids(url, chosen)) == sorted(ids("inbox", chosen)) == ["acme.txt", "deep/er/光澜.txt", "one", "two"]
    assert ids(url, SourceOptions(include=("deep/*",))) == ["deep/er/光澜.txt"]


@pytest.mark.usefixtures("cache", "home")
def test_only_what_may_hold_several_documents_is_read_to_list_it(url: str):
    fill(open_files(url))
    found = [each for each in list_source(url) if isinstance(each, RawDocument)]
    copies = mirror_folder(url, load_settings().cache)

    assert [path.name for path in copies.rglob("*") if path.is_file()] == ["rows.jsonl"]
    assert len({each.version for each in found}) == len(found)


@pytest.mark.usefixtures("cache", "home")
def test_a_file_written_again_has_another_version(url: str):
    fill(open_files(url))
    before = {each.document_id: each.version for each in list_source(url) if isinstance(each, RawDocument)}
    state = state_of_bucket(url)
    open_files(url).put("acme.txt", b"Acme was founded by Mara Voss in Oslo in 2001, not in 1999.")
    after = {each.document_id: each.version for each in list_source(url) if isinstance(each, RawDocument)}

    assert {name for name in before if before[name] != after[name]} == {"acme.txt"}
    assert state_of_bucket(url) not in ("", state)


@pytest.mark.usefixtures("cache", "home")
def test_an_empty_list_changes_nothing(url: str):
    with pytest.raises(SourceError, match=r"holds no file, so nothing of it was changed.*`sag sources forget`"):
        list(list_source(url))

    assert state_of_bucket(url) == ""


@pytest.mark.usefixtures("cache", "home", "at_s3")
def test_a_bucket_that_is_not_there_is_a_source_that_cannot_be_read():
    with pytest.raises(SourceError, match=r"source 's3://no-such-bucket/x': there is no bucket"):
        list(list_source("s3://no-such-bucket/x"))


def test_runs_that_were_started_elsewhere_read_no_other_bucket(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SAG_SOURCE", "s3://bucket/docs")
    monkeypatch.setenv("SAG_SOURCE_ROOTS", str(Path.cwd()))
    settings = load_settings()
    refuse_source("s3://bucket/docs/", settings)

    with pytest.raises(SettingsError, match="is not SAG_SOURCE"):
        refuse_source("s3://bucket/others", settings)


@pytest.mark.slow
@pytest.mark.usefixtures("cache", "home")
def test_an_ingest_reads_what_changed_and_removes_what_is_gone(at_s3: str, monkeypatch: pytest.MonkeyPatch):
    files = open_files(at_s3)
    fill(files)
    monkeypatch.setenv("SAG_SOURCE", at_s3)
    first = bare_ingest([])
    files.put("acme.txt", b"Acme Corporation was founded by Ida Lund in Bergen in 1980.")
    files.delete(["drafts/d.txt"])
    second = bare_ingest([])
    third = bare_ingest([])
    with open_release() as release:
        found = release.search("Who founded Acme Corporation?").hits[0].text
    files.delete([each.key for each in files.list()])
    with pytest.raises(SagError, match="holds no file, so nothing of it was changed"):
        bare_ingest([])
    with open_release() as release:
        documents = release.tables["documents"]

    counts = [made["steps"]["documents"] for made in (first, second, third)]
    assert [(each["new"], each["changed"], each["removed"], each["skipped"]) for each in counts] == [
        (5, 0, 0, 0),
        (0, 1, 1, 3),
        (0, 0, 0, 4),
    ]
    assert "Ida Lund" in found
    assert documents == 4
    assert not list((mirror_folder(at_s3, load_settings().cache) / "source").rglob("*.txt"))  # only read
