"""Options of the known keys that a model is shown, and of the waves in which it is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from sag_retrieval.core.options import Bounds, CheckedOptions, Internal


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions(CheckedOptions):
    """How many known keys are found for an event, and how many events are asked about before theirs are known."""

    direct_keys: Annotated[int, Bounds(0), Internal()] = 10
    """Known keys with the nearest vectors that are found for an event."""
    named_keys: Annotated[int, Bounds(0), Internal()] = 8
    """Known keys that are found for an event by its words and initials."""
    similar_events: Annotated[int, Bounds(0), Internal()] = 3
    """Nearest events whose keys are found for an event."""
    title: Annotated[bool, Internal()] = True
    """Whether the title of a document is shown where an event seems to spell it otherwise."""
    stored_types: bool = True
    """Whether the model may also choose types that keys of the current release have and the default schema lacks: of
    supplied events, of an earlier schema. A schema of the home's own is the whole list."""
    least_similarity: Annotated[float, Bounds(0, 1), Internal()] = 0.5
    """Least cosine of a known key or event: a model tends to choose a shown name, even a dissimilar one."""
    first_wave: Annotated[int, Bounds(0), Internal()] = 0
    """Events of the first wave; 0: as many as calls run at once. Each further wave has as many as are known already."""
    longest_wave: Annotated[int, Bounds(1), Internal()] = 1_000
    """Most events of a wave: all are asked about before the keys of any of them are known."""

    def waves(self, sizes: Sequence[int], known: int, concurrency: int) -> Iterator[slice]:
        """Questions with these numbers of events, cut into waves: a wave has at least as many events as are known.

        Args:
            sizes: Events of each question.
            known: Events that are known before.
            concurrency: Calls that run at once.

        Examples:
            >>> [part.stop - part.start for part in KnownOptions().waves([1] * 40, 0, 4)]
            [4, 4, 8, 16, 8]

        """
        start = 0
        while start < len(sizes):
            wanted, end = min(max(known, self.first_wave or concurrency), self.longest_wave), start
            while end < len(sizes) and wanted > 0:
                wanted -= sizes[end]
                known += sizes[end]
                end += 1
            yield slice(start, end)
            start = end
