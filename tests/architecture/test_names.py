"""A class or type has one name, and a name stands for one class or type."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("sag_pipeline", "sag_retrieval")


def defined_types(tree: ast.Module) -> Iterator[str]:
    """Public classes and type aliases that a module defines; constants in capitals are no types."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
        else:
            continue
        if name[0].isupper() and not name.isupper():
            yield name


def array_aliases(tree: ast.Module) -> Iterator[str]:
    """Names that a module gives to a plain array of one type, such as `Floats = npt.NDArray[np.float64]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("npt.NDArray["):
            yield ast.unparse(node.targets[0])


def modules() -> dict[str, ast.Module]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@pytest.mark.slow
def test_no_two_modules_define_a_class_or_type_of_the_same_name():
    places = defaultdict(list)
    for module, tree in modules().items():
        for name in defined_types(tree):
            places[name].append(module)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_check_of_names_sees_classes_and_aliases():
    tree = ast.parse("class Link: ...\nPair = list[int]\nLine: TypeAlias = int\n_Own = int\nMOST_LINES = 1\n")

    assert list(defined_types(tree)) == ["Link", "Pair", "Line"]


@pytest.mark.slow
def test_arrays_of_numbers_are_named_in_one_module():
    """Aliases elsewhere must say more than the type of the numbers, as `Starts` of lists in one array does."""
    kinds = {"Floats", "Floats32", "Rows", "Rows64", "Flags", "Words64"}
    found = {(module, name) for module, tree in modules().items() for name in array_aliases(tree) if name in kinds}

    assert {module for module, _ in found} == {"sag_retrieval/core/types.py"}
    assert {name for _, name in found} == kinds
