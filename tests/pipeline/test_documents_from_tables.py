"""Rows of any upstream asset as documents: what each kind of table gives, what is skipped, what is removed and when."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sag_pipeline.components.corpus import Corpus, DocumentTable, corpus_definitions
from sag_pipeline.options import IngestOptions
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.store import Store
from sag_pipeline.sync.rows import staged_rows
from sag_pipeline.sync.sync import SyncOptions, TooManyRemoved, sync_source
from sag_retrieval import open_release
from sag_retrieval.core.errors import SourceError

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
STEP = step_of("documents", IngestOptions())
HERON = {"id": "heron", "text": "Lumen Optics sold 120 buoys in 2021.", "title": "The Heron"}
LOAN = {"id": 7, "text": "2021年,安平银行向三号变电站提供贷款五千万元。", "title": "贷款"}


def sync(home: Path, rows, removal="absence", **options):
    with Store.locked(home) as store, staged_rows("articles", rows, removal) as staged:
        return sync_source(store, STEP, "asset://articles", SyncOptions(**options), staged=staged).counts


def stored(home: Path) -> dict[str, dict]:
    store = Store(home)
    return {row["document_id"]: row for rows in store.scan("documents") for row in rows.to_pylist()}


def skipped(home: Path) -> dict[int, str]:
    return {e.line: e.reason for e in Store(home).ledger.entries("step = 'documents' AND kind = 'aside'")}


def as_parquet(rows: list[dict]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), "articles.parquet")
    return "articles.parquet"


def as_frame(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows)


KINDS = {
    "pandas": as_frame,
    "Arrow table": pa.Table.from_pylist,
    "Arrow batch": pa.RecordBatch.from_pylist,
    "Arrow reader": lambda rows: pa.Table.from_pylist(rows).to_reader(),
    "Parquet": as_parquet,
    "Parquet path": lambda rows: Path(as_parquet(rows)),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_every_kind_of_table_gives_the_same_documents(home, make):
    rows = [{**HERON, "date": date(2021, 3, 4), "author": "Ada"}, {**LOAN, "id": "7", "date": None, "author": None}]

    counts = sync(home, make(rows))

    found = stored(home)
    assert counts["new"] == 2
    assert {key: (row["title"], row["source"]) for key, row in found.items()} == {
        "heron": ("The Heron", "asset://articles"),
        "7": ("贷款", "asset://articles"),
    }
    assert found["heron"]["metadata"] == '{"author": "Ada", "date": "2021-03-04"}'
    assert found["7"]["metadata"] == "{}"
    assert skipped(home) == {}


def test_rows_in_another_order_and_unchanged_rows_are_not_read_again(home):
    sync(home, as_frame([HERON, LOAN]))

    counts = sync(home, as_frame([LOAN, HERON, {**HERON, "id": "new"}]))

    assert (counts["new"], counts["changed"], counts["removed"], counts["skipped"]) == (1, 0, 0, 2)


def test_each_bad_row_is_skipped_with_its_reason_and_the_others_are_documents(home):
    rows = [
        HERON,
        {"id": None, "text": "no id"},
        {"id": 1.5, "text": "an id with a fraction"},
        {"id": "empty", "text": "  "},
        {"id": "null", "text": None},
        {"id": "number", "text": 5},
        {"id": "json", "text": "text", "metadata": "{"},
        {"id": "list", "text": "text", "metadata": [1]},
        {"id": "bytes", "text": "text", "metadata": {"x": b"1"}},
        {"id": "flag", "text": "text", "deleted": "perhaps"},
        {"id": "infinite", "text": "text", "metadata": {"x": float("inf")}},
        {"id": "heron", "text": "the same id"},
        {"id": "half \ud83d", "text": "half a character"},
        LOAN,
    ]

    counts = sync(home, pd.DataFrame(rows, dtype=object))

    assert set(stored(home)) == {"heron", "7"}
    reasons = skipped(home)
    assert (counts["new"], counts["failed"], len(reasons)) == (2, 12, 12)
    for line, said in {
        2: "id is None",
        3: "id is 1.5",
        4: "no text",
        5: "text' is missing",
        6: "'text' must be str, got int",
        7: "metadata is no JSON",
        8: "metadata is of type list",
        9: "type bytes cannot be metadata",
        10: "deleted is 'perhaps'",
        11: "not JSON compliant",
        12: "already used",
        13: "half a character",
    }.items():
        assert said in reasons[line], (line, reasons[line])


def test_a_row_that_is_no_document_any_more_keeps_its_last_good_version(home):
    sync(home, as_frame([HERON, LOAN]))

    sync(home, as_frame([LOAN, {**HERON, "text": None}]))

    assert stored(home)["heron"]["text"] == HERON["text"]
    assert "its last good version is kept" in skipped(home)[2]


def test_a_row_that_is_gone_is_a_document_removed_whatever_stands_at_its_place(home):
    sync(home, as_frame([HERON, LOAN, {"id": "c", "text": "Quill makes sensors."}]))

    counts = sync(home, as_frame([{"id": "c", "text": None}, LOAN]))

    assert counts["removed"] == 1
    assert set(stored(home)) == {"7", "c"}


def test_by_tombstone_only_rows_that_say_so_remove_a_document(home):
    sync(home, as_frame([{**HERON, "deleted": False}, {**LOAN, "deleted": None}]), "tombstone")

    nothing = sync(home, pd.DataFrame(columns=["id", "text", "deleted"]), "tombstone")
    more = sync(home, as_frame([{"id": "new", "text": "Quill makes sensors.", "deleted": False}]), "tombstone")
    one = sync(home, as_frame([{"id": "heron", "text": None, "deleted": True}]), "tombstone")

    assert (nothing["removed"], more["new"], more["removed"], one["removed"]) == (0, 1, 0, 1)
    assert set(stored(home)) == {"7", "new"}


def test_a_row_marked_deleted_is_absent_where_absence_removes(home):
    sync(home, as_frame([HERON, LOAN]))

    assert sync(home, as_frame([{**HERON, "deleted": True}, LOAN]))["removed"] == 1


@pytest.mark.parametrize("removal", ["absence", "tombstone"])
def test_a_table_that_loses_most_of_its_rows_is_refused_until_removals_are_allowed(home, removal):
    rows = [{"id": str(n), "text": f"Text number {n} is here.", "deleted": False} for n in range(20)]
    sync(home, as_frame(rows), removal)
    gone = as_frame([{**row, "deleted": True} for row in rows])

    with pytest.raises(TooManyRemoved, match="set in the run configuration of `documents`: `allow_removals: true`"):
        sync(home, gone, removal)
    assert len(stored(home)) == 20
    assert sync(home, gone, removal, allow_removals=True)["removed"] == 20


def test_an_empty_table_removes_nothing_by_absence(home):
    sync(home, as_frame([HERON]))

    with pytest.raises(TooManyRemoved, match="1 of its 1 documents are gone"):
        sync(home, pd.DataFrame(columns=["id", "text"]))


@pytest.mark.parametrize(
    ("value", "removal", "said"),
    [
        ({"id": ["a"]}, "absence", "table 'articles' is a dict; give a pandas DataFrame"),
        (pd.DataFrame({"id": ["a"], "body": ["b"]}), "absence", "no column 'text' among id, body"),
        (pd.DataFrame({"id": ["a"], "text": ["b"]}), "tombstone", "no column 'deleted'"),
        ("nowhere.parquet", "absence", "cannot be read"),
    ],
)
def test_what_is_no_table_of_documents_is_named(home, value, removal, said):
    with pytest.raises(SourceError, match=said), staged_rows("articles", value, removal):
        pass


def test_values_of_other_types_are_written_as_json_has_them(home):
    row = {
        **HERON,
        "at": datetime(2021, 3, 4, 5, 6, tzinfo=UTC),
        "price": Decimal("1.5"),
        "metadata": '{"at": "given", "n": {"x": 1}}',
    }

    sync(home, pd.DataFrame([row]))

    assert stored(home)["heron"]["metadata"] == '{"at": "given", "n": {"x": 1}, "price": 1.5}'


def fed_by(rows: list[list[dict]], removal: str = "absence") -> dg.Definitions:
    """A corpus that is fed by an asset, whose value is the last of `rows`."""

    @dg.asset(key=["raw", "articles"])
    def articles() -> pd.DataFrame:
        return pd.DataFrame(rows[-1])

    corpus = Corpus(name="news", home="homes/news", tables=[DocumentTable(asset="raw/articles", removal=removal)])
    return dg.Definitions.merge(dg.Definitions(assets=[articles]), corpus_definitions(corpus))


@pytest.mark.slow
def test_an_asset_feeds_a_corpus_through_its_io_manager(home, tmp_path):
    rows = [[HERON, LOAN]]
    defs = fed_by(rows)
    everything = dg.AssetSelection.assets(["news", "communities"]).upstream()
    job = dg.Definitions.merge(defs, dg.Definitions(jobs=[dg.define_asset_job("all", everything)]))
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        first = job.resolve_job_def("all").execute_in_process(instance=instance, run_config=QUIET)
        # The job of the corpus reads what is stored and does not make it again.
        rows.append([LOAN])
        second = defs.resolve_job_def("news_ingest").execute_in_process(instance=instance, run_config=QUIET)
        third = job.resolve_job_def("all").execute_in_process(instance=instance, run_config=QUIET)

    made = [
        {
            m.asset_key.to_user_string(): m.metadata["removed"].value
            for m in done.asset_materializations_for_node("news__documents")
        }
        for done in (first, second, third)
    ]
    assert made == [{"news/documents": 0}, {"news/documents": 0}, {"news/documents": 1}]
    assert not any(e.asset_key == dg.AssetKey(["raw", "articles"]) for e in second.get_asset_materialization_events())
    with open_release("homes/news") as release:
        assert "安平银行" in release.search("三号变电站的贷款").hits[0].text
        assert list(release.table("documents").source) == ["asset://raw/articles"]


@pytest.mark.slow
def test_a_new_value_of_the_asset_starts_one_ingest(home, tmp_path):
    defs = fed_by([[HERON]])
    repository = defs.get_repository_def()
    (sensor,) = [each for each in repository.sensor_defs if "fed_by" in each.name]
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        before = sensor.evaluate_tick(context)
        dg.materialize([defs.assets[0]], instance=instance, run_config=QUIET)
        once = sensor.evaluate_tick(context)
        again = dg.build_sensor_context(instance=instance, repository_def=repository, cursor=once.cursor)
        later = sensor.evaluate_tick(again)

    assert (sensor.name, sensor.job_name) == ("news_fed_by_raw_articles", "news_ingest")
    assert [len(tick.run_requests) for tick in (before, once, later)] == [0, 1, 0]


@pytest.mark.slow
def test_a_corpus_may_have_a_folder_and_a_table(home, source):
    folder = source({"a.md": "Quill makes sensors in 2020."})
    corpus = Corpus(name="both", home="homes/both", sources=[folder], tables=[DocumentTable(asset="articles")])

    @dg.asset
    def articles() -> pa.Table:
        return pa.Table.from_pylist([HERON])

    defs = dg.Definitions.merge(dg.Definitions(assets=[articles]), corpus_definitions(corpus))
    selection = dg.AssetSelection.assets("articles", ["both", "documents"])
    job = dg.Definitions.merge(defs, dg.Definitions(jobs=[dg.define_asset_job("two", selection)]))

    assert job.resolve_job_def("two").execute_in_process(run_config=QUIET).success
    assert set(stored(Path("homes/both"))) == {"a.md", "heron"}
