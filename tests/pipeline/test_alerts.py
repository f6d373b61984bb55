"""A failed run is told by a web hook, an e-mail or a file; what cannot be told stops nothing."""

import json
import logging
from pathlib import Path

import dagster as dg
import pytest

from sag_pipeline.definitions import defs
from sag_pipeline.defs.sensors import tell
from sag_retrieval.core.settings import load_settings
from tests.support import forked
from tests.support.mailbox import babbling, mail_server, web_hook

TOLD = {"subject": "sag: ingest failed: 源 is\ngone", "run_id": "r1", "reason": "gone"}


def test_a_web_hook_gets_what_is_told_as_json():
    received: list[object] = []

    with web_hook(received) as address:
        assert tell(load_settings(alert=address), TOLD) == ""

    assert received == [{"text": TOLD["subject"], **TOLD}]


@pytest.mark.slow
def test_a_hook_that_sends_elsewhere_is_not_followed():
    first: list[object] = []
    second: list[object] = []

    with web_hook(second) as elsewhere, web_hook(first, 302, moved_to=elsewhere) as address:
        assert "302" in tell(load_settings(alert=address), TOLD)

    assert (len(first), second) == (1, [])


def test_an_address_of_an_unknown_kind_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    fault = tell(load_settings(alert="file:///x"), TOLD)

    assert "'file:///x' is no place to deliver to" in fault
    assert list(tmp_path.iterdir()) == []


def test_what_a_hook_says_back_does_not_show_its_secret(caplog):
    with web_hook([], 401, reason="no such hook: /hook/T0-secret") as address, caplog.at_level(logging.WARNING):
        fault = tell(load_settings(alert=f"{address}/T0-secret"), TOLD)

    assert "401" in fault
    assert "secret" not in fault + caplog.text


def test_an_e_mail_has_a_subject_of_one_line_and_what_is_told():
    received: list[str] = []
    with mail_server(received) as smtp:
        settings = load_settings(alert="mailto:team@example.org", smtp=smtp)
        assert tell(settings, TOLD) == ""

    assert "To: team@example.org" in received
    assert sum(line.startswith("Subject: ") for line in received) == 1


@pytest.mark.parametrize(
    "alert", ["http://127.0.0.1:9/hook", "mailto:team@example.org", "http://[wrong/", "{tmp}/file/folder"]
)
def test_what_cannot_be_told_is_logged_and_stops_nothing(alert, tmp_path, caplog):
    (tmp_path / "file").write_text("no folder")
    settings = load_settings(alert=alert.replace("{tmp}", str(tmp_path)), smtp="smtp://127.0.0.1:9")

    with caplog.at_level(logging.WARNING):
        assert "the failure of run r1 could not be told" in tell(settings, TOLD)

    assert "check SAG_ALERT" in caplog.text


def test_a_password_is_not_sent_to_a_server_that_does_not_encrypt():
    received: list[str] = []
    with mail_server(received) as smtp:
        settings = load_settings(alert="mailto:a@example.org", smtp=smtp.replace("//", "//user:secret@"))

        assert "could not be told" in tell(settings, TOLD)

    assert received == []


def test_a_server_that_speaks_no_http_stops_nothing():
    with babbling() as address:
        assert "could not be told" in tell(load_settings(alert=address), TOLD)


def test_nobody_is_told_where_nobody_is_named():
    assert tell(load_settings(alert=""), TOLD) == ""


@pytest.mark.slow
def test_the_sensor_tells_why_a_run_failed_and_which_release_stays(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SAG_ALERT", str(tmp_path / "alerts"))
    monkeypatch.setenv("SAG_SOURCE", "nowhere")
    sensor = next(each for each in defs.sensors or [] if each.name == "failure")
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        done = defs.resolve_job_def("ingest").execute_in_process(quiet, instance=instance, raise_on_error=False)
        context = dg.build_run_status_sensor_context(
            sensor.name, done.get_run_failure_event(), instance, done.dagster_run
        ).for_run_failure()
        sensor(context)

    (path,) = Path("alerts").iterdir()
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["run_id"] == done.run_id == path.stem
    assert told["reason"].startswith("documents: source 'nowhere'")
    assert (told["job"], told["release"], told["home"]) == ("ingest", "", str(home))


@pytest.mark.slow
def test_a_command_that_fails_tells_once_and_the_sensor_does_not_tell_again(home, tmp_path, monkeypatch):
    instance_home, received = tmp_path / "instance", []
    instance_home.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(instance_home))
    with web_hook(received) as address:
        monkeypatch.setenv("SAG_ALERT", address)
        done = forked.sag("ingest", "nowhere")
        assert done.returncode != 0, done.stderr
        assert len(received) == 1, done.stderr
        with dg.DagsterInstance.get() as instance:
            (run,) = instance.get_runs()
            _sense(instance, run)

            assert len(received) == 1
            instance.report_run_failed(run, "the process was killed")  # a failure that no command has told of
            _sense(instance, run)

    first, second = received
    assert first["run_id"] == second["run_id"] == run.run_id
    assert first["reason"].startswith("documents: source 'nowhere'")
    assert first["home"] == str(home)


def _sense(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    """What the daemon does about the newest failure of a run."""
    sensor = next(each for each in defs.sensors or [] if each.name == "failure")
    event = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE)[-1].dagster_event
    assert event is not None
    sensor(dg.build_run_status_sensor_context(sensor.name, event, instance, run).for_run_failure())


@pytest.mark.slow
def test_each_file_that_is_skipped_is_named_in_the_log_of_the_run(home, source, monkeypatch):
    monkeypatch.setenv(
        "SAG_SOURCE", source({"heron.md": "# Heron\n\nIt left.\n", "坏的.pdf": "no PDF", "b.pdf": "none"})
    )
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        done = defs.resolve_job_def("ingest").execute_in_process(quiet, instance=instance)
        warned = [
            each.event_log_entry.user_message
            for each in instance.get_records_for_run(done.run_id).records
            if each.event_log_entry.level == logging.WARNING
        ]

    named = [line.partition(" skipped")[0] for line in warned if line.startswith("documents: ")]
    assert named == ["documents: b.pdf", "documents: 坏的.pdf"]
    assert any(line.startswith("check files_are_read failed: ") for line in warned)
