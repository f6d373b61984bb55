"""What a run does again although nothing changed, what that costs, and runs of a part of the graph."""

import json
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from sag_pipeline.definitions import defs
from sag_pipeline.options import RunOptions
from sag_pipeline.store.store import Store
from sag_pipeline.tables import STORED
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import SagError, SettingsError
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer, schema_of
from tests.support.scripted_answers import read_well

HERON = "# Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne leads Lumen Optics.\n"
EGRET = "# 白鹭号\n\n海澜公司在2023年卖出300盏灯。陈雨领导海澜公司。\n"


@pytest.fixture
def model(home, monkeypatch):
    """A model that counts what it is asked, by kind of answer."""
    asked: Counter[str] = Counter()

    def answer(request):
        asked[str(schema_of(request))] += 1
        return read_well(request)

    with ChatServer(answer) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield asked


def materialize(
    selection: str, instance: dg.DagsterInstance | None = None, **resource: object
) -> dg.ExecuteInProcessResult:
    """A run of a part of the graph, as the Dagster page starts it."""
    job = dg.define_asset_job("part", selection=selection)
    found = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("part")
    config = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {"sag": {"config": resource}},
    }
    return found.execute_in_process(config, instance=instance, raise_on_error=False)


def below(name: str) -> set[str]:
    """Every asset that the graph draws after one."""
    after = {key.to_user_string() for key in defs.resolve_asset_graph().get(dg.AssetKey(name)).child_keys}
    return after.union(*map(below, after))


def figures(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, object]]:
    made = {}
    for event in result.get_asset_materialization_events():
        found = event.step_materialization_data.materialization
        made[found.asset_key.to_user_string()] = {name: value.value for name, value in found.metadata.items()}
    return made


@pytest.mark.slow
def test_a_step_is_asked_again_and_only_that_one(model, source):
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])
    model.clear()

    made = bare_ingest(["inbox"], {"reprocess": ["events"]})

    assert (made["steps"]["events"]["changed"], made["steps"]["keys"]["changed"]) == (2, 0)
    assert set(model) == {"ExtractedEvents"}
    assert not made["is_new"]  # the model says the same

    model.clear()
    assert bare_ingest(["inbox"])["steps"]["events"]["changed"] == 0
    assert model.total() == 0


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["document:heron.md", "source:ships"])
def test_a_document_or_a_source_is_done_again_in_every_step(home, source, wanted):
    source({"egret.md": EGRET})
    Path("ships").mkdir()
    Path("ships/heron.md").write_text(HERON, encoding="utf-8")
    kept_ingest(["inbox", "ships"])

    made = bare_ingest(["inbox", "ships"], {"reprocess": [wanted]})

    assert {name: made["steps"][name]["changed"] for name in STORED} == dict.fromkeys(STORED, 1)
    assert not made["is_new"]


@pytest.mark.slow
def test_the_estimate_counts_what_would_be_asked_again_and_changes_nothing(model, source):
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])
    model.clear()

    def calls(*more: str) -> dict[str, int]:
        shown = CliRunner().invoke(main, ["ingest", "inbox", "--estimate", "--json", *more])
        return {row["step"]: row["calls"] for row in json.loads(shown.output)["steps"]}

    assert calls()["total"] == 0
    assert calls("--reprocess", "triples")["triples"] > 0
    assert calls("--reprocess", "triples")["events"] == 0
    assert calls("--reprocess", "document:heron.md")["events"] == 1
    assert model.total() == 0


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_the_rest_of_what_it_was_to_do_again_for_the_next(home, source):
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])
    with Store.locked(home) as store:
        store.redo("keys", {"heron.md"})  # what the killed run did first
        rows = store.read("keys", ["heron.md"])["heron.md"]

    assert rows  # still there
    assert bare_ingest(["inbox"])["steps"]["keys"]["changed"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "said"),
    [("document:nowhere.md", "no such document is stored"), ("source:nowhere", "'nowhere' is not a source")],
)
def test_what_is_not_known_cannot_be_done_again(home, source, wanted, said):
    kept_ingest([source({"heron.md": HERON})])

    with pytest.raises(SagError, match=said):
        bare_ingest(["inbox"], {"reprocess": [wanted]})


@pytest.mark.parametrize("wanted", ["event", "document:", "release", "vectors", ""])
def test_what_names_no_step_is_refused_with_those_there_are(wanted):
    with pytest.raises(SettingsError, match=r"reprocess=.*document:ID, source:NAME or a step: documents, summaries"):
        RunOptions(reprocess=(wanted,))


@pytest.mark.slow
def test_a_part_of_the_graph_is_made_of_what_is_stored(home, source):
    kept_ingest([source({"heron.md": HERON, "egret.md": EGRET})])
    with Store.locked(home) as store:
        store.redo("events", {"heron.md"})
        store.redo("keys", {"egret.md"})

    alone = materialize("events")
    assert alone.success
    assert set(figures(alone)) == {"events"}
    assert (figures(alone)["events"]["changed"], figures(alone)["events"]["skipped"]) == (1, 1)

    after = materialize('key:"keys"+')  # as the page writes `keys+`
    assert after.success
    assert set(figures(after)) == {"keys", *below("keys")} >= {"triples", "release", "report"}
    assert (figures(after)["keys"]["changed"], figures(after)["triples"]["changed"]) == (1, 0)


@pytest.mark.slow
def test_one_source_is_done_again_in_a_part_of_the_graph(home, source):
    source({"egret.md": EGRET})
    Path("ships").mkdir()
    Path("ships/heron.md").write_text(HERON, encoding="utf-8")
    kept_ingest(["inbox", "ships"])

    made = figures(materialize('key:"keys" or key:"triples"', reprocess=["source:ships"]))

    assert {name: row["changed"] for name, row in made.items()} == {"keys": 1, "triples": 1}
