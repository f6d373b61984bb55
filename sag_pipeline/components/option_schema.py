"""JSON schema of the fields of a component, so that `dg check yaml` and editors know the values."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, get_args, get_origin

from sag_retrieval.core.option_types import Bounds, presets_of
from sag_retrieval.core.options import Option, options_of

_TEMPLATE: Final = r"\{\{"
"""What is filled in when definitions are loaded, such as `{{ env.HOME }}`, is not known before."""


def _field(one: str) -> str:
    """A field of cron: one, a range or all of them, in steps, and lists of these."""
    part = rf"(\*|\?|({one})(-({one}))?)(/[0-9]+)?"
    return rf"{part}(,{part})*"


_FIELDS: Final = r"\s+".join(
    map(
        _field,
        (
            "[0-5]?[0-9]",
            "[01]?[0-9]|2[0-3]",
            "0?[1-9]|[12][0-9]|3[01]|[lL]",
            "0?[1-9]|1[0-2]|[A-Za-z]{3}",
            "[0-7](#[1-5])?|[A-Za-z]{3}|[lL][0-7]",
        ),
    )
)
_NAMED: Final = "@(yearly|annually|monthly|weekly|daily|midnight|hourly)"
CRON: Final = {
    "type": "string",
    "pattern": rf"^\s*$|^\s*{_NAMED}\s*$|^\s*{_FIELDS}\s*$|{_TEMPLATE}",
    "examples": ["0 2 * * *"],
}
"""Minute, hour, day, month and weekday, or a name such as `@daily`."""


def choice(values: Iterable[object]) -> dict[str, Any]:
    """One of some words."""
    return {"anyOf": [{"enum": list(values)}, {"type": "string", "pattern": _TEMPLATE}]}


def schema_of(options: type) -> dict[str, Any]:
    """An object with the options of a class by name; those of a group have a dotted name or are nested."""
    found: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for option in options_of(options):
        found[option.name] = _value(option)
        group, dot, name = option.name.partition(".")
        if dot:
            groups.setdefault(group, {})[name] = found[option.name]
    for group, inside in groups.items():
        nested = {"type": "object", "properties": inside, "additionalProperties": False}
        found[group] = {"anyOf": [found[group], nested]} if group in found else nested
    return {"type": ["object", "string"], "properties": found, "additionalProperties": False, "pattern": _TEMPLATE}


def _value(option: Option) -> dict[str, Any]:
    """What an option takes; text is read as its type, and of other types only the description is given."""
    hint, marks = option.hint, getattr(option.hint, "__metadata__", ())
    kind = hint.__origin__ if marks else hint
    presets = presets_of(hint)
    described = {"description": f"{option.meaning.rstrip('.')}. {option.expects.capitalize()}."}
    if presets is not None or get_origin(kind) is Literal:
        return choice(presets.named if presets is not None else get_args(kind)) | described
    if kind is bool:
        return _typed("boolean", "^([Tt]rue|[Ff]alse|yes|no|on|off|0|1)$") | described
    if kind in (int, float):
        name = "integer" if kind is int else "number"
        return {**_typed(name, r"^\s*[-+]?[0-9.]"), **_bounds(marks), **described}
    return described


def _typed(name: str, text: str) -> dict[str, Any]:
    return {"type": [name, "string"], "pattern": f"{text}|{_TEMPLATE}"}


def _bounds(marks: Iterable[object]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for mark in marks:
        if isinstance(mark, Bounds):
            found["exclusiveMinimum" if mark.above else "minimum"] = mark.low
            if mark.high != float("inf"):
                found["exclusiveMaximum" if mark.below else "maximum"] = mark.high
    return {name: bound for name, bound in found.items() if abs(bound) != float("inf")}
