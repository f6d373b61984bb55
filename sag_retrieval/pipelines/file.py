"""A pipeline in a YAML file: its stages with their options, checked before anything runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import yaml

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.public import public
from sag_retrieval.pipelines.catalogue import ASKS_MODEL, FINDS, MAIN_OPTION, Measures, PipelineStages, Resources
from sag_retrieval.rag.stages import Pipeline, Stage

STAGES: Final = tuple(each.name for each in fields(PipelineStages))
"""Names of stages, in the order in which most pipelines have them."""
_LONGEST_FILE = 100_000
_MOST_STAGES = 100
_LISTED: Final = "`sag settings --options pipeline` lists stages and options"
_DATES: Final = "tag:yaml.org,2002:timestamp"


@public
@dataclass(frozen=True, slots=True)
class StageEntry:
    """One stage of a file: its name, its options and its line."""

    name: str
    options: Mapping[str, Any]
    line: int


@public
@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A pipeline read from a file and checked; `release.run(pipeline, question)` runs it."""

    path: str
    entries: tuple[StageEntry, ...]

    @property
    def uses_model(self) -> bool:
        """Whether a stage asks the language model, if there is one."""
        return any(entry.name in ASKS_MODEL for entry in self.entries)

    @property
    def measures(self) -> tuple[str, ...]:
        """What `evaluate` names; every measure without it."""
        named = [stage.measures for stage in _stages(self, Resources()) if isinstance(stage, Measures)]
        return tuple(dict.fromkeys(name for names in named for name in names)) or Measures().measures


def load_pipeline(path: Path | str) -> PipelineFile:
    """Read a pipeline from a YAML file: `stages`, a list of names, each with its options.

    Examples:
        >>> load_pipeline("examples/pipeline.yaml").measures
        ('recall', 'exact_match', 'f1', 'retrieval_recall', 'latency')

    Args:
        path: The file.

    Raises:
        SettingsError: If it cannot be read, is not such a list, or names an unknown stage or option or a value out of
            bounds; the message says the line, and the nearest name.

    """
    name = str(path)
    entries = tuple(_entry(name, node) for node in _stage_nodes(name, _read(name)))
    _check_order(name, entries)
    found = PipelineFile(name, entries)
    _stages(found, Resources())
    return found


def bind_pipeline(pipeline: PipelineFile, resources: Resources) -> Pipeline:
    """The stages of a pipeline over a release and a model, with the options of the file."""
    return Pipeline(_stages(pipeline, resources))


def _stages(pipeline: PipelineFile, resources: Resources) -> list[Stage]:
    usual = PipelineStages.bound(resources)
    return [_stage(pipeline.path, entry, usual) for entry in pipeline.entries]


def _stage(path: str, entry: StageEntry, usual: PipelineStages) -> Stage:
    given = {entry.name: entry.options} if entry.options else {}
    try:
        found: Stage = getattr(build_options(PipelineStages, given, what="pipeline", base=usual), entry.name)
    except (SettingsError, QueryError) as error:
        raise SettingsError(f"{_place(path, entry.line)}: {error}") from error
    return found


def _read(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LONGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise SettingsError(f"pipeline {path!r} cannot be read: {error}") from error
    if len(content) > _LONGEST_FILE:
        raise SettingsError(f"pipeline {path!r} is longer than {_LONGEST_FILE:,} bytes; it is a list of a few stages")
    return text


def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text by the safe loader, without aliases, which let a short file hold a huge value."""
    alias = next((event for event in yaml.parse(text, yaml.SafeLoader) if isinstance(event, yaml.AliasEvent)), None)
    if alias is not None:
        raise yaml.MarkedYAMLError(problem="aliases (*name) cannot be used here", problem_mark=alias.start_mark)
    found: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    return found


def _stage_nodes(path: str, text: str) -> list[yaml.Node]:
    try:
        root = _composed(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise SettingsError(f"{_place(path, mark.line + 1 if mark else 1)}: not YAML: {problem}") from None
    except RecursionError:
        raise SettingsError(f"pipeline {path!r} is nested too deeply; it is a list of a few stages") from None
    top = dict(_pairs(path, root)) if isinstance(root, yaml.MappingNode) else {}
    unknown = next((name for name in top if name != "stages"), None)
    if unknown is not None:
        line = _line(top[unknown])
        raise SettingsError(f"{_place(path, line)}: {shown(unknown)} is unknown here; a pipeline has `stages` alone")
    listed = top.get("stages")
    if not isinstance(listed, yaml.SequenceNode) or not 0 < len(listed.value) <= _MOST_STAGES:
        raise SettingsError(
            f"{_place(path, _line(listed or root))}: a pipeline is `stages:` with a list of 1 to {_MOST_STAGES} "
            "stages, such as `- retrieve`"
        )
    return list(listed.value)


def _entry(path: str, node: yaml.Node) -> StageEntry:
    if isinstance(node, yaml.ScalarNode):
        name, given = node.value, None
    else:
        pairs = list(_pairs(path, node)) if isinstance(node, yaml.MappingNode) else []
        if len(pairs) != 1:
            raise SettingsError(
                f"{_place(path, _line(node))}: a stage is a name, such as `- prompt`, or one name with options, such "
                "as `- retrieve: {top_k: 20}`"
            )
        name, given = pairs[0]
    if name not in STAGES:
        raise SettingsError(
            f"{_place(path, _line(node))}: there is no stage {shown(name)}{nearest(name, STAGES)}; {_LISTED}"
        )
    value = _value(path, given) if given is not None else None
    options = value if isinstance(value, dict) else {} if value is None else {MAIN_OPTION[name]: value}
    return StageEntry(name, options, _line(node))


def _value(path: str, node: yaml.Node) -> Any:  # noqa: ANN401  any JSON
    """The value of a node as JSON has it: a date stays text."""
    if isinstance(node, yaml.MappingNode):
        return {name: _value(path, inner) for name, inner in _pairs(path, node)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(path, inner) for inner in node.value]
    if node.tag == _DATES:
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise SettingsError(f"{_place(path, _line(node))}: {shown(node.value)} cannot be read: {problem}") from None


def _pairs(path: str, node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise SettingsError(f"{_place(path, _line(key))}: a name must be text")
        if key.value in seen:
            raise SettingsError(f"{_place(path, _line(key))}: {shown(key.value)} is given twice; give it once")
        seen.add(key.value)
        yield key.value, value


def _check_order(path: str, entries: tuple[StageEntry, ...]) -> None:
    first = entries[0]
    if first.name not in FINDS:
        raise SettingsError(
            f"{_place(path, first.line)}: `{first.name}` has no documents to read; "
            f"begin with {' or '.join(f'`- {name}`' for name in FINDS)}"
        )


def _line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node is not None else 1


def _place(path: str, line: int) -> str:
    return f"{path} line {line}"
