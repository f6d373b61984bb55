"""Read a key schema from YAML or from plain values, with errors that say the place, the value and the nearest name."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from sag_retrieval.core.errors import SettingsError, nearest, shown
from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.core.yaml_file import YamlKind, read_yaml, value_of

SCHEMA_FILE: Final = "schema.yaml"
_DEFAULT: Final = Path(__file__).with_name(SCHEMA_FILE)
_NEXT: Final = "`sag schema write` writes the default to edit"
_SCHEMA: Final = YamlKind("schema", f"a list of key types; {_NEXT}", 1_000_000, yaml.BaseLoader)


@cache
def default_schema() -> KeySchema:
    """The schema of a home without its own: fourteen types."""
    return KeySchema.model_validate(yaml.load(default_text(), yaml.BaseLoader))  # noqa: S506  texts alone


def home_schema(home: Path, named: str = "") -> KeySchema:
    """The schema of a home: the file that is named, else `schema.yaml` in the home, else the default."""
    path = Path(named) if named else home / SCHEMA_FILE
    return load_schema(path) if named or path.is_file() else default_schema()


def default_text() -> str:
    """The default schema as a file to edit."""
    return _DEFAULT.read_text(encoding="utf-8")


def load_schema(path: Path | str) -> KeySchema:
    """The key schema of a YAML file."""
    place, root = str(path), read_yaml(path, _SCHEMA)
    return _parsed(value_of(place, root, _SCHEMA) if root else None, place, root)


def read_schema(given: Mapping[str, Any] | KeySchema) -> KeySchema:
    """The key schema of plain values, as Python or Dagster's configuration gives them.

    Examples:
        >>> schema = read_schema({"types": ["person", {"name": "revenue", "kind": "number", "unit": "CNY"}]})
        >>> [each.name for each in schema.types]
        ['person', 'revenue']

    Raises:
        SettingsError: If it is wrong; the message names the place, the value and what is allowed.
    """
    return given if isinstance(given, KeySchema) else _parsed(given, "schema", None)


def _parsed(given: Any, place: str, root: yaml.Node | None) -> KeySchema:  # noqa: ANN401  any YAML
    if not isinstance(given, Mapping) or not isinstance(given.get("types"), list | tuple):
        raise SettingsError(
            f"{place}: a schema is `types:` with a list such as `- person`, got {shown(given)}; {_NEXT}"
        )
    try:
        return KeySchema.model_validate(_with_whole_types(given))
    except ValidationError as error:
        faults = [fault for fault in error.errors() if not (fault["type"] == "too_short" and fault["input"])]
        raise SettingsError("; ".join(_fault(place, root, fault) for fault in faults[:3])) from None


def _with_whole_types(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values with every type that is a mere name replaced by the type of that name."""
    known = {each.name: each for each in _default_types()}
    listed = [_whole(each, known) for each in given["types"]]
    known |= {each["name"]: each for each in listed if isinstance(each, Mapping) and isinstance(each.get("name"), str)}
    sources = given.get("sources")
    if isinstance(sources, Mapping):
        sources = {
            str(source): [_whole(each, known) for each in own] if isinstance(own, list | tuple) else own
            for source, own in sources.items()
        }
    return {**given, "types": listed, **({"sources": sources} if sources else {})}


def _default_types() -> Sequence[KeyType]:
    return default_schema().types


def _whole(given: object, known: Mapping[str, Any]) -> object:
    return known.get(given, given) if isinstance(given, str) else given


def _fault(place: str, root: yaml.Node | None, fault: Any) -> str:  # noqa: ANN401  a dict of pydantic's own type
    """One fault of a schema: where it is, what was given, and what is allowed."""
    steps = [step for step in fault["loc"] if step != "[key]"]
    line = _line_of(root, steps)
    where = f"{place}{f' line {line}' if line else ''}: {'.'.join(map(str, steps)) or 'schema'}"
    if fault["type"] == "extra_forbidden":
        fields = KeyType.model_fields if len(steps) > 1 else KeySchema.model_fields
        return f"{where} is none of {', '.join(fields)}{nearest(steps[-1], fields)}"
    if fault["type"] == "literal_error":
        known = [each.strip(" '") for each in fault["ctx"]["expected"].replace(" or ", ",").split(",")]
        return f"{where}: {shown(fault['input'])} is none of {', '.join(known)}{nearest(fault['input'], known)}"
    if fault["type"] == "model_type":
        known = [each.name for each in _default_types()]
        return (
            f"{where}: {shown(fault['input'])} is no type; write its fields, such as `- name: revenue`, or one of "
            f"{', '.join(known)}{nearest(fault['input'], known)}"
        )
    said = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {said}" + ("" if fault["type"] == "value_error" else f", got {shown(fault['input'])}")


def _line_of(root: yaml.Node | None, steps: Sequence[Any]) -> int:
    """The line of a place in a file; of a field that is not there, that of what lacks it."""
    node = root
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        else:
            inner = None
        if inner is None:
            break
        node = inner
    return node.start_mark.line + 1 if node else 0
