"""What a command imports: a budget of modules by command, as a count does not depend on how busy a machine is."""

from pathlib import Path

import pytest

from tests.support.start_up import ROOT, Checkout, Cost

pytestmark = pytest.mark.slow

BUDGETS = {
    "sag --help": (240, 300),
    "sag search": (690, 870),
    "nothing to do": (730, 900),
    "one document added": (2_000, 2_450),
}
"""Command → fewest and most modules: some 10 % around what it imports."""
_MODELS = {"openai", "torch", "sentence_transformers", "sklearn", "nltk"}
_WORK = {"lancedb", "pandas", "igraph", "leidenalg", "sumy", "lxml", "pdfplumber", "requests"}
_DOORS = {"fastapi", "starlette", "uvicorn", "mcp"}
FORBIDDEN = {
    "sag --help": _DOORS | _MODELS | _WORK | {"dagster", "numpy", "scipy", "pyarrow", "duckdb", "pydantic"},
    "sag search": _DOORS | _MODELS | _WORK | {"dagster", "sag_pipeline.definitions"},
    "nothing to do": _MODELS
    | _WORK
    | {"dagster", "rjieba", "scipy.special", "sag_pipeline.extract.rules.names", "upath"},
    "one document added": _MODELS
    | {"upath", "requests", "pdfplumber", "lance_namespace_urllib3_client.api", "sqlalchemy", "alembic"},
}
"""Command → modules that it has no use for."""


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    """The cost of each command, in a home of its own."""
    checkout = Checkout(Path(ROOT), tmp_path_factory.mktemp("start_up") / "work")
    checkout.prepare()
    return dict(checkout.costs())


@pytest.mark.parametrize("command", BUDGETS)
def test_a_command_keeps_its_budget_of_modules(costs, command):
    least, most = BUDGETS[command]
    count = len(costs[command].modules)

    assert count <= most, (
        f"{command!r} imports {count:,} modules, {most:,} are allowed; `python -X importtime -m sag_retrieval.cli.main` "
        "with its arguments shows which are new: import them in the function that uses them"
    )
    assert count >= least, f"{command!r} imports only {count:,} modules; lower its budget to 10 % around that"


@pytest.mark.parametrize("command", FORBIDDEN)
def test_a_command_imports_nothing_that_it_has_no_use_for(costs, command):
    assert costs[command].modules & FORBIDDEN[command] == set()
