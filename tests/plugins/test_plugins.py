"""Another installed package adds a method, an embedder and a file reader by name; a broken one disturbs nobody."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest

from sag_retrieval import PluginError, QueryError
from sag_retrieval.ask.options import MODES, Mode
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.plugins import Registry, every_entry_point
from sag_retrieval.core.settings import CHAT_MODELS, EMBEDDERS, Provider, load_settings, provider_of
from sag_retrieval.models.open import open_chat, open_dense
from sag_retrieval.search.registry import METHODS, MethodEntry, MethodName, method_entry, resolve_method
from tests.support import forked

ROOT = Path(__file__).parents[2]
MAIL = "Subject: Heron buoy\nContent-Type: text/plain\n\nLumen Optics of Oslo built the sensors of the Heron buoy.\n"
BROKEN = """\
[sag.methods]
cracked = no_such_module:method
number = math:pi
bm25 = math:sqrt
twice = math:sqrt
[sag.embedders]
cracked = no_such_module:Embedder
[sag.readers]
crk = no_such_module:read
[sag.chat_models]
scripted = other_plugin:Scripted
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example package, installed by pip into a folder of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "sag-example-plugin", folder / "source")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", folder / "source"], check=True
    )
    return folder / "site"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "heron.mime").write_text(MAIL, encoding="utf-8")
    (tmp_path / "inbox" / "tide.md").write_text("# Tides\n\nThe tide turns at noon in Bergen.\n", encoding="utf-8")
    return tmp_path


def run(arguments: Sequence[str], work: Path, *sites: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of `sag` that sees the packages of some folders beside ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SAG_")}
    return forked.sag(*arguments, cwd=work, env=kept | {"SAG_HOME": str(work / "home")} | variables, sites=sites)


def packed(folder: Path, name: str, points: str) -> Path:
    """A folder with a package of these entry points."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    return folder


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages of which nothing works but a chat model, seen by this process."""
    packed(tmp_path / "site", "cracked-plugin", BROKEN)
    packed(tmp_path / "site", "second-plugin", "[sag.methods]\ntwice = math:sqrt\n")
    (tmp_path / "site" / "other_plugin.py").write_text(
        "class Scripted:\n    def __init__(self, model):\n        self.model_id = f'scripted:{model}'\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    every_entry_point.cache_clear()
    yield
    every_entry_point.cache_clear()


@pytest.mark.slow
def test_an_installed_package_adds_a_method_an_embedder_a_reader_and_a_scorer(plugin, work):
    made = run(["ingest", "inbox", "--json"], work, plugin, SAG_EMBEDDING_MODEL="letters:64")
    found = run(["search", "Who built the sensors?", "--method", "bm25-short", "--json"], work, plugin)
    hits = json.loads(found.stdout)["hits"]

    assert made.returncode == 0, made.stderr
    assert found.returncode == 0, found.stderr
    assert hits[0]["document_id"] == "heron.mime"
    code = (
        "from sag_retrieval import open_release\n"
        "from sag_retrieval.statements.scorer import SCORERS\n"
        "assert [each.reason for each in SCORERS.function('with-figures')(['Sold 40.', 'Sold.'])] == ['', 'no figure']\n"
        "release = open_release()\n"
        "found = release.search('Who built the sensors?', method='bm25-short')\n"
        "title = release.table('documents').set_index('document_id').title['heron.mime']\n"
        "print(found.method, found.hits[0].document_id, release.manifest.embedding_model, title, sep='|')"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, cwd=work,
        env=os.environ | {"PYTHONPATH": f"{plugin}{os.pathsep}{ROOT}", "SAG_HOME": str(work / "home")},
    )  # fmt: skip
    assert told.stdout.strip() == "bm25-short|heron.mime|letters:64|Heron buoy", told.stderr
    reported = run(["report", "--set", "statement_scorer=with-figures"], work, plugin, SAG_EMBEDDING_MODEL="letters:64")
    assert reported.returncode == 0, reported.stderr


@pytest.mark.slow
def test_without_the_package_its_names_are_refused_in_one_line(work):
    unknown = run(["search", "sensors", "--method", "bm25-short"], work)
    unread = run(["ingest", "inbox", "--json"], work)
    unembedded = run(["settings"], work, SAG_EMBEDDING_MODEL="letters:64")

    assert "'bm25-short' is not one of 'sag'" in unknown.stderr
    assert "1 file of kind .mime is not read" in unread.stdout + run(["status", "--json"], work).stdout
    assert "'letters:64' is none of 'hashing'" in unembedded.stderr
    assert "Traceback" not in unknown.stderr + unread.stderr + unembedded.stderr


@pytest.mark.slow
def test_a_broken_package_names_itself_and_breaks_nothing_else(tmp_path, work):
    site = packed(tmp_path / "broken", "cracked-plugin", BROKEN)
    (work / "inbox" / "note.crk").write_text("something", encoding="utf-8")

    made = run(["ingest", "inbox"], work, site)
    found = run(["search", "tide", "--method", "dense", "--json"], work, site)
    refused = run(["search", "tide", "--method", "cracked"], work, site)
    put_aside = json.loads(run(["status", "--json"], work, site).stdout)["put_aside"]

    assert made.returncode == 0, made.stderr
    assert json.loads(found.stdout)["hits"][0]["document_id"] == "tide.md"
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith(
        "Error: 'cracked' of sag.methods, added by package cracked-plugin 1.0"
    )
    (reason,) = [each["reason"] for each in put_aside if each["file"] == "note.crk"]
    assert "package cracked-plugin 1.0" in reason


@pytest.mark.usefixtures("broken")
def test_what_a_broken_package_adds_is_refused_with_its_name():
    for name in ("cracked", "number"):
        with pytest.raises(PluginError, match=f"'{name}' of sag.methods, added by package cracked-plugin 1.0"):
            method_entry(name).make()
    with pytest.raises(PluginError, match=r"sag\.embedders, added by package cracked-plugin 1.0"):
        open_dense("cracked:x")
    with pytest.raises(PluginError, match=r"cracked-plugin 1\.0 and second-plugin 1\.0; uninstall"):
        method_entry("twice").make()
    assert method_entry("dense").make() is METHODS["dense"].make()


@pytest.mark.usefixtures("broken")
def test_a_name_of_our_own_cannot_be_taken_and_the_attempt_is_told_once(caplog):
    registry = Registry(
        "sag.methods", METHODS.own.values(), lambda name, found: MethodEntry(name=name, summary="", target="x")
    )

    names = [*registry, *registry]

    assert names.count("bm25") == 2
    assert registry["bm25"] is METHODS.own["bm25"]
    told = [record.getMessage() for record in caplog.records if "'bm25'" in record.getMessage()]
    assert told == [
        "package cracked-plugin 1.0 adds 'bm25' to sag.methods, which is the name of a built-in entry: the built-in one is used"
    ]


@pytest.mark.usefixtures("broken", "home")
def test_a_package_adds_a_chat_model_by_its_first_word():
    assert open_chat(load_settings(chat_model="scripted:one")).model_id == "scripted:one"
    with pytest.raises(SettingsError, match="scripted:…"):
        load_settings(chat_model="unscripted:one")
    with pytest.raises(SettingsError, match="not of the form 'scripted:<model>'"):
        provider_of(CHAT_MODELS, "scripted:")


def test_a_function_of_ones_own_is_a_method():
    def mine(index: Any, query: Any) -> Any: ...

    assert resolve_method(mine) == ("mine", mine)
    assert resolve_method("bm25")[0] == "bm25"
    with pytest.raises(QueryError, match="give mine its own"):
        resolve_method(mine, METHODS["sag"].defaults)
    with pytest.raises(QueryError, match="method 7 is none of"):
        resolve_method(7)


@pytest.mark.parametrize("name", METHODS.own)
def test_every_method_is_made_with_its_defaults_and_refuses_options_of_another(name):
    entry = METHODS[name]

    assert callable(entry.make())
    assert entry.summary
    with pytest.raises(SettingsError, match=name):
        entry.make(object())


def test_the_names_that_type_checkers_know_are_those_there_are():
    assert get_args(MethodName) == tuple(METHODS.own)
    assert get_args(Mode) == tuple(MODES)


@pytest.mark.parametrize("provider", [*EMBEDDERS.own.values(), *CHAT_MODELS.own.values()], ids=lambda each: each.name)
def test_every_provider_of_ours_stands_where_it_says(provider: Provider):
    assert callable(provider.open)
    assert provider.summary


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_stands_where_it_says(mode):
    from pkgutil import resolve_name

    assert callable(resolve_name(MODES[mode].target))
