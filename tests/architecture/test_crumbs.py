"""A module that only one other imports is large enough to be a file of its own."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sag_pipeline", "sag_retrieval")
CRUMB_LINES = 60
PLUG_INS = (
    "sag_pipeline.defs.assets.",  # Dagster's assets, put together by the definitions
    "sag_pipeline.sources.converters.",  # one file for each kind of files
    "sag_pipeline.importers.",  # one file for each foreign format
    "sag_retrieval.cli.",  # one file for each group of commands
    "sag_retrieval.reports.",  # one file for each part of a page
    "sag_pipeline.extract.rules.",  # one file for each language and kind of rule
)
LONE = {
    "sag_pipeline.definitions": "what Dagster loads",
    "sag_pipeline.table": "a description that added tables need before the list of tables is there",
    "sag_retrieval.release.table": "the same for the tables of a release",
    "sag_pipeline.runs.history": "`dagster.yaml` names its classes",
}
"""Module → why it may be small although one other module alone imports it."""


def modules() -> dict[str, str]:
    """Source by the dotted name of each module; a package has the name of its folder."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name: path.read_text(encoding="utf-8") for path, name in names.items()}


def imported_by(source: str) -> set[str]:
    """Modules that a source may import, at its top or later by a name in a string."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def crumbs(sources: dict[str, str]) -> dict[str, str]:
    """Small modules that one module alone imports, and that one."""
    importers = defaultdict(set)
    for name, source in sources.items():
        for target in imported_by(source) & set(sources) - {name}:
            importers[target].add(name)
    packages = {name.rpartition(".")[0] for name in sources}
    return {
        name: importer
        for name, (importer, *others) in importers.items()
        if not others and name not in packages and len(sources[name].splitlines()) <= CRUMB_LINES
    }


@pytest.mark.slow
def test_a_small_module_of_one_importer_is_a_part_of_it():
    found = {name: by for name, by in crumbs(modules()).items() if name not in LONE and not name.startswith(PLUG_INS)}

    assert found == {}


def test_every_small_module_that_is_excused_is_there():
    assert set(LONE) - set(modules()) == set()


def test_a_small_module_of_one_importer_is_seen():
    users = "from p.b import x\nfrom p import c\n"
    sources = {"p": "", "p.a": users, "p.b": "x = 1\n", "p.c": "", "p.d": "import p.c\n"}

    assert crumbs(sources) == {"p.b": "p.a"}
