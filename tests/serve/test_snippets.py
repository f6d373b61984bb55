"""What README and the how-to show of a server runs as it stands there."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import httpx
import pytest

from sag_retrieval.cli.main import main
from tests.serve.conftest import serving

pytest.importorskip("fastapi", reason="serve: fastapi not installed, an extra")
ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/how-to/serve.md")
ADDRESS = "http://127.0.0.1:8321"


def blocks(language: str) -> list[str]:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    return [block for text in texts for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


@pytest.fixture
def address(demo, demo_home):
    from sag_retrieval.serve.access import LOOPBACK, CurrentRelease, Service
    from sag_retrieval.serve.http import build_app

    with serving(build_app(Service(CurrentRelease(demo_home)), LOOPBACK)) as found:
        yield found


def test_programs_print_the_answer(address):
    shown = blocks("py")

    assert len(shown) == 2
    for block in shown:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(block.replace(ADDRESS, address), {})
        assert printed.getvalue().startswith("The leak came from an O-ring made by Marlow Seals. [1]")


def test_calls_of_curl_are_answered(address):
    calls = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("curl ")]

    assert len(calls) == 2
    for call in calls:
        _, url, _, header, _, body = shlex.split(call)
        name, _, value = header.partition(": ")
        assert (
            httpx.post(url.replace(ADDRESS, address), headers={name: value}, content=body, timeout=60).status_code
            == 200
        )


def test_commands_and_settings_of_clients_are_ours():
    (settings,) = map(json.loads, blocks("json"))
    started = settings["mcpServers"]["sag"]

    assert started["command"] == "sag"
    assert started["args"][0] in main.commands
    lines = [line for block in blocks("sh") for line in block.splitlines() if re.match(r"sag (serve|mcp|chat)", line)]
    assert len(lines) >= 3
    for line in lines:
        words = shlex.split(line.partition("#")[0].partition(">>")[0])
        known = {option for parameter in main.commands[words[1]].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known
