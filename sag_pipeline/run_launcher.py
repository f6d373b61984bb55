"""A run launcher by which run monitoring notices that the process of a run is gone.

Dagster's own launcher starts runs in a code server, which reports a worker that was killed. Where the server itself is
killed, with its container or machine, nobody reports the run: it would stay `STARTED` and keep its place in the pool,
so that every later run would wait for ever.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import dagster as dg
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.storage.tags import GRPC_INFO_TAG
from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
from dagster._serdes import ConfigurableClassData, deserialize_value

from sag_pipeline.runs.dagster_runs import is_lost

_ANSWER_SECONDS: Final = 10
_PATIENCE_SECONDS: Final = 120


class WatchedRunLauncher(dg.DefaultRunLauncher):
    """Dagster's default launcher, with a check of the process that does a run.

    A run fails if its server answers and does not know it, if its server does not answer for `patience_seconds`, or if
    a command on this machine started it and its process is gone.
    """

    def __init__(
        self,
        inst_data: ConfigurableClassData | None = None,
        patience_seconds: float = _PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is watched before the first check."""
        super().__init__(inst_data)
        self._patience = patience_seconds
        self._clock = clock
        self._silent_since: dict[str, float] = {}

    @classmethod
    def config_type(cls) -> Any:  # noqa: ANN401  Dagster's own type of schemas
        """What `dagster.yaml` may give."""
        return {"patience_seconds": dg.Field(dg.Int, default_value=_PATIENCE_SECONDS)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> "WatchedRunLauncher":
        """As `dagster.yaml` configures it."""
        return cls(inst_data, config_value["patience_seconds"])

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Whether run monitoring may ask."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the process of a run is there."""
        if GRPC_INFO_TAG not in run.tags:
            return _answer(is_there=not is_lost(run.tags), message="its process was killed")
        client = self._get_grpc_client_for_termination(run.run_id)  # type: ignore[no-untyped-call]
        if client is None:  # it has ended meanwhile
            return CheckRunHealthResult(WorkerStatus.SUCCESS)
        try:
            request = CanCancelExecutionRequest(run_id=run.run_id)
            answer = client.can_cancel_execution(request, timeout=_ANSWER_SECONDS)
        except DagsterUserCodeUnreachableError:
            silent = self._clock() - self._silent_since.setdefault(run.run_id, self._clock())
            said = f"its code server has not answered for {silent:.0f} seconds"
            return _answer(is_there=silent < self._patience, message=said)
        self._silent_since.pop(run.run_id, None)
        known = deserialize_value(answer, CanCancelExecutionResult).can_cancel
        return _answer(is_there=known, message="its code server was restarted and no longer has it")


def _answer(*, is_there: bool, message: str) -> CheckRunHealthResult:
    return (
        CheckRunHealthResult(WorkerStatus.RUNNING) if is_there else CheckRunHealthResult(WorkerStatus.FAILED, message)
    )
