"""What each command imports: help and searches start without the pipeline and without heavy libraries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPELINE = {"dagster", "markitdown", "sumy", "sklearn"}
MODELS = {"openai", "torch", "igraph", "leidenalg", "lancedb", "pandas"}
DATA = {"numpy", "scipy", "pyarrow", "duckdb", "pydantic", "pydantic_settings", "Stemmer"}


def loaded_by(*command: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after a command."""
    code = (
        "import json, sys\nfrom sag_retrieval.cli.main import main\n"
        f"try:\n    main({list(command)!r})\nexcept SystemExit as ended:\n    code = ended.code\n"
        "print(json.dumps([code, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    exit_code, modules = json.loads(ran.stdout.splitlines()[-1])
    assert exit_code == 0, ran.stderr
    return set(modules)


@pytest.mark.parametrize("command", [["--help"], ["ingest", "--help"], ["sources", "--help"], ["import", "--help"]])
def test_help_loads_no_library_but_those_of_the_terminal(command):
    assert loaded_by(*command) & (PIPELINE | MODELS | DATA) == set()


@pytest.mark.slow
@pytest.mark.parametrize("command", [["search", "--help"], ["ask", "--help"]])
def test_help_that_lists_methods_or_modes_loads_neither_pipeline_nor_models(command):
    assert loaded_by(*command) & (PIPELINE | MODELS) == set()


def test_a_search_loads_neither_pipeline_nor_models(demo):
    assert loaded_by("search", "Who made the O-ring?") & (PIPELINE | MODELS) == set()


def test_an_answer_without_a_model_loads_neither_pipeline_nor_models(demo):
    assert loaded_by("ask", "Who made the O-ring?") & (PIPELINE | MODELS) == set()
