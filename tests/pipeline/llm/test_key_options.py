"""Options of the questions to a model: what is asked, what is made again, and what stays."""

from pathlib import Path
from typing import Any

import pytest

from sag_pipeline.extract.model_keys import KeyOptions
from sag_pipeline.llm.extract import model_of
from sag_retrieval.models.openai import OpenAIChat
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, schema_of
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

FILES = {
    "heron.md": "# Heron\n\nLumen Optics built the Heron buoy. Mara Voss founded Lumen Optics.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司制造。安塞海警使用这种浮标。\n",
}


@pytest.fixture
def server(home: Path, source, monkeypatch: pytest.MonkeyPatch):
    with ChatServer(read_well) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        source(FILES)
        yield found


def asked(server: ChatServer, schema: str) -> int:
    return sum(schema_of(call.request) == schema for call in server.calls)


def made(report: dict[str, Any]) -> list[str]:
    """Steps that made rows of a document again."""
    return [name for name, row in report["steps"].items() if row.get("new", 0) + row.get("changed", 0)]


def test_each_option_of_the_questions_reaches_the_model_and_makes_again_what_depends_on_it(server: ChatServer):
    first = bare_ingest(["inbox"])
    before = len(server.calls)
    unchanged = bare_ingest(["inbox"], {"batch.parts": 1, "batch.tokens": 20})
    assert made(unchanged) == []
    assert unchanged["release"] == first["release"]
    assert len(server.calls) == before

    singly = asked(server, "ExtractedKeys")
    bare_ingest(["inbox"], {"key.one_event_per_question": True})
    assert asked(server, "ExtractedKeys") - singly == 4  # events

    again = bare_ingest(["inbox"])
    assert again["release"] == first["release"]


def test_smaller_batches_need_more_calls_and_give_the_same_release(server: ChatServer, monkeypatch, tmp_path: Path):
    together = bare_ingest(["inbox"])
    calls = len(server.calls)
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "other"))

    singly = bare_ingest(["inbox"], {"batch.parts": 1})

    assert len(server.calls) - calls >= 4  # events and keys of two documents
    assert singly["release"] == together["release"]


def test_without_a_model_the_options_of_its_questions_change_nothing(home: Path, source):
    source(FILES)
    bare_ingest(["inbox"])

    assert made(bare_ingest(["inbox"], {"key.one_event_per_question": True, "batch.parts": 1})) == []


def test_default_options_are_left_out_of_the_fingerprint():
    with ChatServer(read_well) as server:
        chat = OpenAIChat("m", base_url=server.base_url, api_key="none")
        usual = {table: model_of(table, chat, "auto") for table in ("events", "keys")}

        for options in (KeyOptions(), KeyOptions(known_tokens=3)):
            assert {table: model_of(table, chat, "auto", options) for table in usual} == usual
        changed = KeyOptions(one_event_per_question=True)
        assert model_of("events", chat, "auto", changed) == usual["events"]
        assert model_of("keys", chat, "auto", changed) != usual["keys"]
