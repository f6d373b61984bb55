"""Texts that are cleaned when they are read."""

from collections.abc import Callable, Sequence
from typing import overload


class Cleaned(Sequence[str]):
    """Texts that are cleaned when they are asked for, once: of a large release few are."""

    def __init__(self, texts: Sequence[str], change: Callable[[str], str]) -> None:
        """Hold the texts, and what cleans one."""
        self._texts, self._change, self._done = texts, change, dict[int, str]()

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place not in self._done:
            self._done[place] = self._change(self._texts[place])
        return self._done[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))
