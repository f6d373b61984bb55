"""Requests that share a call: short passages one by one would pay for the instructions again and again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.protocols import AnswerT, Request, Usage

LOOK_AHEAD = 256
"""Requests that a group waits for others of its kind; answers are handed out in order, so nobody waits longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """How much is asked together; larger is cheaper, smaller reads closer. `parts=1`: nothing is."""

    parts: int = 12
    characters: int = 3_000

    def __post_init__(self) -> None:
        """Refuse bounds that let nothing through."""
        if self.parts < 1 or self.characters < 1:
            raise SettingsError(f"parts={self.parts} and characters={self.characters} must be at least 1")


def batch_parts(
    requests: Iterable[Request[AnswerT]], is_kept: Callable[[Request[AnswerT]], bool], bounds: BatchLimits
) -> Iterator[list[tuple[int, Request[AnswerT]]]]:
    """The requests with their places, those of one kind together within the bounds; kept ones and loners alone.

    Source:
        docs/algorithm.md §extraction.25.

    """
    held: dict[str, list[tuple[int, Request[AnswerT]]]] = {}
    for place, request in enumerate(requests):
        part = None if is_kept(request) else request.part
        if part is None:
            yield [(place, request)]
            continue
        group = held.setdefault(part.kind, [])
        size = part.size + sum(one.part.size for _, one in group if one.part)
        if group and (len(group) >= bounds.parts or size > bounds.characters):
            yield group
            held[part.kind] = [(place, request)]
        else:
            group.append((place, request))
        for kind, waiting in list(held.items()):
            if place - waiting[0][0] >= LOOK_AHEAD:
                yield held.pop(kind)
    yield from held.values()


def split_shares(usage: Usage, weights: Sequence[int]) -> list[Usage]:
    """A usage divided by weight, its tokens exactly; the call counts for the first."""
    total = max(1, sum(weights))
    found: list[Usage] = []
    given = Usage()
    for place, weight in enumerate(weights):
        is_last = place == len(weights) - 1
        sent = usage.input_tokens - given.input_tokens if is_last else usage.input_tokens * weight // total
        received = usage.output_tokens - given.output_tokens if is_last else usage.output_tokens * weight // total
        own = Usage(usage.calls if place == 0 else 0, 0, sent, received, usage.seconds * weight / total)
        found.append(own)
        given += own
    return found
