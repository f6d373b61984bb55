"""What a ledger entry is about stands in its column `kind`; no name of a document means anything inside."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_pipeline.runs.maintenance import compact
from sag_pipeline.store.ledger import SCHEMA, Entry, Ledger
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_pipeline.sync.sync import SyncOptions, sync_source
from sag_retrieval import open_release
from sag_retrieval.core.records import Document
from sag_retrieval.language.words import without_breaks
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

DOCUMENTS = StepSpec("documents")
FREELY = SyncOptions(allow_removals=True)
ODD = (
    "+",
    "+x",
    "*",
    "!",
    "!a",
    "-",
    "-1",
    "*|*",
    "é",
    "海鹭",
    "\x01",
    "\x1f",
    "a\x1fb",
    "!s\x1fp\x1f1",
    "\x7f",
    " ",
    "a\nb",
    "'",
    "\\",
)


def document(name: str, text: str) -> Document:
    return Document(name, "inbox", "title", text, "en", version=text)


def texts(store: Store) -> dict[str, str]:
    rows = pa.concat_tables(list(store.scan("documents"))).to_pylist()
    assert len({row["document_id"] for row in rows}) == len(rows)
    return {row["document_id"]: row["text"] for row in rows}


cycles = st.lists(
    st.lists(st.tuples(st.sampled_from(ODD) | st.text(max_size=3), st.sampled_from(("", "one", "two")))), max_size=6
)


@pytest.mark.slow
@pytest.mark.no_cover
@given(cycles, st.booleans())
@settings(max_examples=max(10, settings().max_examples // 10))
def test_documents_of_any_id_are_added_changed_and_removed(tmp_path_factory, changes, purge):
    """An empty text removes the document."""
    home = tmp_path_factory.mktemp("store")
    store, newest = Store(home), {}
    for batch in changes:
        wanted = dict(batch)
        put = {name: text for name, text in wanted.items() if text}
        store.commit(DOCUMENTS, {Pending(n, t): StepResult((document(n, t),)) for n, t in put.items()})
        store.ledger.commit([Entry(name, "documents", "removed") for name in wanted if name not in put])
        newest |= wanted
        compact(store, "documents", purge=purge)
        current = {name: text for name, text in newest.items() if text}

        assert texts(store) == current
        assert texts(Store(home)) == current
        assert {n: found[0].text for n, found in store.read("documents", list(current)).items()} == current


FILES = ("+a.md", "+b.md", "!c.md", "-.md", "d.md", "é 海鹭.md", "\x01.md")


@pytest.mark.slow
@pytest.mark.no_cover
@given(st.lists(st.dictionaries(st.sampled_from(FILES), st.sampled_from(("one", "two")), min_size=1), max_size=4))
@settings(max_examples=max(10, settings().max_examples // 10))
def test_files_of_any_name_give_the_rows_of_the_current_files(tmp_path_factory, states):
    folder = tmp_path_factory.mktemp("way")
    store, inbox = Store(folder / "home"), folder / "inbox"
    for state in states:
        shutil.rmtree(inbox, ignore_errors=True)
        inbox.mkdir()
        for name, text in state.items():
            (inbox / name).write_text(text, encoding="utf-8")

        sync_source(store, DOCUMENTS, str(inbox), FREELY)

        assert texts(store) == {without_breaks(name): text for name, text in state.items()}


@pytest.mark.slow
@pytest.mark.no_cover
def test_a_changed_document_whose_id_begins_with_a_plus_has_one_version_in_the_release(home, source):
    bare_ingest([source({f"+{n}.md": f"The Egret left pier {n}." for n in range(12)})])

    bare_ingest([source({f"+{n}.md": f"The Egret came back to pier {n}." for n in range(3)})])

    rows = open_release(home).index.rows["documents"].to_pylist()
    assert len(rows) == 12
    assert sorted(row["document_id"] for row in rows if "came back" in row["text"]) == ["+0.md", "+1.md", "+2.md"]


def test_a_document_named_like_a_mark_of_old_is_a_document(home, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"id": "*", "text": "Quill makes sensors."}\n{"id": "!", "text": "Lumen."}\n')

    bare_ingest(["d.jsonl"])
    report = bare_ingest(["d.jsonl"])

    assert open_release(home).index.rows["documents"]["document_id"].to_pylist() == ["!", "*"]
    assert report["steps"]["documents"]["skipped"] == 2
    assert report["steps"]["chunks"]["skipped"] == 2


def as_version_0_1(folder: Path) -> None:
    """Write the ledger as version 0.1 did: no kinds or hashes, and units that were spelt by a sign at their beginning."""
    (folder / "HEAD").unlink()
    signs = {"whole": "*", "appended": "+", "aside": "!", "document": ""}
    for path in folder.glob("*.parquet"):
        rows = pq.read_table(path)
        units = [
            signs[kind] + unit for kind, unit in zip(*(rows[c].to_pylist() for c in ("kind", "unit")), strict=True)
        ]
        rows = rows.set_column(0, SCHEMA.field("unit"), pa.array(units)).drop_columns(["kind"])
        pq.write_table(rows.replace_schema_metadata(), folder / f"{path.stem[:10]}.parquet")
        path.unlink()


@pytest.mark.parametrize("then", ["same", "changed"])
def test_the_ledger_of_a_0_1_home_is_read_on(home, source, then):
    inbox = source({"+a.md": "Quill makes sensors.", "*.md": "Lumen makes buoys.", "empty.md": ""})
    first = bare_ingest([inbox])
    before = Ledger(home / "ledger").entries()
    as_version_0_1(home / "ledger")

    after = Ledger(home / "ledger").entries()
    if then == "changed":
        source({"+a.md": "Quill makes lamps.", "empty.md": "Mended."})
    second = bare_ingest([inbox])

    assert after == before
    assert (second["release"] == first["release"]) == (then == "same")
    assert second["steps"]["documents"]["failed"] == (then == "same")
    rows = open_release(home).index.rows["documents"]["document_id"].to_pylist()
    assert rows == ["*.md", "+a.md"] + ["empty.md"] * (then == "changed")


def test_marks_of_a_0_1_ledger_and_those_of_now_are_one(tmp_path):
    old = pa.Table.from_pylist(
        [
            {
                **{f.name: "" if f.type == pa.string() else 0 for f in SCHEMA},
                "unit": "*",
                "step": "purge",
                "status": "done",
            }
        ],
        schema=SCHEMA,
    ).drop_columns(["kind"])
    pq.write_table(old, tmp_path / "0000000000.parquet")
    ledger = Ledger(tmp_path)
    assert ledger.whole("purge") is not None

    ledger.commit([Entry.of_whole("purge", "removed")])

    assert Ledger(tmp_path).whole("purge") is None
    (written,) = tmp_path.glob("0000000001*.parquet")
    assert not pc.any(pc.is_null(pq.read_table(written)["kind"])).as_py()
