"""Whatever documents, names and models say, a terminal gets colours alone and Dagster's page shows text alone."""

import json
import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from sag_pipeline.definitions import defs
from sag_retrieval.cli.main import main
from tests.support.chat_server import ChatServer

pytestmark = pytest.mark.slow

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200f"
MARKUP = "![x](http://127.0.0.1:9/a.png) [y](http://127.0.0.1:9) <img src=http://127.0.0.1:9> | *z* [/b]"
EVENT = f"Lumen Optics built the Heron buoy {ATTACK} {MARKUP} in 2021."
SGR = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|2K|1A)")
"""Colours, and what a progress bar needs: its cursor, a line cleared, a line up."""
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
COMMANDS = (
    ["status"],
    ["settings"],
    ["search", f"Heron {ATTACK}", "--explain", "--segments", "balanced"],
    ["search", "Heron", "--method", f"{ATTACK}"],
    ["search", "Heron", "--sql", f"{ATTACK}"],
    ["search", "Heron", "--key", ATTACK],
    ["ask", f"Who built the Heron {ATTACK}?"],
    ["ask", f"Who built the Heron {ATTACK}?", "--mode", "deep"],
    ["report", "--title", ATTACK + MARKUP],
    ["evaluate", "questions.jsonl", "--explain"],
    ["evaluate", ATTACK],
    ["releases"],
    ["releases", "promote", ATTACK],
    ["import", "events", "questions.jsonl", "--out", f"{ATTACK.replace('/', '')}.jsonl"],
    ["ingest", ATTACK],
    [ATTACK],
)


@pytest.fixture
def hostile(home, tmp_path, monkeypatch) -> Path:
    """A folder of documents that attack in ids, titles, names, metadata, events, keys and text; its settings."""
    folder = tmp_path / f"in{ATTACK}box"
    folder.mkdir()
    (folder / f"h\n{ATTACK}[b].md").write_text(f"# Heron {ATTACK}{MARKUP}\n\n{EVENT}\n", encoding="utf-8")
    (folder / f"{ATTACK}[b].zip").write_bytes(b"no text")
    given = {
        "id": f"id{ATTACK}",
        "title": f"Heron {ATTACK}{MARKUP}",
        "text": EVENT,
        "metadata": {ATTACK: [ATTACK, "a\u2028b"]},
        "events": [{"content": EVENT, "keys": [{"type": f"t{ATTACK}", "value": f"Heron{ATTACK}{MARKUP}"}]}],
    }
    lines = [json.dumps(given | {"id": f"{n}{ATTACK}"}).replace("in 2021", f"in {2016 + n}") for n in range(6)]
    (folder / "given.jsonl").write_text("\n".join(lines) + "\n{" + ATTACK.replace("\n", ""), encoding="utf-8")
    for n in range(8):  # keys that every event carries tie none together
        (folder / f"log-{n}.md").write_text(f"# Log {n}\n\nThe Egret left pier {n} with {n + 3} crates.\n")
    question = {"id": ATTACK, "question": f"Heron {ATTACK}", "gold_documents": [ATTACK]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question) + f"\n{ATTACK}", encoding="utf-8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    return folder


def hidden_in(output: str) -> list[str]:
    return OBEYED.findall(SGR.sub("", output).replace("\r\n", "\n"))


def test_no_command_prints_what_a_terminal_obeys(hostile, monkeypatch):
    said = json.dumps({"answer": f"It was {ATTACK}.", "text": ATTACK, "questions": [ATTACK], "facts": [ATTACK]})
    with ChatServer(lambda _: said) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        ingested = CliRunner().invoke(main, ["ingest", str(hostile)])
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:m")
        runs = [CliRunner().invoke(main, call) for call in COMMANDS]
        as_json = [CliRunner().invoke(main, [*call, "--json"]) for call in COMMANDS[:1] + COMMANDS[2:3] + COMMANDS[6:7]]

    assert ingested.exit_code == 0, ingested.output
    assert [hidden_in(run.output) for run in (ingested, *runs, *as_json)] == [[]] * (1 + len(runs) + len(as_json))
    assert [run.output for run in runs if "Traceback" in run.output or "fault of sag" in run.output] == []
    assert [json.loads(run.stdout) for run in as_json]
    assert runs[2].exit_code == runs[0].exit_code == 0
    assert "owned" in runs[2].output, "the text itself is shown"

    hits = json.loads(as_json[1].stdout)["hits"]
    texts = [hit["text"] + hit["title"] + hit["document_id"] for hit in hits]
    assert texts
    assert [hidden_in(text.replace("\u200f", "")) for text in texts] == [[]] * len(texts), "direction marks stay"


def test_a_real_terminal_gets_colours_alone(hostile):
    assert CliRunner().invoke(main, ["ingest", str(hostile)]).exit_code == 0
    here, there = pty.openpty()
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "search", "Heron", "--explain"]

    with subprocess.Popen(command, stdout=there, stderr=there) as process:
        os.close(there)
        printed = b""
        while True:
            try:
                block = os.read(here, 65_536)
            except OSError:  # Linux ends a pseudo-terminal whose other side is closed with EIO
                break
            if not block:
                break
            printed += block
    os.close(here)

    assert process.returncode == 0
    assert SGR.search(printed.decode())
    assert hidden_in(printed.decode()) == []


def test_metadata_on_dagsters_page_holds_no_image_link_or_tag_of_a_document(hostile, home, monkeypatch):
    monkeypatch.setenv("SAG_SOURCE_ROOTS", str(hostile))
    assets = {}
    with dg.DagsterInstance.ephemeral() as instance:
        for name, config in (
            ("ingest", {"ops": {"documents": {"config": {"sources": [str(hostile)]}}}}),
            ("report", {}),
        ):
            result = defs.resolve_job_def(name).execute_in_process(run_config=config, instance=instance)
            for event in result.get_asset_materialization_events():
                made = event.step_materialization_data.materialization
                assets[made.asset_key.to_user_string()] = made.metadata

    pages = {
        f"{asset}.{name}": value.value
        for asset, metadata in assets.items()
        for name, value in metadata.items()
        if isinstance(value, dg.MarkdownMetadataValue)
    }
    tables = [v for metadata in assets.values() for v in metadata.values() if isinstance(v, dg.TableMetadataValue)]
    assert set(pages) == {"report.preview"}
    assert "Egret" in pages["report.preview"]
    assert any("Heron" in str(record.data) for table in tables for record in table.records)
    assert not any(hidden_in(cell) for t in tables for record in t.records for cell in record.data.values())
    for name, page in pages.items():
        kinds = [
            t
            for top in MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(page)
            for t in [top, *(top.children or [])]
        ]
        sent = [
            t.attrGet("src") or t.attrGet("href") or t.content
            for t in kinds
            if t.type in ("image", "link_open", "html_inline", "html_block")
        ]
        assert not sent, name
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
