"""Build, check and describe the options of an operation from its dataclass.

A field has a type, bounds (`Annotated[int, Bounds(1, 4)]`) and a docstring with its meaning. No other list of options
exists: the command line, `release.search(options=…)` and the configuration of Dagster are derived from the dataclass.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from sag_retrieval.core.errors import SagError, SettingsError, shown
from sag_retrieval.core.option_types import (
    Bounds,
    Inline,
    Internal,
    Presets,
    as_text,
    expected,
    field_meanings,
    field_types,
    is_marked,
    is_option_group,
    parse_value,
    presets_of,
    takes,
)

__all__ = [
    "Bounds",
    "CheckedOptions",
    "Inline",
    "Internal",
    "Option",
    "Presets",
    "as_text",
    "build_options",
    "check_options",
    "describe_options",
    "options_of",
    "parse_settings",
    "presets_of",
]

T = TypeVar("T")


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

    def row(self) -> dict[str, Any]:
        """The option as a row of a table."""
        return {
            "name": self.name,
            "default": as_text(self.default),
            "values": self.expects,
            "meaning": self.meaning,
        }


def options_of(given: object) -> tuple[Option, ...]:
    """Every option of an options class, or of an instance; the values of an instance are the defaults."""
    return tuple(_walk(given if not isinstance(given, type) else given(), (), ""))


def describe_options(given: object) -> list[dict[str, Any]]:
    """One row per option: name, default, accepted values and meaning."""
    return [option.row() for option in options_of(given)]


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
    """Refuse values outside the type or bounds of their field; call it in `__post_init__`.

    Raises:
        SagError: The given kind, with name, value and bound.
    """
    for name, hint in field_types(type(options)).items():  # type: ignore[arg-type]  # a class is hashable
        value = getattr(options, name)
        if not takes(hint, value):
            raise error(f"{name}={shown(value)} must be {expected(hint)}")


class CheckedOptions:
    """Options that refuse values outside the type or bounds of their fields; a base of dataclasses.

    Raises:
        SettingsError: When an instance is built, with name, value and bound.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        check_options(self)


def parse_settings(pairs: Sequence[str], what: str) -> dict[str, str]:
    """Names and values of `--set NAME=VALUE`.

    Raises:
        SettingsError: If one has no `=` or no name, or a name is given twice.
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
