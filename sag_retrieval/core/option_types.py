"""Types of option fields: bounds, accepted values, parsing from text, and descriptions."""

import ast
import inspect
import json
import math
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_NONE: Final = frozenset({"", "none", "null"})
_SCALARS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True, slots=True)
class Bounds(GroupedMetadata):
    """Bounds of a number; `above` and `below` exclude the bound itself."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __iter__(self) -> Iterator[object]:
        if self.low > -math.inf:
            yield Gt(self.low) if self.above else Ge(self.low)
        if self.high < math.inf:
            yield Lt(self.high) if self.below else Le(self.high)

    def __str__(self) -> str:
        low, high = _number(self.low), _number(self.high)
        if not self.above and not self.below and self.high < math.inf:
            return f"{low} to {high}"
        upper = "" if self.high == math.inf else f", {'less than' if self.below else 'at most'} {high}"
        return f"{'more than' if self.above else 'at least'} {low}{upper}"


@dataclass(frozen=True, slots=True)
class Inline:
    """Marks a group of options named without a prefix for the group."""


@dataclass(frozen=True, slots=True, eq=False)
class Presets:
    """Marks a group with named presets, such as `header=full`."""

    named: Mapping[str, Any]

    def name_of(self, group: object) -> str:
        """The preset that a group equals; `own` if it equals none."""
        return next((name for name, preset in self.named.items() if preset == group), "own")


@dataclass(frozen=True, slots=True)
class Internal:
    """Marks a field that users cannot set: the code sets it, or it is a constant of a method or a rule."""


def expected(hint: Any) -> str:  # noqa: ANN401  a type as it is annotated
    """A description of the values that a type and its bounds accept."""
    kind, marks = _bare(hint)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    presets = presets_of(hint)
    if presets is not None:
        return "one of " + ", ".join(presets.named)
    arms = [arm for arm in _arms(kind) if arm is not type(None) and get_origin(arm) is not Callable]
    said = " or ".join(map(expected, arms)) if len(_arms(kind)) > 1 else _word(kind)
    bounds = "".join(f", {mark}" for mark in marks if isinstance(mark, Bounds))
    return f"{said}{bounds}" + (" or none" if type(None) in _arms(kind) else "")


def as_text(value: object) -> str:
    """A value as text that `--set` accepts."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def is_option_group(hint: Any) -> bool:  # noqa: ANN401  a type as it is annotated
    """Whether a field is a group of options and not a single value."""
    kind, _ = _bare(hint)
    return isinstance(kind, type) and is_dataclass(kind) and not hasattr(kind, "parse")


def presets_of(hint: Any) -> Presets | None:  # noqa: ANN401  a type as it is annotated
    """The presets of a group, if it has any."""
    return next((mark for mark in _bare(hint)[1] if isinstance(mark, Presets)), None)


def is_marked(hint: Any, mark: type) -> bool:  # noqa: ANN401  a type as it is annotated
    """Whether a type is annotated with a mark of this class."""
    return any(isinstance(each, mark) for each in _bare(hint)[1])


def parse_value(hint: Any, value: Any) -> Any:  # noqa: ANN401  a value of any option
    """A value converted to its type: text is parsed, lists become tuples, other values stay."""
    kind, _ = _bare(hint)
    presets = presets_of(hint)
    if presets is not None:
        return presets.named.get(value) if isinstance(value, str) else value
    if len(_arms(kind)) > 1:
        return _parsed_by_one(_arms(kind), value)
    if get_origin(kind) is tuple and isinstance(value, str | list | tuple):
        return tuple(parse_value(get_args(kind)[0], part) for part in _parts(value))
    if kind is float and type(value) is int:
        return float(value)
    return _from_text(kind, value.strip()) if isinstance(value, str) and kind is not str else value


def _from_text(kind: Any, text: str) -> Any:  # noqa: ANN401  a value of any option
    if kind is bool:
        return _adapter(bool).validate_strings(text)
    if kind is int or kind is float:
        return kind(text)
    if get_origin(kind) is Literal:
        return next((choice for choice in get_args(kind) if str(choice) == text), text)
    if isinstance(kind, type) and hasattr(kind, "parse"):
        return kind.parse(text)
    return json.loads(text)


def _parsed_by_one(arms: Sequence[Any], value: Any) -> Any:  # noqa: ANN401  a value of any option
    """The value converted to the first type that accepts it."""
    if isinstance(value, str) and type(None) in arms and value.strip().lower() in _NONE:
        return None
    for arm in arms:
        try:
            found = parse_value(arm, value)
        except (ValueError, OverflowError):
            continue
        if takes(arm, found):
            return found
    return value


def _parts(value: str | Sequence[Any]) -> Sequence[Any]:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        read = json.loads(value)
        return read if isinstance(read, list) else [read]
    return [part.strip() for part in value.split(",") if part.strip()]


def takes(hint: Any, value: object) -> bool:  # noqa: ANN401  one case per kind of type
    """Whether a value is of the type and within its bounds."""
    kind, _ = _bare(hint)
    arms = _arms(kind)
    if len(arms) > 1:
        return any(takes(arm, value) for arm in arms)
    if getattr(kind, "_is_protocol", False):
        return True  # for type checkers; at run time nothing says what fulfils it
    if isinstance(kind, type) and kind not in _SCALARS:
        return isinstance(value, kind)
    try:
        _adapter(hint).validate_python(value)
    except ValueError:  # as pydantic raises it
        return False
    return True


def json_schema(hint: Any) -> dict[str, Any]:  # noqa: ANN401  a type as it is annotated
    """JSON schema of a single value, with its bounds."""
    return _adapter(hint).json_schema()


@cache
def _adapter(hint: Any) -> "TypeAdapter[Any]":  # noqa: ANN401  a type as it is annotated
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415  keeps `sag --help` fast

    return TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))


def _bare(hint: Any) -> tuple[Any, tuple[object, ...]]:  # noqa: ANN401  a type as it is annotated
    """A type without its marks, and the marks."""
    marks = getattr(hint, "__metadata__", ())
    return (hint.__origin__ if marks else hint), marks


def _arms(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401  a type
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _word(kind: Any) -> str:  # noqa: ANN401  a type
    if get_origin(kind) is tuple:
        return "a list divided by commas"
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type) and hasattr(kind, "parse"):
        return str(getattr(kind, "form", kind.__name__))
    return "a JSON object"


def _number(value: float) -> str:
    return f"{value:,}" if float(value).is_integer() and abs(value) >= 1e4 else f"{value:g}"  # noqa: PLR2004


@cache
def field_types(cls: Hashable) -> dict[str, Any]:
    """Types of the fields with their annotations, in the order of the class."""
    assert isinstance(cls, type)
    found = get_type_hints(cls, include_extras=True)
    return {each.name: found[each.name] for each in fields(cls)}


@cache
def field_meanings(cls: Hashable) -> dict[str, str]:
    """The docstring below each field in the source; empty if the source is not available."""
    assert isinstance(cls, type)
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if is_dataclass(base):
            found |= _meanings_of(base)
    return found


def _meanings_of(cls: type) -> dict[str, str]:
    try:
        body = ast.parse(dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, after in zip(body.body, body.body[1:], strict=False):
        is_field = isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        if is_field and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[statement.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found
