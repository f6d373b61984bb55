"""A pipeline in a YAML file: its stages with their options, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import yaml

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.public import public
from sag_retrieval.core.yaml_file import YamlKind, at_line, line_of, pairs, read_yaml
from sag_retrieval.pipelines.catalogue import ASKS_MODEL, FINDS, MAIN_OPTION, Measures, PipelineStages, Resources
from sag_retrieval.rag.stages import Pipeline, Stage

STAGES: Final = tuple(each.name for each in fields(PipelineStages))
"""Names of stages, in the order in which most pipelines have them."""
_MOST_STAGES = 100
_LISTED: Final = "`sag settings --options pipeline` lists stages and options"
_PIPELINE: Final = YamlKind("pipeline", "a list of a few stages", 100_000, yaml.SafeLoader)
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
    entries = tuple(_entry(name, node) for node in _stage_nodes(name, read_yaml(path, _PIPELINE)))
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
        raise SettingsError(f"{at_line(path, entry.line)}: {error}") from error
    return found


def _stage_nodes(path: str, root: yaml.Node | None) -> list[yaml.Node]:
    top = dict(pairs(path, root)) if isinstance(root, yaml.MappingNode) else {}
    unknown = next((name for name in top if name != "stages"), None)
    if unknown is not None:
        line = line_of(top[unknown])
        raise SettingsError(f"{at_line(path, line)}: {shown(unknown)} is unknown here; a pipeline has `stages` alone")
    listed = top.get("stages")
    if not isinstance(listed, yaml.SequenceNode) or not 0 < len(listed.value) <= _MOST_STAGES:
        raise SettingsError(
            f"{at_line(path, line_of(listed or root))}: a pipeline is `stages:` with a list of 1 to {_MOST_STAGES} "
            "stages, such as `- retrieve`"
        )
    return list(listed.value)


def _entry(path: str, node: yaml.Node) -> StageEntry:
    if isinstance(node, yaml.ScalarNode):
        name, given = node.value, None
    else:
        named = list(pairs(path, node)) if isinstance(node, yaml.MappingNode) else []
        if len(named) != 1:
            raise SettingsError(
                f"{at_line(path, line_of(node))}: a stage is a name, such as `- prompt`, or one name with options, "
                "such as `- retrieve: {top_k: 20}`"
            )
        name, given = named[0]
    if name not in STAGES:
        raise SettingsError(
            f"{at_line(path, line_of(node))}: there is no stage {shown(name)}{nearest(name, STAGES)}; {_LISTED}"
        )
    value = _value(path, given) if given is not None else None
    options = value if isinstance(value, dict) else {} if value is None else {MAIN_OPTION[name]: value}
    return StageEntry(name, options, line_of(node))


def _value(path: str, node: yaml.Node) -> Any:  # noqa: ANN401  any JSON
    """The value of a node as JSON has it: a date stays text."""
    if isinstance(node, yaml.MappingNode):
        return {name: _value(path, inner) for name, inner in pairs(path, node)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(path, inner) for inner in node.value]
    if node.tag == _DATES:
        return node.value
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise SettingsError(f"{at_line(path, line_of(node))}: {shown(node.value)} cannot be read: {problem}") from None


def _check_order(path: str, entries: tuple[StageEntry, ...]) -> None:
    first = entries[0]
    if first.name not in FINDS:
        raise SettingsError(
            f"{at_line(path, first.line)}: `{first.name}` has no documents to read; "
            f"begin with {' or '.join(f'`- {name}`' for name in FINDS)}"
        )
