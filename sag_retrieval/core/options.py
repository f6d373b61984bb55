"""Options of any operation: build them from given values, check them, and describe them, all from one dataclass.

A field says its type, its bounds (`Annotated[int, Bounds(1, 4)]`) and, in the text below it, what it means. Nothing
else lists options: the command line, `release.search(options=…)` and the configuration of Dagster are made from it.
"""

import ast
import inspect
import json
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from textwrap import dedent
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sag_retrieval.core.errors import SagError, SettingsError, shown

T = TypeVar("T")

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_NONE: Final = frozenset({"", "none", "null"})
_SCALARS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value of a number; `above` and `below` leave the end itself out."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number lies within; nan never does."""
        is_over = value > self.low if self.above else value >= self.low
        return is_over and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low, high = _number(self.low), _number(self.high)
        if not self.above and not self.below and self.high < math.inf:
            return f"{low} to {high}"
        upper = "" if self.high == math.inf else f", {'less than' if self.below else 'at most'} {high}"
        return f"{'more than' if self.above else 'at least'} {low}{upper}"


@dataclass(frozen=True, slots=True)
class Inline:
    """Marks a group whose options are named without the group's name."""


@dataclass(frozen=True, slots=True, eq=False)
class Presets:
    """Marks a group of which whole sets of values have names, such as `header=full`."""

    named: Mapping[str, Any]

    def name_of(self, group: object) -> str:
        """The name of a group's values; `own` if they are none of the presets."""
        return next((name for name, preset in self.named.items() if preset == group), "own")


@dataclass(frozen=True, slots=True)
class Internal:
    """Marks a field that the code fills in itself: it is no option."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option as users name it: groups are divided from names by dots."""

    name: str
    path: tuple[str, ...]
    hint: Any = field(repr=False)
    default: Any
    meaning: str

    @property
    def expects(self) -> str:
        """What a value must be, such as `a whole number, 1 to 4`."""
        return expected(self.hint)

    def row(self) -> dict[str, Any]:
        """As tables and pages show it."""
        return {
            "name": self.name,
            "default": as_text(self.default),
            "values": self.expects,
            "meaning": self.meaning,
        }


class _RefusedError(ValueError):
    """A value that a type does not take."""


def options_of(given: object) -> tuple[Option, ...]:
    """Every option of an options class, or of an instance, whose values are then the defaults."""
    return tuple(_walk(given if not isinstance(given, type) else given(), (), ""))


def describe_options(given: object) -> list[dict[str, Any]]:
    """One row an option: name, default, what values it takes, and what it means."""
    return [option.row() for option in options_of(given)]


def build_options(cls: type[T], given: T | Mapping[str, Any] | None = None, *, what: str, base: T | None = None) -> T:
    """The options meant by an instance, by a mapping of names to values, or by nothing.

    Args:
        cls: The dataclass of the options.
        given: An instance, taken as it is; or names and values. Names of a group have a dot or are a mapping of their
            own (`{"graph.beam_width": 8}`, `{"graph": {"beam_width": 8}}`). Text is read as the option's type.
        what: The name of these options in `sag settings --options`.
        base: The values of what is not given; None: the defaults of the class.

    Raises:
        SettingsError: If a name is unknown or a value out of bounds, with the value, the bound and the nearest name.

    Example:
        >>> from sag_retrieval.search.options import SearchOptions
        >>> build_options(SearchOptions, {"hops": "2"}, what="sag").hops
        2

    """
    start = cls() if base is None else base
    if given is None:
        return start
    if isinstance(given, cls):
        return given
    if not isinstance(given, Mapping):
        raise SettingsError(f"options of {what} must be names and values or {cls.__name__}, got {shown(given)}")
    known = {option.name: option for option in options_of(start)}
    chosen: dict[tuple[str, ...], Any] = {}
    for name, value in _flat(given, known):
        option = known.get(name)
        if option is None:
            raise SettingsError(_unknown(name, known, what))
        chosen[option.path] = _read(option, value, what)
    return _with(start, chosen)


def check_options(options: object, error: type[SagError] = SettingsError) -> None:
    """Refuse a field whose value its type or bounds do not allow; for `__post_init__`.

    Raises:
        SagError: The given kind, with name, value and bound.

    """
    for name, hint in _hints(type(options)).items():
        value = getattr(options, name)
        if not _takes(hint, value):
            raise error(f"{name}={shown(value)} must be {expected(hint)}")


def expected(hint: Any) -> str:  # noqa: ANN401  a type as it is annotated
    """What a type and its bounds take, in words."""
    kind, marks = _bare(hint)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    presets = presets_of(hint)
    if presets is not None:
        return "one of " + ", ".join(presets.named)
    arms = [arm for arm in _arms(kind) if arm is not type(None) and not _is_callable(arm)]
    said = " or ".join(map(expected, arms)) if len(_arms(kind)) > 1 else _word(kind)
    bounds = "".join(f", {mark}" for mark in marks if isinstance(mark, Bounds))
    return f"{said}{bounds}" + (" or none" if type(None) in _arms(kind) else "")


def as_text(value: object) -> str:
    """A value as `--set` takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def parse_settings(pairs: Sequence[str], what: str) -> dict[str, str]:
    """Names and values of `--set NAME=VALUE`.

    Raises:
        SettingsError: If one has no `=`, no name, or a name stands twice.

    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"--set {shown(pair)} is not NAME=VALUE; `sag settings --options {what}` lists them")
        if name.strip() in found:
            raise SettingsError(f"--set {name.strip()} is given twice; give it once")
        found[name.strip()] = value.strip()
    return found


def is_option_group(hint: Any) -> bool:  # noqa: ANN401  a type as it is annotated
    """Whether a field holds options of its own and is not one value."""
    kind, _ = _bare(hint)
    return isinstance(kind, type) and is_dataclass(kind) and not hasattr(kind, "parse")


def presets_of(hint: Any) -> Presets | None:  # noqa: ANN401  a type as it is annotated
    """The presets of a group, if it has any."""
    return next((mark for mark in _bare(hint)[1] if isinstance(mark, Presets)), None)


def _walk(options: Any, path: tuple[str, ...], prefix: str) -> Iterator[Option]:  # noqa: ANN401  any dataclass
    meanings = _meanings(type(options))
    for name in _own_options(type(options)):
        hint, value = _hints(type(options))[name], getattr(options, name)
        if is_option_group(hint):
            is_inline = _is_marked(hint, Inline)
            preset = presets_of(hint)
            if preset is not None:
                yield Option(f"{prefix}{name}", (*path, name), hint, preset.name_of(value), meanings.get(name, ""))
            yield from _walk(value, (*path, name), prefix if is_inline else f"{prefix}{name}.")
        else:
            yield Option(f"{prefix}{name}", (*path, name), hint, value, meanings.get(name, ""))


def _own_options(cls: type) -> list[str]:
    return [name for name, hint in _hints(cls).items() if not _is_marked(hint, Internal)]


def _is_marked(hint: Any, mark: type) -> bool:  # noqa: ANN401  a type as it is annotated
    return any(isinstance(each, mark) for each in _bare(hint)[1])


def _flat(given: Mapping[str, Any], known: Mapping[str, Option], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names with dots and their values; an instance in place of a group gives all of its values."""
    for key, value in given.items():
        name = f"{prefix}{key}"
        if not any(other.startswith(f"{name}.") for other in known):
            yield name, value
        elif isinstance(value, Mapping):
            yield from _flat(value, known, f"{name}.")
        elif is_dataclass(value) and not isinstance(value, type):
            inside = {name: getattr(value, name) for name in _own_options(type(value))}
            yield from _flat(inside, known, f"{name}.")
        else:
            yield name, value


def _unknown(name: str, known: Mapping[str, Option], what: str) -> str:
    inside = [other for other in known if other.startswith(f"{name}.")]
    if inside:
        return f"{name!r} of {what} is a group of options; give one of {', '.join(inside)}"
    words = {other.rpartition(".")[2]: other for other in reversed(known)}
    near = get_close_matches(name, known, 1, 0.5) or [words[w] for w in get_close_matches(name, words, 1, 0.5)]
    meant = f", the nearest is {near[0]!r}" if near else ""
    return f"{what} has no option {shown(name)}{meant}; `sag settings --options {what}` lists them"


def _read(option: Option, value: Any, what: str) -> Any:  # noqa: ANN401  a value of any option
    try:
        found = _parsed(option.hint, value)
    except (_RefusedError, ValueError, OverflowError, RecursionError):
        found = _RefusedError
    if found is _RefusedError or not _takes(option.hint, found):
        raise SettingsError(
            f"{option.name}={shown(value)} must be {option.expects}; `sag settings --options {what}` lists the options"
        )
    return found


def _parsed(hint: Any, value: Any) -> Any:  # noqa: ANN401  a value of any option
    """A value as its type: text is read, lists become tuples, the rest stays."""
    kind, _ = _bare(hint)
    presets = presets_of(hint)
    if presets is not None:
        return presets.named.get(value) if isinstance(value, str) else value
    if len(_arms(kind)) > 1:
        return _parsed_by_one(_arms(kind), value)
    if get_origin(kind) is tuple and isinstance(value, str | list | tuple):
        return tuple(_parsed(get_args(kind)[0], part) for part in _parts(value))
    if kind is float and type(value) is int:
        return float(value)
    return _from_text(kind, value.strip()) if isinstance(value, str) and kind is not str else value


def _from_text(kind: Any, text: str) -> Any:  # noqa: ANN401  a value of any option
    if kind is bool:
        return _truth(text)
    if kind is int or kind is float:
        return kind(text)
    if get_origin(kind) is Literal:
        return next((choice for choice in get_args(kind) if str(choice) == text), text)
    if isinstance(kind, type) and hasattr(kind, "parse"):
        return kind.parse(text)
    return json.loads(text)


def _parsed_by_one(arms: Sequence[Any], value: Any) -> Any:  # noqa: ANN401  a value of any option
    """The value as the first type that takes it."""
    if isinstance(value, str) and type(None) in arms and value.strip().lower() in _NONE:
        return None
    for arm in arms:
        try:
            found = _parsed(arm, value)
        except SettingsError:
            raise
        except (_RefusedError, ValueError, OverflowError):
            continue
        if _takes(arm, found):
            return found
    return value


def _parts(value: str | Sequence[Any]) -> Sequence[Any]:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        read = json.loads(value)
        return read if isinstance(read, list) else [read]
    return [part.strip() for part in value.split(",") if part.strip()]


def _truth(text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        raise _RefusedError(text)
    return text.lower() in _TRUE


def _with(options: T, chosen: Mapping[tuple[str, ...], Any]) -> T:
    """The options with values replaced by path; every class checks itself when it is built."""
    if not chosen:
        return options
    groups: dict[str, dict[tuple[str, ...], Any]] = {}
    for (name, *rest), value in chosen.items():
        groups.setdefault(name, {})[tuple(rest)] = value
    values = {name: _with(inside.pop((), getattr(options, name)), inside) for name, inside in groups.items()}
    return replace(options, **values)  # type: ignore[type-var]


def _takes(hint: Any, value: object) -> bool:  # noqa: ANN401  one case a kind of type
    """Whether a value is of the type and within its bounds."""
    kind, marks = _bare(hint)
    arms = _arms(kind)
    if len(arms) > 1:
        return any(_takes(arm, value) for arm in arms) and _is_within(marks, value)
    origin = get_origin(kind)
    if origin is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(kind))
    if origin is tuple:
        return isinstance(value, tuple) and all(_takes(get_args(kind)[0], part) for part in value)
    if _is_callable(kind):
        return callable(value)
    if origin is not None and issubclass(origin, Mapping):
        inner = get_args(kind)[1]
        return isinstance(value, Mapping) and all(_takes(inner, part) for part in value.values())
    return _is_scalar(kind, value) and _is_within(marks, value)


def _is_scalar(kind: Any, value: object) -> bool:  # noqa: ANN401  a type
    if kind is float or kind is int:
        is_number = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
        return is_number and (not isinstance(value, float) or math.isfinite(value))
    return isinstance(value, kind)


def _is_within(marks: Sequence[object], value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return True
    return all(mark.holds(value) for mark in marks if isinstance(mark, Bounds))


def _bare(hint: Any) -> tuple[Any, tuple[object, ...]]:  # noqa: ANN401  a type as it is annotated
    """A type without its marks, and the marks."""
    marks = getattr(hint, "__metadata__", ())
    return (hint.__origin__ if marks else hint), marks


def _arms(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401  a type
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_callable(kind: Any) -> bool:  # noqa: ANN401  a type
    return get_origin(kind) is Callable


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
def _hints(cls: type) -> dict[str, Any]:
    """Types of the fields, marks included, in the order of the class."""
    found = get_type_hints(cls, include_extras=True)
    return {each.name: found[each.name] for each in fields(cls)}


@cache
def _meanings(cls: type) -> dict[str, str]:
    """The text below each field in the source; empty where the source is not at hand."""
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
