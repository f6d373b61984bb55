"""Build, check and describe the options of an operation from its dataclass.

A field has a type, bounds (`Annotated[int, Bounds(1, 4)]`) and a docstring with its meaning. No other list of options
exists: the command line, `release.search(options=…)` and the configuration of Dagster are derived from the dataclass.
"""

import ast
import inspect
import json
import math
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt

from sag_retrieval.core.errors import SagError, SettingsError, shown

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
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


@dataclass(frozen=True, slots=True)
class Option:
    """One option with its full name; a dot separates a group from a name."""

    name: str
    path: tuple[str, ...]
    hint: Any = field(repr=False)
    default: Any
    meaning: str

    @property
    def expects(self) -> str:
        """What a value must be, such as `a whole number, 1 to 4`."""
        return expected(self.hint)


def options_of(given: object) -> tuple[Option, ...]:
    """Every option of an options class, or of an instance; the values of an instance are the defaults."""
    return tuple(_walk(given if not isinstance(given, type) else given(), (), ""))


def describe_options(given: object) -> list[dict[str, Any]]:
    """One row per option: name, default, accepted values and meaning."""
    return [
        {"name": each.name, "default": as_text(each.default), "values": each.expects, "meaning": each.meaning}
        for each in options_of(given)
    ]


def build_options(
    cls: type[T], given: T | Mapping[str, Any] | None = None, *, what: str, base: T | None = None, kind: str = ""
) -> T:
    """The options given as an instance or as a mapping of names to values; the defaults if None.

    Args:
        cls: The dataclass of the options.
        given: An instance, used unchanged; or names and values. Options of a group have a dotted name or are nested
            (`{"graph.beam_width": 8}`, `{"graph": {"beam_width": 8}}`). Text is parsed as the option's type.
        what: The name of these options in `sag settings --options`.
        base: Values of the options that are not given; None: the defaults of the class.
        kind: What `what` names in messages, such as `method`; empty: nothing precedes the name.

    Raises:
        SettingsError: If a name is unknown or a value out of bounds, with the value, the bound and the nearest name.

    Examples:
        >>> from sag_retrieval.search.options import SearchOptions
        >>> build_options(SearchOptions, {"hops": "2"}, what="sag").hops
        2
    """
    owner = f"{kind} {what!r}" if kind else what
    start = cls() if base is None else base
    if given is None:
        return start
    if isinstance(given, cls):
        return given
    if not isinstance(given, Mapping):
        raise SettingsError(f"options of {owner} must be names and values or {cls.__name__}, got {shown(given)}")
    known = {option.name: option for option in options_of(start)}
    chosen: dict[tuple[str, ...], Any] = {}
    for name, value in _flat(given, known):
        if is_dataclass(value) and (group := _group(name, known)):
            chosen[group] = value
            continue
        option = known.get(name)
        if option is None:
            raise SettingsError(f"{_unknown(name, known, owner)}; `sag settings --options {what}` lists them")
        chosen[option.path] = _read(option, value, what)
    return _with(start, chosen)


def check_options(options: object, error: type[SagError] = SettingsError) -> None:
    """Refuse values outside the type or bounds of their field; call it in `__post_init__`."""
    for name, hint in field_types(type(options)).items():  # type: ignore[arg-type]  # a class is hashable
        value = getattr(options, name)
        if not takes(hint, value):
            raise error(f"{name}={shown(value)} must be {expected(hint)}")


class CheckedOptions:
    """Options that refuse values outside the type or bounds of their fields; a base of dataclasses."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)


def parse_settings(pairs: Sequence[str], what: str) -> dict[str, str]:
    """Names and values of `--set NAME=VALUE`."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingsError(f"--set {shown(pair)} is not NAME=VALUE; `sag settings --options {what}` lists them")
        if name.strip() in found:
            raise SettingsError(f"--set {name.strip()} is given twice; give it once")
        found[name.strip()] = value.strip()
    return found


def _walk(options: Any, path: tuple[str, ...], prefix: str) -> Iterator[Option]:  # noqa: ANN401  any dataclass
    cls: Any = type(options)
    meanings = field_meanings(cls)
    for name in [name for name, hint in field_types(cls).items() if not is_marked(hint, Internal)]:
        hint, value = field_types(cls)[name], getattr(options, name)
        if is_option_group(hint):
            is_inline = is_marked(hint, Inline)
            preset = presets_of(hint)
            if preset is not None:
                yield Option(f"{prefix}{name}", (*path, name), hint, preset.name_of(value), meanings.get(name, ""))
            yield from _walk(value, (*path, name), prefix if is_inline else f"{prefix}{name}.")
        else:
            yield Option(f"{prefix}{name}", (*path, name), hint, value, meanings.get(name, ""))


def _flat(given: Mapping[str, Any], known: Mapping[str, Option], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and their values; an instance given for a group replaces it."""
    for key, value in given.items():
        name = f"{prefix}{key}"
        if not any(other.startswith(f"{name}.") for other in known):
            yield name, value
        elif isinstance(value, Mapping):
            yield from _flat(value, known, f"{name}.")
        else:
            yield name, value


def _group(name: str, known: Mapping[str, Option]) -> tuple[str, ...]:
    """Where the group of a name lies; empty if it is none."""
    return next((option.path[:-1] for other, option in known.items() if other.startswith(f"{name}.")), ())


def _unknown(name: str, known: Mapping[str, Option], owner: str) -> str:
    inside = [other for other in known if other.startswith(f"{name}.")]
    if inside:
        return f"{name!r} of {owner} is a group of options; give one of {', '.join(inside)}"
    words = {other.rpartition(".")[2]: other for other in reversed(list(known))}
    near = get_close_matches(name, known, 1, 0.5) or [words[w] for w in get_close_matches(name, words, 1, 0.5)]
    meant = f", the nearest is {near[0]!r}" if near else ""
    return f"{owner} has no option {shown(name)}{meant}"


def _read(option: Option, value: Any, what: str) -> Any:  # noqa: ANN401  a value of any option
    try:
        found = parse_value(option.hint, value)
        is_taken = takes(option.hint, found)
    except (ValueError, OverflowError, RecursionError):
        is_taken = False
    if not is_taken:
        raise SettingsError(
            f"{option.name}={shown(value)} must be {option.expects}; `sag settings --options {what}` lists the options"
        )
    return found


def _with(options: T, chosen: Mapping[tuple[str, ...], Any]) -> T:
    """The options with values replaced by path; each class checks its values when it is built."""
    if not chosen:
        return options
    groups: dict[str, dict[tuple[str, ...], Any]] = {}
    for (name, *rest), value in chosen.items():
        groups.setdefault(name, {})[tuple(rest)] = value
    values = {name: _with(inside.pop((), getattr(options, name)), inside) for name, inside in groups.items()}
    return replace(options, **values)  # type: ignore[type-var]
