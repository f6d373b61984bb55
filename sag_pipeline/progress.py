"""The progress of a run: steps report documents and the one under way, the command line listens and shows them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

AnyItem = TypeVar("AnyItem")


class ProgressListener(Protocol):
    """Receives the progress of all steps of a run."""

    def __call__(self, step: str, done: int, total: int, item: str = "") -> None:
        """`done` of `total` documents are processed, and `item` is under way; `total` is 0 while it is unknown."""
        ...


def _ignore(step: str, done: int, total: int, item: str = "") -> None:
    """Ignore progress."""


_listener: ContextVar[ProgressListener] = ContextVar("listener", default=_ignore)


@contextmanager
def listening(listener: ProgressListener) -> Iterator[None]:
    """Report the progress of all steps that run in this context to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


_gauges: ContextVar[dict[str, Callable[[], float]] | None] = ContextVar("gauges", default=None)


@contextmanager
def measured() -> Iterator[dict[str, Callable[[], float]]]:
    """The figures, by name, that what runs in this context offers while it runs; who measures around it sees them."""
    gauges = _gauges.get()
    gauges = {} if gauges is None else gauges
    gauges.clear()
    token = _gauges.set(gauges)
    try:
        yield gauges
    finally:
        _gauges.reset(token)


def offer(**figures: Callable[[], float]) -> None:
    """Offer figures, such as tokens so far, to whoever shows the progress of this context."""
    gauges = _gauges.get()
    if gauges is not None:
        gauges.update(figures)


def listener() -> ProgressListener:
    """The listener of this context; it ignores progress by default."""
    return _listener.get()


def reported(
    items: Iterable[AnyItem], step: str, name: Callable[[AnyItem], str], done: int = 0, total: int = 0
) -> Iterator[AnyItem]:
    """The items, each reported to the listener as under way when it is taken.

    Args:
        items: What a step processes one by one.
        step: Name of the step.
        name: An item's name for people: its path or id.
        done: Items processed before these.
        total: Items of the step in all; 0: unknown.

    """
    report = listener()
    for count, item in enumerate(items, done):
        report(step, count, total, name(item))
        yield item
