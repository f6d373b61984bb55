"""The engine that a setting names."""

import atexit
import os
from collections.abc import Callable
from concurrent.futures import Executor
from pkgutil import resolve_name
from typing import Final

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.tasks import Engine
from sag_retrieval.core.errors import SettingsError

_FEWEST_DOCUMENTS: Final = 64
"""With fewer pending documents, starting processes costs more than they save."""


LOCAL: Final = Engine()
"""Does all work in this process."""
EngineFor = Callable[[int], Engine]
"""The engine for a number of pending documents."""
_open: dict[tuple[object, ...], Engine] = {}
"""Engines of this process by setting: starting one takes seconds, and each step of a run needs it."""


def here(_: int) -> Engine:
    """No workers."""
    return LOCAL


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


def engine_for(setting: str, pending: int, bounds: WorkerBounds | None = None) -> Engine:
    """The engine that `SAG_ENGINE` names, for a step with this number of pending documents."""
    kind, _, detail = setting.partition(":")
    workers = workers_for(setting, pending)
    if kind not in _FAR and (kind == "local" or workers == 1):
        return LOCAL
    place = (os.getpid(), kind, detail if kind in _FAR else workers, bounds)
    if place not in _open:
        if kind in _FAR:
            _open[place] = _FAR[kind](detail, bounds)
        else:
            from sag_pipeline.engines.executors import ProcessEngine  # noqa: PLC0415  only where it is used

            _open[place] = ProcessEngine(workers, bounds)
    return _open[place]


def load_ahead(setting: str, pending: int) -> None:
    """Let worker processes of this machine load the rules while this number of documents is read."""
    if pending and setting.partition(":")[0] not in _FAR and workers_for(setting, pending) > 1:
        from sag_pipeline.engines import executors  # noqa: PLC0415  only where it is used

        executors.load_ahead()


def _ray(address: str, bounds: WorkerBounds | None) -> Engine:
    from sag_pipeline.engines.ray_engine import RayEngine  # noqa: PLC0415  an extra

    return RayEngine(address, bounds)


def _executor(place: str, bounds: WorkerBounds | None) -> Engine:
    """The engine of an executor that a function `module:function` makes.

    Raises:
        SettingsError: If there is no such function.
    """
    from sag_pipeline.engines.executors import WINDOW_PER_WORKER, ExecutorEngine  # noqa: PLC0415  only where it is used

    try:
        start = resolve_name(place)
        executor: Executor = start()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise SettingsError(
            f"SAG_ENGINE=executor:{place}: {error}; name a function without arguments as `module:function` that "
            "returns a `concurrent.futures.Executor`"
        ) from error
    window = WINDOW_PER_WORKER * int(getattr(executor, "_max_workers", cores()))
    first = [executor]
    return ExecutorEngine(lambda: first.pop() if first else start(), window, bounds=bounds)


_FAR: Final = {"ray": _ray, "executor": _executor}
"""Engines that know themselves how many workers they have."""


@atexit.register
def close_engines() -> None:
    """End the processes of all engines of this process."""
    for (owner, *_), engine in list(_open.items()):
        if owner == os.getpid():
            engine.close()
    _open.clear()
