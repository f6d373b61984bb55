"""The engine of a Ray cluster: tasks of one core each, and actors that hold a model."""

import os
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cache, partial
from typing import Any, Final

from sag_pipeline.engines import tasks
from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.executors import WINDOW_PER_WORKER, ExecutorEngine
from sag_pipeline.engines.tasks import other_code
from sag_retrieval.core.errors import SagError, SettingsError

_PATIENCE: Final = 10
"""Seconds to wait for the port of a cluster."""
_START: Final = 120
"""Seconds to wait until each node has told its version."""
_LOCAL: Final = {"", "local"}


class RayEngine(ExecutorEngine):
    """Does batches as Ray tasks of one core each."""

    def __init__(self, address: str = "", bounds: WorkerBounds | None = None) -> None:
        """Connect to a cluster; without an address, to the one this process is connected to, else start one here.

        Raises:
            SettingsError: If Ray is not installed, nothing answers at the address, or a node has another version.
        """
        try:
            import ray  # noqa: PLC0415  an extra, and seconds to load
        except ImportError:
            raise SettingsError(
                'SAG_ENGINE=ray needs Ray: pip install "sag[ray]"; or set SAG_ENGINE=processes'
            ) from None
        _connect(ray, address)
        _check_versions(ray)
        self._ray = ray
        super().__init__(
            lambda: _Tasks(ray), WINDOW_PER_WORKER * _count(ray, "CPU"), bounds=bounds, lost=_losses(ray.exceptions)
        )

    def share(self, value: object) -> Callable[[], Any]:
        """Through the object store of the cluster, from which each node fetches it once."""
        return partial(_fetched, self._ray.put(value))

    def with_models(self) -> ExecutorEngine:
        """The same cluster with one actor per GPU, or per core where there is none: each loads a model once."""
        kind = "GPU" if self._ray.cluster_resources().get("GPU") else "CPU"
        count = _count(self._ray, kind)
        return ExecutorEngine(
            lambda: _Actors(self._ray, kind, count), WINDOW_PER_WORKER * count, lost=_losses(self._ray.exceptions)
        )


def _fetched(reference: Any) -> Any:  # noqa: ANN401  whatever is shared
    import ray  # noqa: PLC0415  an extra

    return ray.get(reference)


def _losses(gone: Any) -> tuple[type[BaseException], ...]:  # noqa: ANN401  Ray's module of exceptions
    """What a future raises whose worker or node died."""
    return (
        MemoryError,
        gone.WorkerCrashedError,
        gone.ActorDiedError,
        gone.ActorUnavailableError,
        gone.NodeDiedError,
        gone.OutOfMemoryError,
        gone.ObjectLostError,
    )


def _count(ray: Any, kind: str) -> int:  # noqa: ANN401  Ray is an extra
    return max(1, int(ray.cluster_resources().get(kind, 1)))


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401  Ray is an extra
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address in _LOCAL:
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()  # Ray itself waits for minutes
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
    except (OSError, ValueError, ConnectionError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(
            f"SAG_ENGINE=ray:{address}: no Ray cluster answers there ({reason}); start one with `ray start --head`, "
            "or set SAG_ENGINE=processes"
        ) from error


def _check_versions(ray: Any) -> None:  # noqa: ANN401  Ray is an extra
    """Ask each node which code its workers have.

    Raises:
        SettingsError: If one has another version than this process, or none.
    """

    def version() -> str:  # sent as code, as the module may be missing there
        try:
            from sag_pipeline.engines.tasks import VERSION  # noqa: PLC0415
        except ImportError as error:
            return f"not installed ({error})"
        return VERSION

    at = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    ask = ray.remote(num_cpus=0)(version)
    asked = [ask.options(scheduling_strategy=at(node["NodeID"], soft=False)).remote() for node in nodes]
    for node, found in zip(nodes, ray.get(asked, timeout=_START), strict=True):
        if found != tasks.VERSION:
            raise SettingsError(f"node {node['NodeManagerAddress']}: {other_code(found, tasks.VERSION)}")


def _unwrapped(started: "Future[Any]") -> "Future[Any]":
    """A future that raises our own errors as they are, without Ray's report of the worker."""
    future: Future[Any] = Future()

    def settle(done: "Future[Any]") -> None:
        error = done.exception()
        cause = getattr(error, "cause", None)
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(cause if isinstance(cause, SagError | MemoryError) else error)

    future.set_running_or_notify_cancel()
    started.add_done_callback(settle)
    return future


class _Tasks(Executor):
    """Ray tasks as an executor."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401  Ray is an extra
        """`max_retries=0`: the engine repeats lost batches itself, and finds the document that ends its worker."""
        self._remote = cache(ray.remote(num_cpus=1, max_retries=0))  # Ray sends each one to all workers

    def submit(self, do: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":  # noqa: ANN401
        """Start a task."""
        return _unwrapped(self._remote(do).remote(*given, **named).future())


class _Holder:
    """A process of its own that keeps what it loaded."""

    def do(self, work: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401
        """Do some work."""
        return work(*given)


class _Actors(Executor):
    """Ray actors as an executor: each call goes to the one with the fewest calls under way."""

    def __init__(self, ray: Any, kind: str, count: int) -> None:  # noqa: ANN401  Ray is an extra
        """Start the actors, each with a GPU or a core."""
        options = {"num_gpus": 1} if kind == "GPU" else {"num_cpus": 1}
        self._ray = ray
        self._actors = [ray.remote(**options)(_Holder).remote() for _ in range(count)]
        self._under_way = Counter(dict.fromkeys(range(count), 0))

    def submit(self, do: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":  # noqa: ANN401, ARG002
        """Start a call."""
        place = min(self._under_way, key=lambda each: (self._under_way[each], each))
        self._under_way[place] += 1
        future = _unwrapped(self._actors[place].do.remote(do, *given).future())
        future.add_done_callback(lambda _: self._under_way.subtract([place]))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """End the actors."""
        for actor in self._actors:
            self._ray.kill(actor)
