"""Where `dagster.yaml` keeps runs, logs and outputs: beside the tables of the home, whatever the current folder."""

from typing import Any, Self

from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.root import LocalArtifactStorage
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData

from sag_pipeline.runs.dagster_runs import history_folder


class _OfHome:
    """Takes no configuration: each process finds the folder by its settings."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """No field."""
        return {}


class HomeStorage(_OfHome, DagsterSqliteStorage):
    """Runs, events and ticks of schedules in SQLite."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Any) -> Self:  # noqa: ANN401, ARG003
        """The storage of the home."""
        return cls.from_local(str(history_folder()), inst_data)


class HomeLogs(_OfHome, LocalComputeLogManager):
    """What the processes of runs print."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:  # noqa: ANN401, ARG003
        """The logs of the home."""
        return cls(str(history_folder() / "logs"), inst_data=inst_data)


class HomeOutputs(_OfHome, LocalArtifactStorage):
    """Values that assets hand on."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:  # noqa: ANN401, ARG003
        """The outputs of the home."""
        return cls(str(history_folder()), inst_data)
