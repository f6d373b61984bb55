"""Group requests to a language model that can share a call, within limits."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, Self, TypeVar

from sag_retrieval.core.options import Bounds, CheckedOptions
from sag_retrieval.models.protocols import AnswerT, Part, Request

LOOK_AHEAD = 256
"""Requests that a group waits for more of its kind; answers are returned in order, so no other request waits longer."""
OPEN_GROUPS = 4
"""Groups of one kind and source that a request may join."""
_WHOLE = 1 + 1e-9
"""Weights are shares, whose sum in floating point may be a little more than 1."""

RequestGroup = list[tuple[int, Request[AnswerT]]]
"""Requests asked together, each with its position among all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits(CheckedOptions):
    """How many passages, or groups of events, one call to the language model asks about."""

    parts: Annotated[int, Bounds(1)] = 20
    """Passages, or chunks with events, that one call asks about: more are cheaper, fewer are read more closely."""
    tokens: Annotated[int, Bounds(1)] = 2_500
    """Tokens of the passages or events in one call; a longer passage is asked about alone."""
    mixed_sources: bool = False
    """Let documents of different sources share a call: cheaper where many sources have a few short documents each, but
    what a text says to the model is then read next to texts of others."""


class Numbered(Protocol):
    """An answer about an event, as a frozen pydantic model."""

    @property
    def event(self) -> int:
        """Number of the event."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values."""


NumberedT = TypeVar("NumberedT", bound=Numbered)


def answers_of_parts(sizes: Iterable[int], answers: Sequence[NumberedT]) -> Iterator[list[NumberedT]]:
    """The answers about each part of a question that numbered the events of all its parts, numbered from 1 again.

    Args:
        sizes: Count of events of each part.
        answers: What was answered about all of them.

    """
    first = 1
    for size in sizes:
        own = [one for one in answers if first <= one.event < first + size]
        yield [one.model_copy(update={"event": one.event - first + 1}) for one in own]
        first += size


def batch_parts(
    requests: Iterable[Request[AnswerT]], is_cached: Callable[[Request[AnswerT]], bool], limits: BatchLimits
) -> Iterator[RequestGroup[AnswerT]]:
    """Group the requests of one kind and source within the limits; cached ones and those without a part stay alone.

    Yields groups of requests, each request with its position. A request joins the first open group that it fits in, so
    that a long one does not end a group which shorter ones can still fill.

    Source:
        docs/algorithm.md §extraction.25.

    """
    held: dict[tuple[str, str], list[_OpenGroup]] = {}
    for place, request in enumerate(requests):
        part = None if is_cached(request) else request.part
        if part is None:
            yield [(place, request)]
            continue
        groups = held.setdefault((part.kind, "" if limits.mixed_sources else part.source), [])
        if not any(group.takes(place, request, part, limits) for group in groups):
            groups.append(_OpenGroup([(place, request)], part.size, part.weight))
        if len(groups) > OPEN_GROUPS:
            yield groups.pop(0).requests
        for waiting in held.values():
            while waiting and place - waiting[0].requests[0][0] >= LOOK_AHEAD:
                yield waiting.pop(0).requests
    yield from (group.requests for groups in held.values() for group in groups)


@dataclass(slots=True)
class _OpenGroup:
    """A group that further requests may join."""

    requests: RequestGroup[Any]
    size: int
    weight: float

    def takes(self, place: int, request: Request[Any], part: Part, limits: BatchLimits) -> bool:
        """Add one more request, if it fits."""
        size, weight = self.size + part.size, self.weight + part.weight
        if len(self.requests) >= limits.parts or size > limits.tokens or weight > _WHOLE:
            return False
        self.requests.append((place, request))
        self.size, self.weight = size, weight
        return True
