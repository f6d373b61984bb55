"""Items in batches of a size."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

ItemT = TypeVar("ItemT")


def batched(items: Iterable[ItemT], size: int) -> Iterator[tuple[ItemT, ...]]:
    """Batches of `size` items in order, the last one perhaps smaller; of lazy items one batch is held at a time.

    As `itertools.batched`, which Python 3.11 lacks.

    Example:
        >>> list(batched("abcde", 2))
        [('a', 'b'), ('c', 'd'), ('e',)]

    """
    rest = iter(items)
    while batch := tuple(islice(rest, size)):
        yield batch
