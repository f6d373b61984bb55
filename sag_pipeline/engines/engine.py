"""What an engine is, and the engine that a setting names."""

import atexit
import os
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from sag_pipeline.work import Batch, Made, do_batch

_FEWEST_DOCUMENTS: Final = 64
"""With fewer pending documents, starting processes costs more than they save."""


class Engine(Protocol):
    """Does batches of rule-based work."""

    def map(self, batches: Iterable[Batch]) -> Iterator[Made]:
        """What is made of each batch, in order; a bounded number of batches is under way at a time."""
        ...

    def close(self) -> None:
        """End the processes."""
        ...


class LocalEngine:
    """Does all work in this process."""

    def map(self, batches: Iterable[Batch]) -> Iterator[Made]:
        """One batch after the other."""
        return map(do_batch, batches)

    def close(self) -> None:
        """Nothing to end."""


_LOCAL: Final = LocalEngine()
_open: dict[tuple[int, str], Engine] = {}
"""Engines of this process by setting: starting one takes seconds, and each step of a run needs it."""


def workers_for(setting: str, pending: int) -> int:
    """The number of workers on this machine that `SAG_ENGINE` means, for this number of pending documents.

    Examples:
        >>> workers_for("processes:3", 10), workers_for("local", 10_000), workers_for("auto", 1)
        (3, 1, 1)

    """
    kind, _, detail = setting.partition(":")
    if kind == "local" or (kind == "auto" and pending < _FEWEST_DOCUMENTS):
        return 1
    return int(detail) if kind == "processes" and detail else cores()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine_for(setting: str, pending: int) -> Engine:
    """The engine that `SAG_ENGINE` names, for a step with this number of pending documents."""
    kind, _, address = setting.partition(":")
    workers = workers_for(setting, pending)
    if kind != "ray" and (kind == "local" or workers == 1):
        return _LOCAL
    place = (os.getpid(), f"ray:{address}" if kind == "ray" else f"processes:{workers}")
    if place not in _open:
        _open[place] = _ray(address) if kind == "ray" else _processes(workers)
    return _open[place]


def _ray(address: str) -> Engine:
    from sag_pipeline.engines.ray_engine import RayEngine  # noqa: PLC0415  an extra

    return RayEngine(address)


def _processes(workers: int) -> Engine:
    from sag_pipeline.engines.executors import ProcessEngine  # noqa: PLC0415  only where it is used

    return ProcessEngine(workers)


@atexit.register
def close_engines() -> None:
    """End the processes of all engines of this process."""
    for (owner, _), engine in list(_open.items()):
        if owner == os.getpid():
            engine.close()
    _open.clear()
