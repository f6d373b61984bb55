"""What `sag settings --check` tells of a model server."""

import json

from click.testing import CliRunner

from sag_retrieval.cli.main import main
from sag_retrieval.models.check import RECEIVED, SENT, check_server
from sag_retrieval.models.open import ModelServer
from tests.support.chat_server import Answer, ChatServer


def told(server: ChatServer, model: str, **more) -> dict[str, str]:
    rows = check_server(ModelServer(server.base_url, "none"), model, **more)
    return {row["name"]: row["value"] for row in rows}


def test_a_server_that_keeps_a_schema_and_embeds_is_told_with_hours():
    with ChatServer(lambda _: {"floats": True}) as server:
        rows = told(server, "scripted", embedding="e", text_tokens=1_000)

    assert rows["json_schema"] == "strict"
    assert float(rows["tokens a second"]) > 0
    assert rows["embeddings"] == "64 columns"
    assert f"about {1_000 * SENT:,.0f} tokens sent, {1_000 * RECEIVED:,.0f} received; " in rows["an ingest of all"]
    assert rows["an ingest of all"].endswith("hours in one slot")


def test_prose_in_place_of_json_a_refusal_and_silence_are_told():
    with ChatServer(lambda _: "Yes, it floats.") as server:
        assert told(server, "m")["json_schema"] == "not kept: answers are mended"
    with ChatServer(lambda _: Answer("no schema", status=400)) as server:
        assert told(server, "m")["json_schema"] == "refused"

    (row,) = check_server(ModelServer("http://127.0.0.1:9/v1", "none"), "m")
    assert "does not answer" in row["value"]


def test_the_command_checks_a_server_before_anything_was_ingested(tmp_path, monkeypatch):
    with ChatServer(lambda _: {"floats": True}) as server:
        settings = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "SAG_CHAT_MODEL": "openai:m"}
        for name, value in (settings | {"SAG_HOME": str(tmp_path)}).items():
            monkeypatch.setenv(name, value)
        made = CliRunner().invoke(main, ["settings", "--check", "--json"])

    rows = {row["name"]: row["value"] for row in json.loads(made.stdout)}
    assert rows["json_schema"] == "strict"
    assert "an ingest of all" not in rows
    monkeypatch.setenv("SAG_CHAT_MODEL", "offline")
    refused = CliRunner().invoke(main, ["settings", "--check"])
    assert refused.exit_code == 1
    assert "asks no server" in refused.output
