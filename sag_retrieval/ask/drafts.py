"""What a model writes when it plans or names keys, before anything is checked."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

LONGEST_QUESTION = 1000
LONGEST_KEY = 120
MOST_KEYS = 12
"""Bounds of what a model may send into a search: characters, characters, keys."""


class NamedKey(BaseModel):
    """Something a search may start from; a bare text is a value without a type."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class DraftPlan(BaseModel):
    """The model's plan, unchecked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    thinking: str = Field(default="", description="the question taken apart, in a few words; written first")
    nodes: list[Node]
    edges: list[Edge] = Field(default_factory=list)


def usable_keys(keys: Iterable[NamedKey]) -> tuple[str, ...]:
    """Values of keys, each once; blank and over-long ones, and what is over their number, are left out."""
    values = (key.value.strip() for key in keys)
    return tuple(dict.fromkeys(v for v in values if 0 < len(v) <= LONGEST_KEY))[:MOST_KEYS]
