"""Everything a user meets has a public name, and one list says which."""

import ast
import dataclasses
import inspect
import pickle
import sys
import typing
from pathlib import Path

import pytest

import sag_retrieval
from sag_retrieval.search.registry import MethodName
from sag_retrieval.search.segments import PRESETS, SegmentPreset

ROOT = Path(__file__).parents[2]
INSIDE = {
    "Arrays": "arrays by row number, for rankings of one's own: their module is their address",
    "Part": "how a pipeline asks several requests as one",
    "ClusterMethod": "the values of one option",
    "Formula": "the constants of a method, which no user sets",
}
"""Types that are reached from public ones and have no public name, with the reason."""


def public_objects():
    return {name: getattr(sag_retrieval, name) for name in sag_retrieval.__all__}


def hints_of(something):
    """Annotations of a class's fields, methods and properties, or of a function."""
    names = public_objects()
    if inspect.isfunction(something):
        yield from typing.get_type_hints(something, localns=names | lazily(something)).values()
    elif inspect.isclass(something) and not issubclass(something, Exception):
        if dataclasses.is_dataclass(something) or hasattr(something, "model_fields"):
            yield from typing.get_type_hints(something, localns=names).values()
        for name, member in vars(something).items():
            if not name.startswith("_") or name in {"__getitem__", "__iter__", "__call__", "__enter__"}:
                function = getattr(member, "func", getattr(member, "fget", getattr(member, "__func__", member)))
                if inspect.isfunction(function):
                    yield from typing.get_type_hints(function, localns=names | lazily(function)).values()


def lazily(function):
    """Names that a module imports for type checkers only."""
    module = sys.modules[inspect.unwrap(function).__globals__["__name__"]]
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    space = {}
    for node in tree.body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__file__, "exec"), dict(vars(module)), space)
    return space


def types_in(hint):
    """Every class that an annotation names."""
    if inspect.isclass(hint) and not typing.get_args(hint):
        yield hint
    origin = typing.get_origin(hint)
    if inspect.isclass(origin):
        yield origin
    for inner in typing.get_args(hint):
        yield from (each for part in (inner if isinstance(inner, list) else [inner]) for each in types_in(part))


def reached():
    """Our own types that public names lead to, whether public or not."""
    seen, waiting = set(), list(public_objects().values())
    while waiting:
        something = waiting.pop()
        for hint in hints_of(something):
            for found in types_in(hint):
                if found.__module__.split(".")[0] == "sag_retrieval" and found not in seen:
                    seen.add(found)
                    if found.__name__ not in INSIDE:
                        waiting.append(found)
    return {each.__name__ for each in seen}


def test_every_type_that_public_names_lead_to_is_public():
    names = reached()

    assert {"SearchResult", "Answer", "Hit", "Manifest", "Progress", "Index", "Usage"} <= names
    assert names - set(sag_retrieval.__all__) == set(INSIDE) & names
    assert set(INSIDE) - {"ClusterMethod"} <= names, "an exception is no longer needed"


def test_the_stub_names_each_thing_once():
    tree = ast.parse((ROOT / "sag_retrieval" / "__init__.pyi").read_text(encoding="utf-8"))
    names = [alias.asname for node in tree.body for alias in node.names]

    assert sorted(names) == sorted(sag_retrieval.__all__)
    assert [alias.name for node in tree.body for alias in node.names] == names


def test_every_error_is_public():
    from sag_retrieval.core import errors

    declared = {name for name, each in vars(errors).items() if inspect.isclass(each) and issubclass(each, Exception)}

    assert declared <= set(sag_retrieval.__all__)


RESULTS = [
    *("Answer", "ChunkResult", "Citation", "DocumentResult", "Hit", "HitEvent", "HitKey", "Manifest", "Progress"),
    *("Release", "ReleaseInfo", "Report", "ResultKey", "ResultSegment", "SearchResult", "SqlResult"),
]


@pytest.mark.parametrize("name", [*RESULTS, *(name for name in sag_retrieval.__all__ if name.endswith("Error"))])
def test_results_and_errors_name_themselves_as_users_import_them(name):
    found = getattr(sag_retrieval, name)

    assert (found.__module__, found.__qualname__) == ("sag_retrieval", name)
    assert pickle.loads(pickle.dumps(found)) is found


def test_an_error_of_somebody_else_keeps_its_module():
    class OwnError(sag_retrieval.QueryError):
        pass

    assert OwnError.__module__ == __name__


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Relase"):
        sag_retrieval.Relase  # noqa: B018


def test_names_of_methods_modes_and_presets_are_those_of_their_types():
    assert typing.get_args(MethodName) == tuple(sag_retrieval.METHODS)
    assert typing.get_args(sag_retrieval.Mode) == tuple(sag_retrieval.MODES)
    assert typing.get_args(SegmentPreset) == tuple(PRESETS)


@pytest.mark.parametrize("name", ["open_release", "list_releases", "load_settings", "read_schema"])
def test_a_public_function_opens_with_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(sag_retrieval, name))


@pytest.mark.parametrize(
    "name", ["search", "searcher", "ask", "report", "tables", "table", "sql", "document", "chunk", "close"]
)
def test_a_public_method_of_a_release_has_an_example_before_its_arguments(name):
    said = inspect.getdoc(getattr(sag_retrieval.Release, name))

    assert ">>>" in said.partition("Args:")[0]
