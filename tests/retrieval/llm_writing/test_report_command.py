"""`sag report` with a model behind a real server: what it costs is told before, and paid once."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from tests.support.chat_server import ChatServer
from tests.support.scripted_writer import write_well


@pytest.fixture
def served(demo_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """The demo's release in a home of its own, and a model that writes well."""
    shutil.copytree(demo_home, home)
    with ChatServer(write_well) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def _told(*arguments: str) -> dict:
    result = CliRunner().invoke(main, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_report_says_what_a_model_would_cost_and_pays_it_once(served):
    planned = _told("report", "--estimate")
    assert len(served.calls) == 0

    first = _told("report")
    again = _told("report")
    after = _told("report", "--estimate")

    assert planned["calls"] == first["usage"]["calls"] == len(served.calls) > 3
    assert planned["cached_calls"] == 0 < after["cached_calls"]
    assert again["usage"]["calls"] == 0
    assert again["usage"]["cached_calls"] == first["usage"]["calls"]
    assert again["findings"] == first["findings"]
    assert all("importance" in each for each in first["findings"])


def test_offline_asks_no_model_although_the_settings_name_one(served):
    told = _told("report", "--model", "offline")

    assert len(served.calls) == 0
    assert told["findings"] == []
    assert told["headline"]


def test_no_calls_are_made_with_a_budget_of_none(served):
    with open_release() as release:
        report = release.report(options={"max_calls": 0})

    assert len(served.calls) == 0
    assert report.findings == ()
    assert report.largest


def test_a_report_about_what_is_new_says_that_nothing_is(served, home):
    with open_release() as release:
        first = release.report(only_new=True, model="offline", options={"title": "News"})
        again = release.report(only_new=True, model="offline", options={"title": "News"})

    assert first.counts["events"] > 200
    assert again.counts == first.counts  # the same release, so the same report
