"""What asking knows of a release besides its search: term weights, joined passages, evidence lines, vocabulary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sag_retrieval.ask.evidence import evidence_lines
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.passages import join_passages
from sag_retrieval.ask.question import TermWeights, release_weights
from sag_retrieval.ask.vocabulary import vocabulary_lines, within_tokens
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.segments import SegmentOptions

if TYPE_CHECKING:
    from sag_retrieval.llm_writing.themes import Themes


@dataclass(frozen=True)
class ReleaseContext:
    """An index, read where an answer needs more of it than what a search returns; made once per release."""

    index: Index
    themes: "Callable[[], Themes] | None" = None
    """The themes of the events that the question is about."""
    schema: KeySchema | None = None
    """The key types of the release where they are not the default ones."""

    @cached_property
    def weigh(self) -> TermWeights:
        """The idf of index terms."""
        return release_weights(self.index)

    def joined(
        self, rankings: Sequence[Sequence[FoundPassage]], options: SegmentOptions, characters: int
    ) -> tuple[FoundPassage, ...]:
        """The segments of several searches of this release, and the passages that lie in none."""
        return join_passages(self.index, rankings, options, characters)  # type: ignore[arg-type]  # hits of this release

    def lines(self, hits: Sequence[FoundPassage]) -> list[dict[str, object]]:
        """Passages as a model is shown them, numbered from 1."""
        return list(evidence_lines(self.index, hits))

    def vocabulary(self, tokens: int) -> str:
        """Tables, key types, units and example values, in at most this number of tokens (estimated)."""
        return within_tokens(self._vocabulary, tokens)

    @cached_property
    def _vocabulary(self) -> tuple[dict[str, Any], ...]:
        return vocabulary_lines(self.index, self.schema)
