"""Several corpora in one code location: each has its own keys, home, schedule and reports, and none writes for another."""

from pathlib import Path

import dagster as dg
import pytest

from sag_pipeline.components.corpus import ASSETS, Corpus, CorpusReport, corpus_definitions
from sag_pipeline.definitions import defs
from sag_pipeline.defs.corpus_assets import HOME, owner_of
from sag_pipeline.defs.resources import KEY
from sag_pipeline.jobs import run_ingest, run_report
from sag_retrieval import open_release
from sag_retrieval.core.errors import SettingsError

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def write(folder: str, text: str) -> str:
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "a.md").write_text(text, encoding="utf-8")
    return folder


def two_corpora() -> dg.Definitions:
    heron = write("heron", "# Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019.")
    loan = write("loan", "# 贷款\n\n2021年,安平银行向三号变电站提供贷款五千万元。三号变电站由北河电力公司建设。")
    weekly = CorpusReport(name="weekly", schedule="0 6 * * 1", options={"title": "Week of the herons"})
    return corpus_definitions(
        Corpus(name="birds", home="homes/birds", sources=[heron], schedule="0 3 * * 0", reports=[weekly]),
        Corpus(name="loans", home="homes/loans", sources=[loan], options={"zh_size": 50}),
    )


def made_by(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """Homes by the key of what a run materialized."""
    return {
        made.asset_key.to_user_string(): made.metadata[HOME].value
        for made in (e.step_materialization_data.materialization for e in result.get_asset_materialization_events())
    }


@pytest.mark.slow
def test_two_corpora_are_ingested_searched_and_reported_each_in_its_own_home(home):
    both = two_corpora()

    with dg.DagsterInstance.ephemeral() as instance:
        made = [
            made_by(both.resolve_job_def(name).execute_in_process(instance=instance, run_config=QUIET))
            for name in ("birds_ingest", "loans_ingest", "birds_report_weekly")
        ]
        homes = {run.job_name: run.tags[HOME] for run in instance.get_runs()}

    birds, loans = str(Path("homes/birds").resolve()), str(Path("homes/loans").resolve())
    assert {key.partition("/")[0] for key in made[0]} == {"birds"}
    assert [set(each.values()) for each in made] == [{birds}, {loans}, {birds}]
    assert homes == {"birds_ingest": birds, "loans_ingest": loans, "birds_report_weekly": birds}
    assert not home.exists()
    with open_release("homes/birds") as first, open_release("homes/loans") as second:
        assert "buoys" in first.search("Who sold buoys?").hits[0].text
        assert "安平银行" in second.search("三号变电站的贷款").hits[0].text
        assert len(first.table("documents")) == len(second.table("documents")) == 1
    (page,) = Path("homes/birds/reports").glob("*/*/*.html")
    assert "<title>Week of the herons" in page.read_text(encoding="utf-8")


def test_every_corpus_has_the_same_assets_under_its_own_keys_groups_and_pools(home):
    both = two_corpora()
    by_corpus = {
        name: {
            key.path[-1]: (asset.specs_by_key[key].group_name, asset.op.pool)
            for asset in both.assets
            for key in asset.keys
            if key.path[0] == name
        }
        for name in ("birds", "loans")
    }

    assert set(by_corpus["loans"]) == {asset.body.__name__ for asset in ASSETS}
    assert set(by_corpus["birds"]) == {*by_corpus["loans"], "report_weekly"}
    assert by_corpus["birds"]["chunks"] == ("birds_read", "sag_birds")
    assert by_corpus["loans"]["chunks"] == ("loans_read", "sag_loans")


def test_a_corpus_has_a_schedule_and_an_age_of_its_release_if_it_says_when(home):
    both = two_corpora()
    ages = {
        spec.key.path[0]: spec.freshness_policy
        for spec in both.resolve_all_asset_specs()
        if spec.key.path[-1] == "release"
    }

    assert {(s.name, s.job_name, s.cron_schedule) for s in both.schedules} == {
        ("birds_nightly_ingest", "birds_ingest", "0 3 * * 0"),
        ("birds_report_weekly_schedule", "birds_report_weekly", "0 6 * * 1"),
    }
    assert ages["birds"].warn_window.to_timedelta().total_seconds() == (7 * 24 + 2) * 3600
    assert ages["loans"] is None
    assert {check.asset_key.path[0] for check in both.resolve_asset_graph().asset_check_keys} == {"birds", "loans"}


def test_a_release_of_the_nightly_schedule_warns_after_26_hours_and_fails_after_50(home):
    (policy,) = [s.freshness_policy for s in defs.resolve_all_asset_specs() if s.key.path == ["release"]]

    hours = [w.to_timedelta().total_seconds() / 3600 for w in (policy.warn_window, policy.fail_window)]
    assert hours == [26, 50]


def test_columns_come_from_tables_of_the_same_corpus(home):
    (spec,) = [spec for spec in two_corpora().resolve_all_asset_specs() if spec.key.path == ["birds", "keys"]]

    (dep,) = spec.metadata["dagster/column_lineage"].deps_by_column["event_id"]
    assert dep.asset_key.path == ["birds", "events"]


@pytest.mark.parametrize(
    ("corpora", "said"),
    [
        ([{"name": "a", "home": "x"}, {"name": "b", "home": "./x"}], "two corpora have the home '.*x'"),
        ([{"name": "a"}, {"name": "b"}], "two corpora have the home '.*home'"),
        ([{"name": "a", "home": "x"}, {"name": "a", "home": "y"}], "two corpora have the name 'a'"),
        ([{"name": "My news"}], "name 'My news' is not made of small letters"),
        ([{"name": "新闻"}], "name '新闻' is not made of small letters"),
        ([{"name": "a", "schedule": "daily"}], "schedule of the corpus 'a' is 'daily'"),
        ([{"name": "a", "time_zone": "Mars/North"}], "'Mars/North' is no time"),
        ([{"name": "a", "options": {"en_sise": 5}}], "en_size"),
        (
            [{"name": "a", "reports": [CorpusReport(name="w", options={"tilte": ""})]}],
            "option 'tilte' of the report 'w'",
        ),
        (
            [{"name": "a", "reports": [CorpusReport(name="w", schedule="x")]}],
            "schedule of the report 'w' of the corpus",
        ),
    ],
)
def test_what_is_wrong_with_a_corpus_is_said_when_it_is_defined(home, corpora, said):
    with pytest.raises(SettingsError, match=said):
        corpus_definitions(*(Corpus(**given) for given in corpora))


def deployed(instance: dg.DagsterInstance, **config: object) -> dg.ExecuteInProcessResult:
    """A run that Dagster started, of the documents alone."""
    resources = {"resources": {KEY: {"config": config}}} if config else {}
    return defs.resolve_job_def("ingest").execute_in_process(
        run_config={**QUIET, **resources},
        instance=instance,
        raise_on_error=False,
        asset_selection=[dg.AssetKey("documents")],
    )


def reason(result: dg.ExecuteInProcessResult) -> str:
    (failed,) = result.filter_events(lambda event: event.is_step_failure)
    error = failed.step_failure_data.error
    return " ".join(each.message for each in (error, error.cause) if each)


@pytest.fixture
def served(home, monkeypatch, tmp_path):
    """A home that Dagster serves, in an instance that commands share."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.setenv("SAG_SOURCE", write("inbox", "# Heron\n\nLumen Optics sold 120 buoys in 2021."))
    Path("dagster").mkdir()
    with dg.DagsterInstance.get() as instance:
        assert deployed(instance).success
    return home


@pytest.mark.slow
def test_a_command_for_another_home_is_recorded_under_a_prefix_of_that_home(served, monkeypatch, tmp_path):
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "Other home"))

    done = run_ingest(["inbox"])
    run_report()

    with dg.DagsterInstance.get() as instance:
        (prefix,) = {key.path[0] for key in instance.all_asset_keys() if len(key.path) > 1}
        homes = {run.tags[HOME] for run in instance.get_runs()}
        owner = owner_of(instance, dg.AssetKey("documents"))
        assert owner.home == str(served)
        assert instance.get_latest_materialization_event(dg.AssetKey("release")) is None
        monkeypatch.setenv("SAG_HOME", str(served))
        assert deployed(instance).success
    assert prefix.startswith("home_other_home_")
    assert homes == {str(served), str(tmp_path / "Other home")}
    assert done["steps"]["documents"]["new"] == 1
    assert list(Path("Other home/reports").glob("*/*/*.html"))


@pytest.mark.slow
def test_a_command_for_the_same_home_is_recorded_under_the_keys_that_dagster_shows(served):
    run_ingest(["inbox"])

    with dg.DagsterInstance.get() as instance:
        assert {len(key.path) for key in instance.all_asset_keys()} == {1}
        assert instance.get_latest_materialization_event(dg.AssetKey("release")) is not None


@pytest.mark.slow
def test_a_run_that_names_another_home_in_its_configuration_is_refused(served, tmp_path):
    with dg.DagsterInstance.get() as instance:
        result = deployed(instance, home=str(tmp_path / "other"))

    assert not result.success
    assert "the run names the home" in reason(result)
    assert not Path("other").exists()


@pytest.mark.slow
def test_dagster_serving_another_home_is_refused_until_the_key_is_handed_over(served, monkeypatch, tmp_path):
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "moved"))

    with dg.DagsterInstance.get() as instance:
        result = deployed(instance)
        assert "`dagster asset wipe documents`" in reason(result)
        assert not Path("moved").exists()
        instance.wipe_assets([dg.AssetKey("documents")])
        assert deployed(instance).success


@pytest.mark.slow
def test_a_home_that_was_moved_keeps_its_keys(served, monkeypatch, tmp_path):
    served.rename(tmp_path / "moved")
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "moved"))

    with dg.DagsterInstance.get() as instance:
        assert deployed(instance).success


@pytest.mark.slow
def test_dagster_takes_a_key_over_from_a_command_that_came_first(home, monkeypatch, tmp_path):
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    Path("dagster").mkdir()
    inbox = write("inbox", "# Heron\n\nLumen Optics sold 120 buoys in 2021.")
    monkeypatch.setenv("SAG_SOURCE", inbox)
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "trial"))
    run_ingest([inbox])
    monkeypatch.setenv("SAG_HOME", str(home))

    with dg.DagsterInstance.get() as instance:
        assert deployed(instance).success
        assert owner_of(instance, dg.AssetKey("documents")).home == str(home)


def test_the_sensor_of_a_corpus_watches_its_own_sources(home):
    both = two_corpora()
    repository = both.get_repository_def()
    with dg.DagsterInstance.ephemeral() as instance:
        sensor = repository.get_sensor_def("loans_inbox")

        def look(cursor):
            return sensor(dg.build_sensor_context(instance=instance, repository_def=repository, cursor=cursor))

        first = look(look(None).cursor)
        write("heron", "Another text.")
        unchanged = look(first.cursor)
        write("loan", "Another text.")
        changed = look(look(unchanged.cursor).cursor)

    assert len(first.run_requests) == len(changed.run_requests) == 1
    assert "loan has not changed" in unchanged.skip_reason.skip_message
