"""Who may import whom, and what a bare import may load."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_origin

import pytest
from importlinter.cli import lint_imports

import sag_retrieval

ROOT = Path(__file__).parents[2]
DOORS = ("fastapi", "starlette", "uvicorn", "mcp", "langchain_core", "llama_index", "haystack")
HEAVY = (
    "dagster",
    "duckdb",
    "lancedb",
    "openai",
    "igraph",
    "leidenalg",
    "pandas",
    "sumy",
    "pdfplumber",
    "lxml",
    *DOORS,
)


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a statement."""
    code = (
        f"import json, sys\n{statement}\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(ran.stdout))


@pytest.fixture
def loggers():
    """Loggers that are there stay on: the import checker's configuration turns all off but its own."""
    yield
    for one in logging.Logger.manager.loggerDict.values():
        if isinstance(one, logging.Logger):
            one.disabled = False


@pytest.mark.usefixtures("loggers")
def test_every_door_is_kept(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)

    exit_code = lint_imports(no_cache=True, no_logo=True)

    assert exit_code == 0, capsys.readouterr().out


def test_a_bare_import_of_retrieval_loads_nothing_heavy():
    assert not loaded_by("import sag_retrieval") & {*HEAVY, "numpy", "pyarrow", "pydantic"}


@pytest.mark.slow
def test_opening_a_release_needs_neither_dagster_nor_a_model_nor_lance():
    needless = {"dagster", "lancedb", "openai", "igraph", "leidenalg", "pandas", "sumy", "pdfplumber", "lxml"}

    assert not loaded_by("from sag_retrieval import open_release") & needless


@pytest.mark.parametrize("name", sag_retrieval.__all__)
def test_every_public_name_is_there_and_described(name):
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)

    found = getattr(sag_retrieval, name)
    assert found.__doc__ or get_origin(found) is Literal  # its values describe it
    assert name in text, f"{name} is public, but neither README nor docs name it"


def test_the_list_of_public_names_is_what_dir_shows():
    assert dir(sag_retrieval) == sorted(sag_retrieval.__all__)
