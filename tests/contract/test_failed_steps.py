"""A step that fails for a document is seen: by the exit code, by what is printed, and by `sag status`."""

import json

import pytest
from click.testing import CliRunner

from sag_retrieval.cli.main import main
from tests.support.chat_server import Answer, ChatServer, schema_of, wrong_shape
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow


def without_keys(request):
    answer = read_well(request)
    return wrong_shape(Answer(answer)) if schema_of(request) == "ExtractedKeys" else answer


def test_lost_keys_of_a_document_fail_the_command_and_stand_in_the_status(home, tmp_path, monkeypatch):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "heron.md").write_text("# Heron\n\nThe Heron sank in 2024.\n", encoding="utf-8")
    monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    with ChatServer(without_keys) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        done = CliRunner().invoke(main, ["ingest", str(inbox)])
    status = json.loads(CliRunner().invoke(main, ["status", "--json"]).output)

    assert done.exit_code == 1
    assert "keys of 1 document are missing or incomplete in the release; `sag status` shows why" in done.output
    assert [(one["step"], one["file"]) for one in status["put_aside"]] == [("keys", "heron.md")]
