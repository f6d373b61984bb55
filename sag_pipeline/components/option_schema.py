"""JSON schema of the fields of a component, so that `dg check yaml` and editors know the values."""

from collections.abc import Iterable
from typing import Any, Final

from sag_retrieval.core.option_types import json_schema, presets_of
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
_AS_TEXT: Final = {
    "boolean": "^([Tt]rue|[Ff]alse|yes|no|on|off|0|1)$",
    "integer": r"^\s*[-+]?[0-9.]",
    "number": r"^\s*[-+]?[0-9.]",
}
"""How a value of a type begins where it is written as text."""
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
    presets = presets_of(option.hint)
    described = {"description": f"{option.meaning.rstrip('.')}. {option.expects.capitalize()}."}
    if presets is not None:
        return choice(presets.named) | described
    own = json_schema(option.hint)
    if "enum" in own:
        return choice(own["enum"]) | described
    if own.get("type") not in _AS_TEXT:
        return described
    return own | {"type": [own["type"], "string"], "pattern": f"{_AS_TEXT[own['type']]}|{_TEMPLATE}"} | described
