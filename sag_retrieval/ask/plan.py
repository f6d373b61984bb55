"""Check and repair a model's plan: unique ids, known edges, no cycle, at most the allowed number of nodes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import count
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sag_retrieval.models.protocols import AnswerShape

LONGEST_QUESTION = 1000
LONGEST_KEY = 120
MOST_KEYS = 12
"""Bounds of a model's input to a search: characters, characters, keys."""


class NamedKey(AnswerShape):
    """Something a search may start from; a bare text is a value without a type."""

    type: str = ""
    value: str


def keys_from_texts(keys: Any) -> Any:  # noqa: ANN401  any JSON
    """Keys as a model wrote them, with bare texts as values; none for null."""
    if not isinstance(keys, list):
        return [] if keys is None else keys
    return [{"value": key} if isinstance(key, str) else key for key in keys]


class Node(BaseModel):
    """One sub-question as the model wrote it."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    id: str = ""
    question: str = ""
    keys: list[NamedKey] = Field(default_factory=list)
    sql: str = ""

    _texts = field_validator("keys", mode="before")(keys_from_texts)


class Edge(BaseModel):
    """`target` needs the answer of `source`."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    source: str
    target: str
    description: str = ""


class DraftPlan(AnswerShape):
    """The model's plan, unchecked."""

    thinking: str = Field(default="", description="the question taken apart, in a few words; written first")
    nodes: list[Node]
    edges: list[Edge] = Field(default_factory=list)


def usable_keys(keys: Iterable[NamedKey]) -> tuple[str, ...]:
    """Values of keys, each once; blank and over-long ones, and those beyond the allowed number, are left out."""
    values = (key.value.strip() for key in keys)
    return tuple(dict.fromkeys(v for v in values if 0 < len(v) <= LONGEST_KEY))[:MOST_KEYS]


_MARK = re.compile(r"[#＃]\s*\{?([A-Za-z]*\d+(?:[_.]\d+)*)\}?|\{([A-Za-z]+\d+)\}")

MOST_NODES, MOST_EDGES = 100, 400
"""Bounds of a plan; checking an edge for a cycle walks over all of them."""


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A checked sub-question and the ids of those whose answers it needs, earlier rounds included."""

    node_id: str
    question: str
    needs: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    sql: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in an order in which each comes after what it needs; `notes` list the repairs."""

    steps: tuple[SubQuestion, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Repair:
    """The draft during its repair."""

    known: Mapping[str, None]
    nodes: dict[str, Node] = field(default_factory=dict)
    needs: dict[str, list[str]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def check_plan(draft: DraftPlan, *, question: str, limit: int, known: Iterable[str] = ()) -> Plan:
    """A plan in the order of execution, whatever the model wrote; `question` is its single step without a usable node.

    Blank nodes, edges to unknown ids or to themselves, and edges that close a cycle are left out; a `#id` inside a
    question counts as an edge. Ids known from earlier rounds may be needed; a node that takes one gets a new id.

    Source: docs/algorithm.md §rag.3.
    """
    repair = _Repair(dict.fromkeys(known))
    if len(draft.nodes) > MOST_NODES or len(draft.edges) > MOST_EDGES:
        repair.notes.append(f"{len(draft.nodes)} nodes and {len(draft.edges)} edges: the rest is left out")
    _take_nodes(repair, draft.nodes[:MOST_NODES])
    if not repair.nodes:
        return single_step(question, "the plan has no usable node", repair.known)
    for edge in draft.edges[:MOST_EDGES]:
        _take_edge(repair, _id(repair, edge.source), _id(repair, edge.target))
    for target, node in repair.nodes.items():
        for mark in marks(node.question):
            _take_edge(repair, _id_of_mark(repair, mark), target)
    order = _order(repair.nodes, repair.needs)
    if len(order) > limit:
        repair.notes.append(f"{len(order)} nodes, over the limit of {limit}: the first {limit} are kept")
    return Plan(tuple(_step(repair, node_id) for node_id in order[:limit]), tuple(repair.notes))


def single_step(question: str, note: str, known: Iterable[str] = ()) -> Plan:
    """The whole question as the only step, with the reason."""
    return Plan((SubQuestion(_free("q1", set(known)), question),), (note,))


def marks(question: str) -> list[str]:
    """Ids written as `#q1` or `{q1}` in a question, each once."""
    return list(dict.fromkeys(found[1] or found[2] for found in _MARK.finditer(question)))


def fill(question: str, values: Mapping[str, str]) -> str:
    """The question with every mark replaced by its value; a mark without one is dropped.

    Examples:
        >>> fill("When was #q1 founded by {q2}?", {"q1": "Apple"})
        'When was Apple founded by ?'
    """
    lowered = {name.lower(): value for name, value in values.items()}

    def value(found: re.Match[str]) -> str:
        mark = (found[1] or found[2]).lower()
        return lowered.get(mark, lowered.get(f"q{mark}", ""))

    return " ".join(_MARK.sub(value, question).split())


def rename_marks(question: str, rename: Callable[[str], str]) -> str:
    """The question with the id of every mark renamed."""
    return _MARK.sub(lambda found: f"#{rename(found[1] or found[2])}", question)


def _take_nodes(repair: _Repair, nodes: Sequence[Node]) -> None:
    taken = set(repair.known)
    for number, node in enumerate(nodes, start=1):
        if not node.question.strip():
            repair.notes.append(f"node {node.id or number} has no question: left out")
            continue
        wanted = node.id.strip().lstrip("#") or f"q{number}"
        if wanted in repair.nodes and repair.nodes[wanted].question == node.question:
            repair.notes.append(f"node {wanted} is repeated: the second one is left out")
            continue
        node_id = _free(wanted, taken)
        if node_id != wanted:
            repair.notes.append(f"id {wanted} is taken: {node_id} instead")
        repair.renamed.setdefault(wanted, node_id)
        taken.add(node_id)
        repair.nodes[node_id] = node
        repair.needs[node_id] = []


def _take_edge(repair: _Repair, source: str, target: str) -> None:
    fault = ""
    if target not in repair.nodes or (source not in repair.nodes and source not in repair.known):
        fault = "an end is unknown"
    elif source == target:
        fault = "it points to itself"
    elif source in repair.needs[target]:
        return
    elif source in repair.nodes and _closes_cycle(repair.needs, source, target):
        fault = "it closes a cycle"
    if fault:
        repair.notes.append(f"edge {source} → {target} left out: {fault}")
    else:
        repair.needs[target].append(source)


def _closes_cycle(needs: Mapping[str, Sequence[str]], source: str, target: str) -> bool:
    """Whether `source` needs `target` already, directly or through others."""
    try:
        TopologicalSorter({**needs, target: [*needs[target], source]}).prepare()
    except CycleError:
        return True
    return False


def _order(nodes: Mapping[str, Node], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Ids so that each comes after those it needs; otherwise as the model listed them."""
    order: dict[str, None] = {}
    while len(order) < len(nodes):
        free = (each for each in nodes if each not in order)
        order[next(each for each in free if all(need in order or need not in nodes for need in needs[each]))] = None
    return list(order)


def _step(repair: _Repair, node_id: str) -> SubQuestion:
    node = repair.nodes[node_id]
    question = rename_marks(node.question, lambda mark: _id_of_mark(repair, mark))
    keys = usable_keys(key for key in node.keys if not marks(key.value))
    needs = tuple(repair.needs[node_id])
    return SubQuestion(node_id, question.strip()[:LONGEST_QUESTION], needs, keys, node.sql.strip())


def _id(repair: _Repair, written: str) -> str:
    bare = written.strip().lstrip("#")
    return repair.renamed.get(bare, bare)


def _id_of_mark(repair: _Repair, mark: str) -> str:
    """The id that a mark means, or that with a `q` before it where only that is one: models write `#1` for `#q1`."""
    ids = {*repair.renamed, *repair.known}
    return _id(repair, f"q{mark}" if mark not in ids and f"q{mark}" in ids else mark)


def _free(wanted: str, taken: set[str]) -> str:
    numbered = (f"q{number}" for number in count(1))
    return wanted if wanted not in taken else next(each for each in numbered if each not in taken)
