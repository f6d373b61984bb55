"""A key goes only to an address from the same place, whoever asks: the command, Python, Dagster."""

import pytest

from sag_pipeline.jobs import run_ingest
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import ModelError, SagError, SettingsError
from sag_retrieval.core.settings import load_settings, origins
from sag_retrieval.models.calls import submit
from sag_retrieval.models.open import DEFAULT_ADDRESS, find_server, model_server, open_chat
from sag_retrieval.models.openai import make_client
from sag_retrieval.models.protocols import Request
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import ChatServer

NAMES = ("BASE_URL", "API_KEY", "ORG_ID", "PROJECT_ID", "ADMIN_KEY", "CUSTOM_HEADERS")
HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


@pytest.fixture
def place(home, monkeypatch, tmp_path):
    """Set variables of the environment and of `.env`."""
    for name in NAMES:
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)

    def put(environment: dict[str, str], file: dict[str, str]) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(f"OPENAI_{name}", value)
        (tmp_path / ".env").write_text("".join(f"OPENAI_{n}={v}\n" for n, v in file.items()), encoding="utf-8")

    return put


@pytest.mark.parametrize(
    ("environment", "file", "address", "key"),
    [
        ({"BASE_URL": HERE, "API_KEY": "e"}, {}, HERE, "e"),
        ({}, {"BASE_URL": HERE, "API_KEY": "f"}, HERE, "f"),
        ({"API_KEY": "e"}, {}, DEFAULT_ADDRESS, "e"),
        ({}, {"API_KEY": "f"}, DEFAULT_ADDRESS, "f"),
        ({"API_KEY": "e"}, {"API_KEY": "f"}, DEFAULT_ADDRESS, "e"),
        ({"API_KEY": "e"}, {"BASE_URL": HERE, "API_KEY": "f"}, HERE, "f"),
        ({"BASE_URL": THERE, "API_KEY": "none"}, {"BASE_URL": HERE, "API_KEY": "none"}, THERE, "none"),
        ({"BASE_URL": THERE, "API_KEY": "e"}, {"API_KEY": "f"}, THERE, "e"),
        ({"BASE_URL": HERE, "API_KEY": "f"}, {"BASE_URL": HERE, "API_KEY": "f"}, HERE, "f"),
        ({}, {}, DEFAULT_ADDRESS, ""),
    ],
)
def test_address_and_key_come_from_one_place(place, environment, file, address, key):
    place(environment, file)

    found = model_server()

    assert (found.address, found.key) == (address, key)
    assert "key=" not in repr(found)


@pytest.mark.parametrize(
    ("environment", "file"),
    [
        ({"API_KEY": "e"}, {"BASE_URL": HERE}),
        ({"BASE_URL": HERE}, {"API_KEY": "f"}),
        ({"BASE_URL": HERE, "API_KEY": "e"}, {"BASE_URL": HERE}),  # `dagster dev` put the address there out of the file
        ({"CUSTOM_HEADERS": "Authorization: Bearer e"}, {"BASE_URL": HERE, "API_KEY": "f"}),
        ({"CUSTOM_HEADERS": "A: b"}, {"BASE_URL": HERE, "API_KEY": "f", "CUSTOM_HEADERS": "C: d"}),
        ({"BASE_URL": "ftp://127.0.0.1", "API_KEY": "e"}, {}),
        ({"BASE_URL": "http://[::1", "API_KEY": "e"}, {}),
    ],
)
def test_a_pair_that_does_not_belong_together_is_refused_by_name(place, environment, file):
    place(environment, file)

    assert find_server().fault
    with pytest.raises(SettingsError, match="OPENAI_"):
        open_chat(load_settings(chat_model="openai:m")).ask(Request("p", _answer(), "s"))


def test_no_file_carries_what_the_environment_holds_into_an_address(place):
    place({"API_KEY": "secret"}, {"BASE_URL": HERE + "/${OPENAI_API_KEY}", "API_KEY": "f"})

    for look in (find_server, load_settings):
        with pytest.raises(SettingsError, match="write the value itself") as raised:
            look()
        assert "secret" not in str(raised.value)


def test_nothing_of_the_environment_goes_to_an_address_of_the_file(place):
    place({"ORG_ID": "org", "PROJECT_ID": "p", "ADMIN_KEY": "a"}, {"BASE_URL": HERE, "API_KEY": "f"})

    client = make_client(None, None, ChatOptions())
    submit(client.close()).result()

    assert (client.api_key, getattr(client, "admin_api_key", ""), client.organization, client.project) == (
        "f",
        "",
        None,
        None,
    )
    assert str(client.base_url).startswith(HERE)


def test_the_organisation_goes_with_the_key_of_its_place(place):
    place({"API_KEY": "e", "ORG_ID": "org", "PROJECT_ID": "p"}, {})

    client = make_client(None, None, ChatOptions())
    submit(client.close()).result()

    assert (client.organization, client.project) == ("org", "p")


def test_an_address_given_in_code_takes_no_key_from_the_environment(place):
    place({"API_KEY": "e"}, {})

    with pytest.raises(ModelError, match="OPENAI_API_KEY=none"):
        make_client(HERE, None, ChatOptions())


@pytest.mark.slow
def test_the_job_sends_no_exported_key_to_an_address_of_the_file(place, source, monkeypatch):
    monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    with ChatServer() as server:
        place({"API_KEY": "secret"}, {"BASE_URL": server.base_url})

        with pytest.raises(SagError, match=r"OPENAI_BASE_URL comes from `\.env`"):
            run_ingest([source({"a.md": "# A\n\nLumen Optics sold 120 buoys in 2021."})])

        assert server.calls == []


def test_settings_tell_where_address_and_key_come_from_and_hide_the_key(place, capsys):
    place({"API_KEY": "secret"}, {"BASE_URL": "http://user:password@127.0.0.1:2/v1"})

    with pytest.raises(SystemExit) as ended:
        main(["settings", "--json"])
    told = capsys.readouterr().out

    assert ended.value.code == 0
    assert '"origin": ".env"' in told
    assert '"origin": "environment"' in told
    assert "not used" in told
    assert "secret" not in told
    assert "password" not in told


def _answer():
    from pydantic import BaseModel

    class Facts(BaseModel):
        facts: list[str]

    return Facts


def test_settings_show_neither_the_password_of_the_mail_server_nor_the_path_of_a_hook(monkeypatch):
    monkeypatch.setenv("SAG_SMTP", "smtps://me:hidden@mail.example.org")
    monkeypatch.setenv("SAG_ALERT", "https://chat.example.org/hook/hidden")

    shown = {row["name"]: row["value"] for row in origins()}

    assert shown["SAG_SMTP"] == "smtps://me:…@mail.example.org"
    assert shown["SAG_ALERT"] == "https://chat.example.org/…"
