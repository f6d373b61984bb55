"""A Dagster project of somebody else installs the wheel and has two corpora, by the commands that its users type."""

import fnmatch
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from dagster_dg_core.context import DgContext

from sag_retrieval import open_release

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MAINS = {"dg": "dagster_dg_cli.cli", "create-dagster": "create_dagster.cli"}
LOAN = "# 贷款\n\n2021年,安平银行向三号变电站提供贷款五千万元。三号变电站由北河电力公司建设。"


@dataclass(frozen=True)
class Project:
    """The folder of a project, and the environment in which its commands run."""

    folder: Path
    venv: Path

    def run(
        self, command: str, *words: str, folder: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess:
        """A command as its users type it, in the project's environment."""
        own = ("SAG_", "OPENAI_", "PYTHON", "DAGSTER_", "COLUMNS")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        path = f"{self.venv / 'bin'}{os.pathsep}{environment['PATH']}"
        start = f"from {MAINS[command]} import main; main()"
        return subprocess.run(
            [self.venv / "bin" / "python", "-c", start, *words],
            cwd=folder or self.folder,
            env={**environment, "VIRTUAL_ENV": str(self.venv), "PATH": path, "COLUMNS": "200", **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def dg(self, *words: str, folder: Path | None = None, **variables: str) -> str:
        """What a `dg` command that succeeds prints."""
        done = self.run("dg", *words, folder=folder, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with a wheel of what the image is made of; what it depends on is found where the tests have it."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    source.mkdir()
    rules = (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    for name in (rule[1:] for rule in rules if rule[0] == "!"):
        place = source / name
        place.parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
        else:
            shutil.copy(ROOT / name, place)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder / "dist", source]
    subprocess.run([*pip, *built], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    others = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "dependencies.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    (wheel,) = (folder / "dist").glob("*.whl")
    install = ["--python", folder / "venv/bin/python", "install", "--no-deps", "--no-index", "--force-reinstall", wheel]
    subprocess.run([*pip[:3], *install, "--disable-pip-version-check", "-q"], check=True)
    return folder / "venv"


def test_what_is_sent_to_the_builder_of_the_image_is_enough_for_the_package(venv):
    (wheel,) = (venv.parent / "dist").glob("sag-*.whl")
    names = zipfile.ZipFile(wheel).namelist()

    assert "sag_pipeline/run_launcher.py" in names
    assert fnmatch.filter(names, "sag_pipeline/demo_corpus/documents/*")


RENAMED = """  retry: {max_retries: 2, delay: 0.1}
  translation:
    key: "lake/{{ corpus }}/{{ spec.key.path[-1] }}"
    group_name: lending
    owners: ["team:credit"]
"""
"""Lines for the component of the second corpus."""


@pytest.fixture(scope="module")
def project(venv: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project made by `create-dagster`, with two scaffolded corpora and a document for the second."""
    folder = tmp_path_factory.mktemp("projects") / "shop"
    made = Project(folder, venv)
    done = made.run("create-dagster", "project", "shop", "--no-uv-sync", folder=folder.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "shop.pth").write_text(f"{folder / 'src'}\n", encoding="utf-8")  # as an editable install does
    made.dg("scaffold", "defs", "sag_pipeline.Corpus", "birds")
    of_birds = folder / "src/shop/defs/birds/defs.yaml"
    of_loans = folder / "src/shop/defs/loans/defs.yaml"  # a second `dg scaffold` writes the same with another name
    of_loans.parent.mkdir()
    of_loans.write_text(of_birds.read_text(encoding="utf-8").replace("birds", "loans"), encoding="utf-8")
    (folder / "documents/loans").mkdir(parents=True)
    (folder / "documents/loans/a.md").write_text(LOAN, encoding="utf-8")
    return made


def test_a_scaffolded_corpus_has_a_home_a_source_and_a_schedule(project):
    written = yaml.safe_load((project.folder / "src/shop/defs/birds/defs.yaml").read_text(encoding="utf-8"))

    assert written == {
        "type": "sag_pipeline.Corpus",
        "attributes": {"home": "homes/birds", "sources": ["documents/birds"], "schedule": "0 2 * * *"},
    }


@pytest.fixture
def loans(project) -> Iterator[Callable[[str], None]]:
    """Adds lines to the component of the second corpus until the test ends."""
    place = project.folder / "src/shop/defs/loans/defs.yaml"
    before = place.read_text(encoding="utf-8")
    yield lambda more: place.write_text(f"{before.rstrip()}\n{more}", encoding="utf-8") and None
    place.write_text(before, encoding="utf-8")


def test_two_corpora_are_listed_and_one_is_materialized_as_its_component_renames_it(project, loans, tmp_path):
    """Both of them: `test_several_corpora.py`."""
    loans(RENAMED)
    listed = project.dg("list", "defs", "--json")
    told = project.dg("launch", "--job", "loans_ingest", DAGSTER_HOME=str(tmp_path))
    assert not [line for line in told.splitlines() if "leaked" in line or "Traceback" in line], told

    for word in ("birds/documents", "loans/release", "birds_nightly_ingest", "loans_inbox"):
        assert word in listed
    found, _ = json.JSONDecoder().raw_decode(listed[listed.index("{") :])
    assets = {each["asset_key"]: each for each in found["assets"] if "loans" in each["asset_key"]}
    read = ("documents", "sections", "summaries")
    assert assets["lake/loans/chunks"]["dependency_keys"] == [f"lake/loans/{name}" for name in read]
    assert {each["group_name"] for each in assets.values()} == {"lending"}
    assert all(each["owners"] == [{"team": "credit"}] for each in assets.values())
    with open_release(project.folder / "homes/loans") as lent:
        assert "安平银行" in lent.search("三号变电站的贷款").hits[0].text


def test_a_wrong_component_is_refused_with_the_reason(project, loans):
    """Wrong options: `test_option_schema.py`."""
    loans("  tables: [{asset: articles}]\n")

    done = project.run("dg", "check", "defs")

    assert done.returncode != 0
    assert "articles" in done.stdout + done.stderr


def test_dg_works_in_the_root_of_this_project_without_a_notice(project):
    root = project.venv.parent / "source"
    shutil.copy(ROOT / "dagster.yaml", root)

    told = project.dg("list", "defs", folder=root, DAGSTER_HOME=str(root))

    assert not [notice for notice in ("plugin manifest", "Telemetry", "Traceback", "leaked") if notice in told], told


def test_dg_gives_the_code_location_the_name_of_the_workspace():
    (loaded,) = yaml.safe_load((ROOT / "workspace.yaml").read_text(encoding="utf-8"))["load_from"]

    named = DgContext.for_project_environment(ROOT, {}).code_location_name

    assert named == loaded["python_module"]["location_name"]
