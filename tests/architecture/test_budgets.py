"""Functions stay small enough to be read at once, and names say what is inside."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sag_pipeline", "sag_retrieval")
FUNCTION_LINES = 60
LONG_FUNCTIONS: dict[str, str] = {}
"""file:function → why it may be longer."""
FORBIDDEN = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which may say as much as is needed."""
    first = function.body[0]
    is_docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


@pytest.mark.slow
def test_functions_keep_their_budget():
    long = {
        f"{name_of(path)}:{function.name}": body_lines(function)
        for path in modules()
        for function in functions(ast.parse(path.read_text(encoding="utf-8")))
    }

    assert {name: lines for name, lines in long.items() if lines > FUNCTION_LINES and name not in LONG_FUNCTIONS} == {}


def test_every_exception_is_still_needed():
    names = {name_of(path) for path in modules()}

    assert [name for name in LONG_FUNCTIONS if name.partition(":")[0] not in names] == []


def test_no_room_is_a_drawer_for_everything():
    assert [name_of(path) for path in modules() if FORBIDDEN & {path.stem, *path.relative_to(ROOT).parts}] == []


def test_every_module_says_in_its_first_line_what_is_inside():
    read = {name_of(path): path.read_text(encoding="utf-8") for path in modules()}
    said = {name: (ast.get_docstring(ast.parse(text)) or "\n").splitlines()[0] for name, text in read.items() if text}

    assert [name for name, line in said.items() if not line.endswith((".", ":"))] == []


def test_the_pipeline_leaves_annotations_alone():
    """Dagster reads annotations at run time; with the future import its configs cannot be found."""
    guilty = [
        name_of(p)
        for p in (ROOT / "sag_pipeline").rglob("*.py")
        if "from __future__ import annotations" in p.read_text(encoding="utf-8")
    ]

    assert guilty == []
