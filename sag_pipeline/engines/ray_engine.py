"""The engine of a Ray cluster."""

import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Final

from sag_pipeline.engines.executors import ExecutorEngine
from sag_pipeline.work import Batch, Made, do_batch
from sag_retrieval.core.errors import SettingsError

_WINDOW_PER_CORE: Final = 2
_PATIENCE: Final = 10
"""Seconds to wait for the port of a cluster."""
_LOCAL: Final = {"", "local"}


class RayEngine(ExecutorEngine):
    """Does batches as Ray tasks of one core each."""

    def __init__(self, address: str = "", do: Callable[[Batch], Made] = do_batch) -> None:
        """Connect to a cluster; without an address, start one on this machine.

        Raises:
            SettingsError: If Ray is not installed, or nothing answers at the address.

        """
        try:
            import ray  # noqa: PLC0415  an extra, and seconds to load
        except ImportError:
            raise SettingsError(
                'SAG_ENGINE=ray needs Ray: pip install "sag[ray]"; or set SAG_ENGINE=processes'
            ) from None
        _connect(ray, address)
        gone = ray.exceptions
        super().__init__(
            lambda: _Tasks(ray),
            _WINDOW_PER_CORE * max(1, int(ray.cluster_resources().get("CPU", 1))),
            do=do,
            lost=(gone.WorkerCrashedError, gone.NodeDiedError, gone.OutOfMemoryError, gone.ObjectLostError),
        )


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401  Ray is an extra
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address in _LOCAL:
        ray.init(include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        ray.init(address=address, log_to_driver=False)
    except (OSError, ValueError, ConnectionError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(
            f"SAG_ENGINE=ray:{address}: no Ray cluster answers there ({reason}); start one with `ray start --head`, "
            "or set SAG_ENGINE=processes"
        ) from error


class _Tasks(Executor):
    """Ray tasks as an executor."""

    def __init__(self, ray: Any) -> None:  # noqa: ANN401  Ray is an extra
        """`max_retries=0`: the engine repeats lost batches itself, and finds the document that ends its worker."""
        self._ray = ray
        self._options = {"num_cpus": 1, "max_retries": 0}

    def submit(self, do: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":  # noqa: ANN401
        """Start a task."""
        started: Future[Any] = self._ray.remote(**self._options)(do).remote(*given, **named).future()
        return started
