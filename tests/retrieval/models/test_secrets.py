"""A key that a server repeats reaches no terminal, no log, no record of a run and no message."""

import json
import os
import subprocess

import pytest

from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.secrets import keep_address, keep_secret, masked
from tests.support import forked
from tests.support.chat_server import Answer, ChatServer

KEY = "sk-proj-Zq8/+w0=5Jt"


def test_what_was_kept_is_masked_however_it_is_written():
    keep_secret(KEY)

    assert masked(f"no such key {KEY}, in an address sk-proj-Zq8%2F%2Bw0%3D5Jt") == "no such key …, in an address …"
    assert str(ModelError(f"401: {KEY}")) == "401: …"
    assert masked("the model needs a key") == "the model needs a key"


@pytest.mark.parametrize("name", ["MY_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "SMTP_PASSWORD"])
def test_values_of_the_environment_that_are_named_as_secrets_are_masked(monkeypatch, name):
    monkeypatch.setenv(name, "told-by-nobody")

    assert masked("refused: told-by-nobody") == "refused: …"


def test_of_an_address_the_password_goes_and_of_a_hook_all_behind_the_host():
    keep_address("smtp://me:p%40ss@mail.example.org:587")
    keep_address("https://hooks.example.org/services/T0/B1", is_hook=True)

    assert masked("p@ss p%40ss refused") == "… … refused"
    assert masked("404 for /services/T0/B1 at hooks.example.org") == "404 for /… at hooks.example.org"


@pytest.mark.slow
@pytest.mark.parametrize("place", [".env", "environment"])
def test_a_key_that_the_server_repeats_stands_nowhere(tmp_path, place):
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "heron.md").write_text("# Heron\n\nThe Heron was sold to Mara Holt in 1990.\n")
    (tmp_path / "dagster").mkdir()
    with ChatServer(lambda _: Answer(f"Incorrect API key provided: {KEY}", status=401)) as server:
        given = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url}
        told = {**os.environ, "DAGSTER_HOME": str(tmp_path / "dagster"), "SAG_HOME": str(tmp_path / "home")}
        told |= {"SAG_CHAT_MODEL": "openai:gpt-test", "SAG_ALERT": str(tmp_path / "alerts")} | (
            given if place != ".env" else {}
        )
        if place == ".env":
            (tmp_path / ".env").write_text("".join(f"{name}={value}\n" for name, value in given.items()))

        def sag(*command: str) -> subprocess.CompletedProcess[str]:
            return forked.sag(*command, cwd=tmp_path, env=told)

        done = [sag("ingest", "inbox"), sag("settings", "--json")]

    assert done[0].returncode == 1
    assert "Incorrect API key provided: …" in done[0].stderr
    assert [each.args for each in done if KEY in each.stdout + each.stderr] == []
    assert json.loads(done[1].stdout)
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert [path for path in holding if path != tmp_path / ".env"] == []
