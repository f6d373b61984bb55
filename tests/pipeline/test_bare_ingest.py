"""An ingest without records of runs leaves what the job `ingest` leaves."""

from typing import Any

import pytest

from sag_pipeline.jobs import _assets_of, run_ingest
from sag_retrieval import open_release

pytestmark = pytest.mark.slow

FIRST = {
    "heron.md": "# The Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019.\n",
    "zh.md": "# 海鹭\n\n2021年，光澜公司售出了120个浮标。陈雨自2019年起领导光澜公司。\n",
    "torn.docx": "no archive",
}
OPTIONS = {"en_size": 300, "header.sentences": True}


def told(report: dict[str, Any]) -> dict[str, Any]:
    """The report of an ingest without its seconds."""
    steps = {name: {k: v for k, v in each.items() if k != "seconds"} for name, each in report["steps"].items()}
    return {**report, "steps": steps}


def test_without_records_an_ingest_leaves_the_release_of_the_job_and_says_the_same_of_it(home, source, monkeypatch):
    (home.parent / "records").mkdir()
    seen: dict[str, list[Any]] = {}
    for name in ("recorded", "bare"):
        monkeypatch.setenv("SAG_HOME", name)
        monkeypatch.setenv("DAGSTER_HOME", str(home.parent / "records") if name == "recorded" else "")
        folder = source(FIRST)
        first = told(run_ingest([folder], OPTIONS))
        (home.parent / folder / "zh.md").unlink()
        source({"heron.md": FIRST["heron.md"].replace("2019", "2018")})
        changed = told(run_ingest([folder, "nowhere"], OPTIONS, {"allow_removals": True}))
        same = told(run_ingest([folder], OPTIONS, {"allow_removals": True}))
        with open_release() as release:
            seen[name] = [first, changed, same, release.manifest.content_hash, release.manifest.counts]

    job, bare = seen.values()
    assert bare == job
    assert [each["is_new"] for each in job[:3]] == [True, True, False]
    assert job[0]["put_aside"] == 1


def test_without_records_each_asset_comes_after_those_that_it_is_made_of():
    done = set[str]()
    for each in _assets_of("ingest"):
        assert {*each.deps} <= done
        done.add(each.body.__name__)
    assert "communities" in done
