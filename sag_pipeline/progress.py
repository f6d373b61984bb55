"""The progress of a run: steps report documents and the one under way, the command line listens and shows them."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
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
    """The items, each reported to the listener as under way when it is taken."""
    report = listener()
    for count, item in enumerate(items, done):
        report(step, count, total, name(item))
        yield item


@dataclass(slots=True)
class Pace:
    """How far the work under way is, as it was reported last, and since when."""

    started: float = field(default_factory=time.monotonic)
    at: tuple[str, int, int, str] = ("", 0, 0, "")
    """Step, done, in all, and the item under way."""
    first: tuple[int, float] = (0, 0.0)
    """How much of this step was done when it began to report, and when that was."""

    def take(self, step: str, done: int, total: int, item: str = "") -> None:
        """Take what a step reports (see `ProgressListener`)."""
        if step != self.at[0]:
            self.first = (done, time.monotonic())
        self.at = (step, done, total, item)

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return time.monotonic() - self.started

    @property
    def per_second(self) -> float:
        """How fast this step is done."""
        _, done, _, _ = self.at
        before, since = self.first
        seconds = time.monotonic() - (since or self.started)
        return (done - before) / seconds if seconds > 0 else 0.0


@contextmanager
def told_every(seconds: float, tell: Callable[[Pace, Mapping[str, Callable[[], float]]], None]) -> Iterator[None]:
    """Tell at a steady pace how far the work within this context is, with the figures that it offers.

    By a thread of its own: what takes long (a model, a sort, a clustering) reports nothing meanwhile. Who listened
    before still hears.
    """
    pace, ended, outer = Pace(), threading.Event(), listener()

    def progress(step: str, done: int, total: int, item: str = "") -> None:
        pace.take(step, done, total, item)
        outer(step, done, total, item)

    def run(gauges: Mapping[str, Callable[[], float]]) -> None:
        while not ended.wait(seconds):
            tell(pace, gauges)

    with measured() as gauges, listening(progress):
        thread = threading.Thread(target=run, args=[gauges], name="sag-told", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
