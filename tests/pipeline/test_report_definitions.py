"""Reports defined in a corpus: about what they say, written when that changed, about what is new, and delivered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from sag_pipeline.components.corpus import Corpus, CorpusReport, corpus_definitions
from sag_pipeline.runs.delivery import shown_target
from sag_retrieval.core.errors import SettingsError
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer
from tests.support.mailbox import babbling, mail_server, web_hook
from tests.support.scripted_writer import write_well

pytestmark = pytest.mark.slow
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
HERON = "# The Heron\n\nLumen Optics sold 120 buoys in May 2021. Ada Byrne led Lumen Optics from June 2019.\n"
EGRET = "# The Egret\n\nLumen Optics sold 300 lamps in May 2023. Ada Byrne left Lumen Optics in 2024.\n"
SALES = {
    year: f"# Sales of {year}\n\nLumen Optics sold {year - 1900} buoys to the port of Ansel in May {year}. "
    f"The port of Ansel tested the buoys of Lumen Optics in June {year}. "
    f"Lumen Optics delivered the last buoys to the port of Ansel in July {year}.\n"
    for year in range(2018, 2024)
}
LOAN = "# 贷款\n\n2021年5月，安平银行向三号变电站提供贷款五千万元。三号变电站由北河电力公司建设。\n"


@pytest.fixture
def ingest(home: Path, source: Callable[..., str]) -> Callable[..., None]:
    """Publish a release of what is there and these files besides."""

    def publish(**files: str) -> None:
        ingest = bare_ingest if home.exists() else kept_ingest
        ingest([source({f"{name}.md": text for name, text in files.items()})])

    return publish


def defined(*reports: CorpusReport) -> dg.Definitions:
    return corpus_definitions(Corpus(reports=list(reports)))


def run(defs: dg.Definitions, job: str, instance: dg.DagsterInstance) -> tuple[dict[str, Any], list[str]]:
    """Metadata of the report that a job made, and the warnings of its run."""
    done = defs.resolve_job_def(job).execute_in_process(QUIET, instance=instance)
    assert done.success
    made = [e.step_materialization_data.materialization for e in done.get_asset_materialization_events()]
    metadata = next(each.metadata for each in made if each.asset_key.path[-1] == job)
    records = instance.get_records_for_run(done.run_id).records
    warned = [r.event_log_entry.user_message for r in records if r.event_log_entry.level == 30]
    return {name: getattr(value, "value", value) for name, value in metadata.items()}, warned


def tick(defs: dg.Definitions, name: str, cursor: str | None, instance: dg.DagsterInstance) -> Any:
    sensor = defs.resolve_sensor_def(name)
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        return sensor.evaluate_tick(context)


def test_a_report_is_started_by_a_release_that_changes_what_it_is_about_and_by_no_other(ingest):
    english = CorpusReport(name="english", on_change=True, options={"where": {"language": "en"}})
    defs = defined(english)
    with dg.DagsterInstance.ephemeral() as instance:
        none = tick(defs, "report_english_changed", None, instance)
        ingest(heron=HERON)
        first = tick(defs, "report_english_changed", none.cursor, instance)
        same = tick(defs, "report_english_changed", first.cursor, instance)
        ingest(贷款=LOAN)
        other = tick(defs, "report_english_changed", first.cursor, instance)
        ingest(egret=EGRET)
        changed = tick(defs, "report_english_changed", other.cursor, instance)

    assert "`sag ingest` makes one" in none.skip_message
    assert len(first.run_requests) == 1
    assert "no release since" in same.skip_message
    assert not other.run_requests
    assert "changes nothing that the report is about" in other.skip_message
    assert len(changed.run_requests) == 1
    assert changed.run_requests[0].run_key != first.run_requests[0].run_key


def test_a_report_of_what_is_new_is_about_what_the_last_one_was_not(ingest):
    defs = defined(CorpusReport(name="news", options={"only_new": True, "title": "News"}))
    with dg.DagsterInstance.ephemeral() as instance:
        ingest(heron=HERON)
        first, _ = run(defs, "report_news", instance)
        ingest(egret=EGRET)
        second, _ = run(defs, "report_news", instance)
        again, _ = run(defs, "report_news", instance)
        ingest(heron=HERON.replace("120", "140"))
        third, _ = run(defs, "report_news", instance)

    assert (first["events"], second["events"], again["events"], third["events"]) == (2, 2, 2, 1)
    page = Path(second["page"]).read_text(encoding="utf-8")
    assert "300 lamps" in page
    assert "120 buoys" not in page
    assert f"only about what is new since {second['previous']}" in page
    assert "140 buoys" in Path(third["page"]).read_text(encoding="utf-8")


def test_a_report_of_what_is_new_says_so_where_nothing_is(ingest):
    defs = defined(CorpusReport(name="news", options={"only_new": True, "where": {"language": "en"}}))
    with dg.DagsterInstance.ephemeral() as instance:
        ingest(heron=HERON)
        run(defs, "report_news", instance)
        ingest(贷款=LOAN)
        second, _ = run(defs, "report_news", instance)

    assert second["events"] == 0
    assert "Nothing in it is new since" in Path(second["page"]).read_text(encoding="utf-8")


def test_a_report_is_delivered_to_a_hook_a_mailbox_and_a_folder(ingest, tmp_path, monkeypatch):
    ingest(**{f"sales{year}": text for year, text in SALES.items()})
    hooked: list[Any] = []
    mailed: list[str] = []
    shared = tmp_path / "shared"
    with web_hook(hooked) as hook, mail_server(mailed) as smtp, dg.DagsterInstance.ephemeral() as instance:
        monkeypatch.setenv("SAG_SMTP", smtp)
        to = [hook, "mailto:team@example.org", str(shared)]
        options = {"title": "Herons", "deliver": to, "address": "https://reports.example/sag/"}
        made, warned = run(defined(CorpusReport(name="herons", options=options)), "report_herons", instance)

    (told,) = hooked
    assert told["headline"] == made["headline"]
    assert told["findings"] == []  # a model's
    assert told["topics"][0]["title"]
    assert told["link"] == made["link"]
    assert told["text"].startswith("Herons: ")
    release = told["release"]
    assert made["link"] == f"https://reports.example/sag/report_herons/{release}/report.html"
    copied = shared / "report_herons" / release
    assert (copied / "report.html").read_bytes() == Path(made["page"]).read_bytes()
    assert (copied / "report_events.parquet").is_file()
    assert (copied / "report_findings.parquet").is_file()
    assert not list(shared.glob(".*"))
    assert "To: team@example.org" in mailed
    assert any("report.html" in line for line in mailed)
    assert "not_delivered" not in made
    assert not any("delivered" in each for each in warned)


def test_what_cannot_be_delivered_is_a_warning_and_the_report_is_kept(ingest, tmp_path, monkeypatch):
    ingest(heron=HERON)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SAG_SMTP", "smtp://127.0.0.1:9")
    hooked: list[Any] = []
    with babbling() as babble, web_hook(hooked, status=500) as refusing, dg.DagsterInstance.ephemeral() as instance:
        to = ["http://127.0.0.1:9/", babble, refusing, "mailto:team@example.org", str(tmp_path / "file" / "below")]
        made, warned = run(defined(CorpusReport(name="herons", options={"deliver": to})), "report_herons", instance)

    assert Path(made["page"]).is_file()
    assert all(shown_target(target) in made["not_delivered"] for target in to)
    assert len([each for each in warned if "could not be delivered to" in each]) == len(to)


def test_delivering_the_same_release_again_replaces_its_files(ingest, tmp_path):
    ingest(heron=HERON)
    options = {"deliver": [str(tmp_path / "shared")]}
    with dg.DagsterInstance.ephemeral() as instance:
        defs = defined(CorpusReport(name="herons", options=options))
        made, _ = run(defs, "report_herons", instance)
        (folder,) = (tmp_path / "shared" / "report_herons").iterdir()
        (folder / "report.html").write_text("old")
        run(defs, "report_herons", instance)

    assert (folder / "report.html").read_bytes() == Path(made["page"]).read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"deliver": ["ftp://example.org/x"]}, "'ftp://example.org/x' is no place to deliver to; write https"),
        ({"deliver": ["mailto:"]}, "is no place to deliver to"),
        ({"recipients": []}, "'recipients' of the report 'bad' is none of"),
        ({"max_calls": -1}, "max_calls"),
    ],
)
def test_a_wrong_definition_is_refused_when_it_is_loaded(home, options, said):
    with pytest.raises((SettingsError, ValueError), match=said):
        defined(CorpusReport(name="bad", options=options))


def test_a_report_is_written_by_its_own_model_with_findings_in_the_run(ingest, monkeypatch):
    ingest(**{f"sales{year}": text for year, text in SALES.items()})
    with ChatServer(write_well) as server, dg.DagsterInstance.ephemeral() as instance:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        defs = defined(CorpusReport(name="herons", options={"model": "openai:scripted"}))
        made, _ = run(defs, "report_herons", instance)
        again, _ = run(defs, "report_herons", instance)

    assert made["calls"] == len(server.calls) > 0
    assert (again["calls"], again["cached_calls"]) == (0, made["calls"])
    assert made["findings"].records[0].data["importance"] == "9"
    assert any(made["headline"] in text for text in SALES.values())


def test_a_report_has_a_look_of_its_own(ingest, tmp_path):
    ingest(heron=HERON)
    look = tmp_path / "look"
    look.mkdir()
    (look / "style.css").write_text("h1 { color: rebeccapurple; }", encoding="utf-8")
    (look / "page.html.j2").write_text("<style>{{ style }}</style><h1>{{ title }} of the house</h1>", encoding="utf-8")
    options = {"title": "Herons", "template": str(look)}
    with dg.DagsterInstance.ephemeral() as instance:
        made, _ = run(defined(CorpusReport(name="herons", options=options)), "report_herons", instance)

    page = Path(made["page"]).read_text(encoding="utf-8")
    assert page == "<style>h1 { color: rebeccapurple; }</style><h1>Herons of the house</h1>"


@pytest.mark.parametrize(
    ("file", "said"), [("", "is no folder; make it"), ("{{ nonsense", "cannot be used: TemplateSyntaxError")]
)
def test_a_look_that_cannot_be_used_is_named(ingest, tmp_path, file, said):
    from sag_retrieval import open_release

    ingest(heron=HERON)
    if file:
        (tmp_path / "look").mkdir()
        (tmp_path / "look" / "page.html.j2").write_text(file, encoding="utf-8")

    with open_release() as release, pytest.raises(SettingsError, match=said):
        release.report(options={"template": str(tmp_path / "look")})


def test_the_definition_of_the_how_to_can_be_loaded(home, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "reports.md").read_text(encoding="utf-8")
    given = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])["attributes"]

    defs = corpus_definitions(Corpus(**given | {"reports": [CorpusReport(**each) for each in given["reports"]]}))

    assert defs.resolve_job_def("report_risks_of_the_week")
    assert "report_risks_of_the_week_schedule" in {each.name for each in defs.schedules or ()}
