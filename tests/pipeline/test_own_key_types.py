"""A corpus with key types of one's own: what a model is asked, what is refused, what is made again, what is found."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sag_pipeline.extract.model_keys import KeyOptions
from sag_pipeline.jobs import run_job
from sag_pipeline.options import RunOptions
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.schema_file import read_schema
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

SCHEMA: dict[str, Any] = {
    "types": [
        "organisation",
        "date",
        {
            "name": "revenue",
            "kind": "number",
            "unit": "CNY",
            "label": {"en": "revenue", "zh": "营业收入"},
            "description": "what a firm sold in a period",
        },
        {"name": "fine", "kind": "number", "unit": "CNY", "label": {"en": "fine", "zh": "罚款"}},
        {"name": "grade", "values": ["A", "B"]},
        {"name": "audited", "kind": "boolean"},
    ]
}
FILES = {
    "letters/heron.md": "# Heron\n\nHeron Ltd had a revenue of 3 billion yuan in 2023. Heron Ltd paid a fine of 2 million yuan.\n",
    "letters/海鹭.md": "# 海鹭公司\n\n海鹭公司2023年营业收入为20亿元。海鹭公司去年夏天被处以罚款300万元。\n",
    "notes/egret.md": "# Egret\n\nEgret Ltd had a revenue of 5 billion yuan in 2022.\n",
}
ANSWERS = {
    "Heron Ltd had a revenue of 3 billion yuan in 2023.": [
        ("organisation", "Heron Ltd"),
        ("revenue", "3 billion yuan"),
        ("date", "2023"),
        ("turnover", "3 billion yuan"),
        ("grade", "Heron"),
    ],
    "Heron Ltd paid a fine of 2 million yuan.": [("organisation", "Heron Ltd"), ("fine", "2 million yuan")],
    "海鹭公司2023年营业收入为20亿元。": [("营业收入", "20亿元"), ("日期", "2023年"), ("audited", "是")],
    "海鹭公司去年夏天被处以罚款300万元。": [("罚款", "300 万元"), ("日期", "去年夏天")],
    "Egret Ltd had a revenue of 5 billion yuan in 2022.": [("revenue", "5 billion yuan"), ("date", "2022")],
}


def answers(request: Request) -> dict[str, Any]:
    """The keys above for their events; everything else as a model that reads well."""
    if schema_of(request) != "ExtractedKeys":
        return read_well(request)
    prompt = first_prompt_of(request)
    numbers = {event["event"]: event for event in read_well(request)["events"]}
    asked = [text for text in sorted(ANSWERS, key=prompt.find) if text in prompt]
    keys = [[{"type": t, "value": v, "same_as": []} for t, v in ANSWERS[text]] for text in asked]
    return {"events": [{"event": number, "keys": own} for number, own in zip(sorted(numbers), keys, strict=True)]}


@pytest.fixture
def server(home: Path, source, monkeypatch: pytest.MonkeyPatch):
    source(FILES)
    with ChatServer(answers) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        yield found


def put(home: Path, schema: dict[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    (home / "schema.yaml").write_text(json.dumps(schema, ensure_ascii=False, indent=1), encoding="utf-8")


def ingest(**options: Any) -> dict[str, Any]:
    return bare_ingest(["inbox/letters", "inbox/notes"], options)


def made(report: dict[str, Any]) -> Counter[str]:
    """Documents that each step made rows of, new or again."""
    found = Counter({name: row.get("new", 0) + row.get("changed", 0) for name, row in report["steps"].items()})
    return +found


def asked(server: ChatServer) -> list[str]:
    return [first_prompt_of(call.request) for call in server.calls if schema_of(call.request) == "ExtractedKeys"]


def test_the_types_of_the_schema_reach_the_model_in_its_language_and_other_types_are_refused(
    server: ChatServer, home: Path
):
    from sag_pipeline.runs.status import status_of
    from sag_retrieval import open_release
    from sag_retrieval.core.settings import load_settings
    from sag_retrieval.reports.scope import Scope, chosen_events

    put(home, SCHEMA)
    ingest()

    prompts = asked(server)
    assert any("revenue (number in CNY, what a firm sold in a period)" in prompt for prompt in prompts)
    assert any("营业收入（数值，单位 CNY，what a firm sold in a period）；罚款" in prompt for prompt in prompts)
    enums = [
        call.request["response_format"]["json_schema"]["schema"]["properties"]["events"]["items"]["properties"]["keys"][
            "items"
        ]["properties"]["type"]["enum"]
        for call in server.calls
        if schema_of(call.request) == "ExtractedKeys"
    ]
    assert ["organisation", "date", "revenue", "fine", "grade", "audited"] in enums
    assert ["组织", "日期", "营业收入", "罚款", "grade", "audited"] in enums
    with open_release(home) as release:
        rows = release.sql("SELECT key_type, value_number, value_bool, unit FROM keys WHERE value_string IS NULL")
        assert chosen_events(release._reader, Scope()).keys.schema == read_schema(SCHEMA)  # what a report calls them
    found = {tuple(row) for row in rows.to_pandas().astype(object).where(lambda each: each.notna(), None).to_numpy()}
    assert {
        ("revenue", 3e9, None, "CNY"),
        ("fine", 2e6, None, "CNY"),
        ("fine", 3e6, None, "CNY"),
        ("revenue", 2e9, None, "CNY"),
        ("revenue", 5e9, None, "CNY"),
        ("audited", None, True, None),
    } == found
    told = {row["file"]: row["reason"] for row in status_of(load_settings())["warnings"]}
    assert "keys: 2 of a model's answers refused, the first: type 'turnover' is none of" in told["heron.md"]
    assert "keys: 1 of a model's answers refused, the first: '去年夏天' is no value of 'date'" in told["海鹭.md"]


def test_a_changed_schema_asks_again_about_what_it_touches_and_nothing_else(server: ChatServer, home: Path):
    put(home, SCHEMA)
    first = ingest()
    calls = len(server.calls)
    assert made(ingest()) == Counter()

    own = [*SCHEMA["types"], "person"]
    put(home, SCHEMA | {"sources": {"notes": own}})
    again = ingest()

    assert made(again)["keys"] == 1
    assert not made(again).keys() & {"documents", "summaries", "sections", "chunks", "events"}
    assert [schema_of(call.request) for call in server.calls[calls:]] == ["ExtractedKeys"]
    assert "Egret" in asked(server)[-1]
    assert "Heron Ltd had" not in asked(server)[-1]

    put(home, SCHEMA | {"types": own, "sources": {"notes": own}})
    assert made(ingest())["keys"] == 2

    put(home, SCHEMA)
    calls = len(server.calls)
    back = ingest()
    assert made(back)["keys"] == 3
    assert len(server.calls) == calls  # answers to what was asked before are kept
    assert back["release"] == first["release"]


def test_a_schema_may_lie_anywhere_or_stand_in_the_configuration(
    server: ChatServer, home: Path, monkeypatch: pytest.MonkeyPatch
):
    put(home, SCHEMA)
    first = ingest()
    (home / "schema.yaml").rename("types.yaml")
    monkeypatch.setenv("SAG_SCHEMA", "types.yaml")
    assert made(ingest()) == Counter()

    monkeypatch.delenv("SAG_SCHEMA")
    config = {"resources": {"sag": {"config": {"key_schema": SCHEMA}}}}
    folders = {"ops": {"documents": {"config": {"sources": ["inbox/letters", "inbox/notes"]}}}}
    steps = run_job("ingest", config | folders)
    assert steps["keys"]["changed"] == steps["keys"]["new"] == 0
    assert steps["release"]["release"] == first["release"]
    chosen = RunOptions(key=KeyOptions(schema=read_schema(SCHEMA)))
    assert made(bare_ingest(["inbox/letters", "inbox/notes"], chosen)) == Counter()
    assert made(ingest())["keys"] == 3  # the default again


def test_a_wrong_schema_stops_an_ingest_before_any_work(server: ChatServer, home: Path, monkeypatch):
    put(home, {"types": ["person", {"name": "revenue", "kind": "numbr"}]})

    with pytest.raises(SettingsError, match=r"schema\.yaml line 6: types\.1\.kind: 'numbr'.*did you mean 'number'"):
        ingest()

    assert server.calls == []
    monkeypatch.setenv("SAG_SCHEMA", "nowhere.yaml")
    with pytest.raises(SettingsError, match=r"'nowhere\.yaml' cannot be read"):
        ingest()


def test_without_a_schema_of_its_own_a_home_has_the_default(home: Path, source):
    from sag_retrieval.core.schema_file import default_text

    source(FILES)
    first = ingest()
    (home / "schema.yaml").write_text(default_text(), encoding="utf-8")

    assert made(ingest()) == Counter()
    assert (
        first["release"]
        == json.loads((home / "releases" / first["release"] / "manifest.json").read_text())["release_id"]
    )
