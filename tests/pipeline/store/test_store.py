"""The store keeps exactly the newest version of each document, whatever happens in between."""

import subprocess
import sys
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_pipeline.engines.engine import here
from sag_pipeline.options import IngestOptions
from sag_pipeline.runs.maintenance import compact, wasteful
from sag_pipeline.step_runner import Maker, by_rules, run_step, step_of
from sag_pipeline.store.ledger import Entry, Ledger
from sag_pipeline.store.parts import Parts
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_pipeline.tables import content_hash, from_table, schema_of, to_table
from sag_retrieval.core.errors import SourceError, StoreError
from sag_retrieval.core.records import Document, EventKey, Key, Summary

DOCUMENTS = StepSpec("documents")
SUMMARIES = StepSpec("summaries", ("documents",), "v1")


def document(name: str, text: str = "text") -> Document:
    return Document(name, "inbox", name, text, "en", version=text)


def put(store: Store, *documents: Document) -> None:
    outcomes = {Pending(d.document_id, d.version): StepResult((d,)) for d in documents}
    store.commit(DOCUMENTS, outcomes, {d.document_id: Entry("", "", "", "inbox") for d in documents})


def summarise(store: Store, step: StepSpec = SUMMARIES) -> list[str]:
    pending, _ = store.take_pending(step)
    texts = store.read("documents", [p.document_id for p in pending])
    store.commit(
        step,
        {p: StepResult((Summary(p.document_id, texts[p.document_id][0].text.upper()),)) for p in pending},
    )
    return [p.document_id for p in pending]


def rows(store: Store, table: str) -> list[dict]:
    found = pa.concat_tables(list(store.scan(table))).to_pylist()
    return sorted(found, key=lambda row: row["document_id"])


def test_a_step_is_pending_only_for_documents_whose_content_changed(tmp_path):
    store = Store(tmp_path)
    put(store, document("a"), document("b"))

    first = summarise(store)
    put(store, document("b", "other"))
    second = summarise(store)

    assert sorted(first) == ["a", "b"]
    assert second == ["b"]
    assert [r["summary"] for r in rows(store, "summaries")] == ["TEXT", "OTHER"]


def test_a_changed_fingerprint_makes_every_document_pending(tmp_path):
    store = Store(tmp_path)
    put(store, document("a"), document("b"))
    summarise(store)

    again = summarise(store, replace(SUMMARIES, fingerprint="v2"))

    assert sorted(again) == ["a", "b"]


def test_an_unchanged_output_stops_the_work_downstream(tmp_path):
    store = Store(tmp_path)
    chunks = StepSpec("sections", ("summaries",))
    put(store, document("a"))
    summarise(store)
    store.commit(chunks, {p: StepResult() for p in store.pending(chunks)})

    summarise(store, replace(SUMMARIES, fingerprint="v2"))

    assert store.pending(chunks) == []


def test_a_removed_document_leaves_no_row_in_any_part(tmp_path):
    store = Store(tmp_path)
    put(store, document("a"), document("b", "secret"))
    summarise(store)

    store.ledger.commit([Entry("b", step, "removed") for step in ("documents", "summaries")])
    for table in ("documents", "summaries"):
        compact(store, table, purge=True)

    assert [r["document_id"] for r in rows(Store(tmp_path), "summaries")] == ["a"]
    assert all(b"SECRET" not in path.read_bytes() for path in tmp_path.rglob("*.parquet") if "ledger" not in str(path))


def test_what_a_step_made_goes_when_its_input_fails(tmp_path):
    store = Store(tmp_path)
    chunks = StepSpec("sections", ("summaries",))
    put(store, document("a"))
    summarise(store)
    store.commit(chunks, {p: StepResult() for p in store.pending(chunks)})

    store.commit(SUMMARIES, {Pending("a", "x"): StepResult(reason="the model is down")})

    assert store.take_pending(chunks) == ([], 1)
    assert store.take_pending(chunks) == ([], 0)


@pytest.mark.parametrize(("retries", "expected"), [(True, ["a"]), (False, [])], ids=["model", "rules"])
def test_a_failure_is_tried_again_only_where_chance_plays_a_part(tmp_path, retries, expected):
    store = Store(tmp_path)
    step = replace(SUMMARIES, retries=retries)
    put(store, document("a"))
    (pending,) = store.pending(step)

    store.commit(step, {pending: StepResult(reason="no answer")})

    assert [p.document_id for p in store.pending(step)] == expected
    assert [p.attempts for p in store.pending(step)] == [1] * len(expected)


def test_a_part_without_a_ledger_entry_does_not_exist(tmp_path):
    store = Store(tmp_path)
    put(store, document("a"))
    Parts(tmp_path / "tables").write("documents", to_table("documents", [document("ghost")]), ["ghost"])

    reopened = Store(tmp_path)

    assert [r["document_id"] for r in rows(reopened, "documents")] == ["a"]
    assert compact(reopened, "documents") == 1


def test_a_snapshot_keeps_what_was_removed_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("sag_pipeline.store.ledger._FILES_BEFORE_SNAPSHOT", 3)
    ledger = Ledger(tmp_path)
    for n in range(8):
        ledger.commit([Entry(f"d{n}", "documents", "done"), Entry(f"d{n - 1}", "documents", "removed")])

    reopened = Ledger(tmp_path)

    assert [e.unit for e in reopened.entries()] == ["d7"]
    assert len(list(tmp_path.glob("*.parquet"))) <= 4


def test_files_that_a_crash_left_before_a_snapshot_are_not_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("sag_pipeline.store.ledger._FILES_BEFORE_SNAPSHOT", 1)
    ledger = Ledger(tmp_path)
    ledger.commit([Entry("a", "documents", "done")])
    leftover = next(tmp_path.glob("*.parquet")).read_bytes()
    ledger.commit([Entry("a", "documents", "removed")])

    (tmp_path / "0000000000.parquet").write_bytes(leftover)

    assert Ledger(tmp_path).entries() == []


def test_a_second_writer_is_told_to_wait(tmp_path):
    with Store.locked(tmp_path), pytest.raises(SourceError, match="another run"):
        with Store.locked(tmp_path, patience=0.1):
            pass


def test_rows_and_records_are_the_same_thing():
    keys = [
        EventKey("a", "e1", Key("k1", "person", value_string="陈晓")),
        EventKey("a", "e1", Key("k2", "amount", value_number=3.5, unit="t")),
        EventKey("a", "e2", Key("k3", "is_forecast", value_bool=False)),
    ]

    table = to_table("keys", keys)

    assert table.schema == schema_of("keys")
    assert from_table("keys", table) == keys


@pytest.mark.slow
@pytest.mark.no_cover
@given(st.lists(st.sampled_from("abcd"), min_size=1), st.integers(1, 3))
@settings(max_examples=30)
def test_any_order_of_changes_ends_in_the_newest_state(tmp_path_factory, changes, every):
    store = Store(tmp_path_factory.mktemp("store"))
    newest = {}
    for n, name in enumerate(changes):
        put(store, document(name, f"text {n}"))
        newest[name] = f"TEXT {n}"
        if n % every == 0:
            summarise(store)
            compact(store, "summaries", purge=True)
    summarise(store)

    assert {r["document_id"]: r["summary"] for r in rows(store, "summaries")} == newest


def test_only_parts_that_waste_space_are_rewritten():
    counts = {"full": (100, 100), "half": (50, 100), "some": (90, 100)}

    lazily = wasteful(counts, purge=False, dead_share=0.3, small=10, most=8)
    strictly = wasteful(counts, purge=True, dead_share=0.3, small=10, most=8)

    assert lazily == {"half"}
    assert strictly == {"half", "some"}


def test_the_content_hash_follows_order_and_content():
    one, two = Summary("a", "x"), Summary("b", "y")

    assert content_hash([one, two]) == content_hash([Summary("a", "x"), Summary("b", "y")])
    assert content_hash([one, two]) != content_hash([two, one])


def test_a_ledger_that_is_held_is_read_once_until_its_files_change(tmp_path):
    with Store.locked(tmp_path) as first:
        put(first, document("a"))
    with Store.locked(tmp_path) as again:
        assert again.ledger._database is first.ledger._database
        put(again, document("b"))
    assert Store(tmp_path).ledger.document_count("documents") == 2
    (tmp_path / "other").mkdir()
    assert Ledger(tmp_path / "other")._database is not first.ledger._database
    again.ledger.take_snapshot()
    with Store.locked(tmp_path) as after:
        assert after.ledger._database is not first.ledger._database
        assert after.ledger.document_count("documents") == 2


@pytest.mark.slow
def test_commits_of_another_process_are_read_although_the_ledger_is_held(tmp_path):
    held = Store(tmp_path)
    put(held, document("a"))
    code = "import sys; from pathlib import Path; from sag_pipeline.store.store import Store; "
    code += "Store(Path(sys.argv[1])).remove(['a'])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)

    assert Store(tmp_path).ledger.document_count("documents") == 0
    assert held.ledger.document_count("documents") == 1


def test_a_held_ledger_that_was_damaged_since_it_was_read_is_refused(tmp_path):
    with Store.locked(tmp_path) as store:
        put(store, document("a"))
    commit = next((tmp_path / "ledger").glob("*.parquet"))
    commit.write_bytes(commit.read_bytes()[:-20])

    with pytest.raises(StoreError, match="sag repair"):
        Store(tmp_path)
    assert store.ledger.document_count("documents") == 1


def test_a_file_without_a_wanted_column_is_damaged(tmp_path):
    part = Parts(tmp_path).write("summaries", to_table("summaries", [Summary("a", "text")]), ["a"])

    with pytest.raises(StoreError, match="damaged"):
        Parts(tmp_path).read("summaries", part, ["document_id", "nothing"])


def test_documents_that_alternate_between_parts_read_each_part_once(tmp_path, monkeypatch):
    store = Store(tmp_path)
    put(store, *(document(f"d{n}") for n in range(0, 8, 2)))
    put(store, *(document(f"d{n}") for n in range(1, 8, 2)))
    names = [f"d{n}" for n in range(8)]
    opened = []
    read = Parts.read

    def counted(self: Parts, table: str, part: str, columns: object = None) -> pa.Table:
        opened.append(part)
        return read(self, table, part, columns)

    monkeypatch.setattr(Parts, "read", counted)
    reader = store.document_rows("documents", names)
    found = [row for first in (0, 4) for row in reader.of(names[first : first + 4])["document_id"].to_pylist()]

    assert found == names
    assert len(opened) == len(set(opened)) == 2


def test_many_documents_share_a_commit(tmp_path):
    store = Store(tmp_path)
    put(store, *(document(f"d{n:04}", f"# Title\n\nThe mill sold {n} buoys.") for n in range(600)))
    before = len(list((tmp_path / "ledger").glob("*.parquet")))

    run_step(store, step_of("sections", IngestOptions()), IngestOptions(), partial(by_rules, here))

    assert len(list((tmp_path / "ledger").glob("*.parquet"))) - before == 2  # of 512 and of the rest
    assert store.ledger.document_count("sections") == 600


def test_parts_are_the_same_whatever_the_batches_of_an_engine(tmp_path):
    made = []
    for size in (16, 128):
        store = Store(tmp_path / str(size))
        put(store, *(document(f"d{n:04}", f"The mill sold {n} buoys. " * (200 if n < 20 else 1)) for n in range(300)))

        def in_batches(pending: int, size: int = size) -> Maker:
            return replace(by_rules(here, pending), batch=size, commit=100)  # a group is not divided

        run_step(store, step_of("sections", IngestOptions()), IngestOptions(), in_batches)
        made.append((store.parts.names("sections"), store.state_hash(["sections"])))

    assert made[0] == made[1]
    assert len(made[0][0]) == 3  # of 128, 128 and 44
