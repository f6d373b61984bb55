"""Homes at each provider are opened by its usual variables; one in memory lives as long as its process."""

import json
from pathlib import Path

import pytest

from sag_retrieval import SettingsError, open_release
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.mirror import open_files
from sag_retrieval.remote.object_files import ObjectFiles

SECRET = "c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtc2hvd24="
_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_")


@pytest.fixture(autouse=True)
def _no_credentials(home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [each for each in os.environ if each.startswith(_VARIABLES)]:
        monkeypatch.delenv(name)
    open_files.cache_clear()


@pytest.mark.parametrize(
    ("url", "variables", "named"),
    [
        ("s3://bucket/team/home", {"AWS_REGION": "eu-west-1"}, ("bucket", "bucket")),
        ("gs://bucket/team/home", {}, ("bucket", "bucket")),
        ("az://container/team/home", {"AZURE_STORAGE_ACCOUNT_NAME": "team"}, ("container_name", "container")),
        (
            "az://container/team/home",
            {"AZURE_STORAGE_ACCOUNT_NAME": "team", "AZURE_STORAGE_ACCOUNT_KEY": SECRET},
            ("container_name", "container"),
        ),
    ],
)
def test_a_url_names_bucket_and_prefix_at_each_provider(url, variables, named, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    opened = ObjectFiles(url)  # no request is sent
    key, value = named

    assert opened._store.prefix == "team/home"
    assert opened._store.config[key] == value
    assert load_settings(home=url).home == load_settings(home=f"{url}/").home


@pytest.mark.parametrize(
    ("url", "variables", "wanted"),
    [
        ("az://container/x", {}, "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"),
        (
            "az://container/x",
            {"AZURE_STORAGE_ACCOUNT_NAME": "team", "AZURE_STORAGE_ACCOUNT_KEY": f"not base64: {SECRET}"},
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        ),
        ("gs://bucket/x", {"GOOGLE_APPLICATION_CREDENTIALS": "missing.json"}, "GOOGLE_APPLICATION_CREDENTIALS"),
        ("gs://bucket/x", {"GOOGLE_APPLICATION_CREDENTIALS": "wrong.json"}, "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
def test_variables_that_open_no_bucket_are_named_without_their_values(url, variables, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.json").write_text(json.dumps({"private_key": SECRET}), encoding="utf-8")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(
        SettingsError, match=f"cannot be opened with the variables of the environment; set {wanted}"
    ) as e:
        open_release(url)

    assert SECRET not in str(e.value)
    assert "\n" not in str(e.value)
