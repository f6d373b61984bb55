"""Paths through the knowledge graph as results show them, with names and ids."""

from dataclasses import dataclass

from sag_retrieval.core.public import public


@public
@dataclass(frozen=True, slots=True)
class PathStep:
    """One edge of a path through the knowledge graph, and the statement of a document that it comes from.

    Without a relation it is no triple: the statement names both.
    """

    head: str
    relation: str
    tail: str
    document_id: str
    event_id: str
    triple_id: str = ""

    @property
    def text(self) -> str:
        """The step as text: `A -[relation]-> B`, or `A -- B` without a relation."""
        return f"{self.head} {f'-[{self.relation}]->' if self.relation else '--'} {self.tail}"


@public
@dataclass(frozen=True, slots=True)
class HitPath:
    """A path from an entity of the question to a statement of the hit's document."""

    text: str
    """`A -[relation]-> B <-[relation]- C`; an arrow has the direction of its triple."""
    score: float
    steps: tuple[PathStep, ...]


@public
@dataclass(frozen=True, slots=True)
class GraphEvidence:
    """Paths to a document, and the triples on them that it states."""

    paths: tuple[HitPath, ...]
    triples: tuple[PathStep, ...]
