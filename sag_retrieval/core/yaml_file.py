"""YAML files that people write: bounded, without aliases, with the line of every fault."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sag_retrieval.core.errors import SettingsError, shown

_DATES: Final = "tag:yaml.org,2002:timestamp"
_DEEPEST: Final = 20
"""Levels; no file of ours needs half of them, and the reader of PyYAML calls itself once a level."""


@dataclass(frozen=True, slots=True)
class YamlKind:
    """A kind of file: what messages call it, and what is in it."""

    name: str
    holds: str
    longest: int
    """Bytes."""
    loader: type[yaml.SafeLoader | yaml.BaseLoader]
    """`BaseLoader` leaves every scalar a text, `SafeLoader` reads numbers, truth values and dates."""


def read_yaml(path: Path | str, kind: YamlKind) -> yaml.Node | None:
    """The nodes of a file; nothing if it is empty.

    Raises:
        SettingsError: If it cannot be read, is longer than allowed, nested too deeply, no YAML, or has an alias, by
            which a short file holds a huge value.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(kind.longest + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise SettingsError(f"{kind.name} {str(path)!r} cannot be read: {error}; it is {kind.holds}") from error
    if len(content) > kind.longest:
        raise SettingsError(f"{kind.name} {str(path)!r} is longer than {kind.longest:,} bytes; it is {kind.holds}")
    try:
        _check(str(path), text, kind)
        root: yaml.Node | None = yaml.compose(text, kind.loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise SettingsError(f"{at_line(path, mark.line + 1 if mark else 1)}: not YAML: {problem}") from None
    return root


def pairs(path: Path | str, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    """Names and values of a mapping, each given once."""
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise SettingsError(f"{at_line(path, line_of(key))}: a name must be text")
        if key.value in seen:
            raise SettingsError(f"{at_line(path, line_of(key))}: {shown(key.value)} is given twice; give it once")
        seen.add(key.value)
        yield key.value, value


def value_of(path: Path | str, node: yaml.Node, kind: YamlKind) -> Any:  # noqa: ANN401  any JSON
    """The value of a node as JSON has it; a date stays text."""
    if isinstance(node, yaml.MappingNode):
        return {name: value_of(path, inner, kind) for name, inner in pairs(path, node)}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(path, inner, kind) for inner in node.value]
    if node.tag == _DATES:
        return node.value
    try:
        return kind.loader("").construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise SettingsError(f"{at_line(path, line_of(node))}: {shown(node.value)} cannot be read: {problem}") from None


def line_of(node: yaml.Node | None) -> int:
    """The line where a node begins, from 1."""
    return node.start_mark.line + 1 if node is not None else 1


def at_line(path: Path | str, line: int) -> str:
    """A place in a file, as messages begin."""
    return f"{path} line {line}"


def _check(path: str, text: str, kind: YamlKind) -> None:
    depth = 0
    for event in yaml.parse(text, kind.loader):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) cannot be used here", problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            line = event.start_mark.line + 1
            raise SettingsError(f"{at_line(path, line)}: nested more than {_DEEPEST} levels deep; it is {kind.holds}")
