"""Tasks, pure work on batches that any process of any machine can do, because it is found by name; and who does it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final, Protocol

from sag_pipeline.engines.bounds import WorkerBounds, within
from sag_pipeline.tables import VERSIONS
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.public import __version__

VERSION: Final = f"{__version__} {sorted(VERSIONS.items())}"
"""Of the package and of the rules of each table."""
TASKS: Final = {
    "step": "sag_pipeline.store.step_batch:STEP",
    "count": "sag_pipeline.embed.tasks:COUNT",
    "embed": "sag_pipeline.embed.tasks:EMBED",
}
"""Where each task is."""


class Task(Protocol):
    """Pure work on batches. A batch and what is made of it can be pickled; nothing here opens store or network."""

    def do(self, batch: Any, shared: Any) -> Any:  # noqa: ANN401  each task has its own types
        """What is made of a batch; `shared` is the same for all batches of a `map`."""
        ...

    def split(self, batch: Any) -> Sequence[Any]:  # noqa: ANN401
        """Its smallest batches, in order."""
        ...

    def failed(self, batch: Any, reason: str) -> Any:  # noqa: ANN401
        """What stands for a smallest batch that cannot be done."""
        ...

    def joined(self, parts: Iterable[Any]) -> Any:  # noqa: ANN401
        """What was made of smallest batches, as if it had been made of all of them at once."""
        ...


@cache
def task_of(name: str) -> Task:
    """The task with a name of `TASKS`, or at a place `module:object`."""
    task: Task = resolve_name(TASKS.get(name, name))
    return task


@dataclass(frozen=True, slots=True)
class TaskCall:
    """What a worker receives."""

    task: str
    batch: Any
    shared: Callable[[], Any] | None = None
    """Gives what all batches of a `map` need."""
    bounds: WorkerBounds | None = None
    code: str = VERSION
    """Of the code that asks; a worker with other code refuses."""


def answer(call: TaskCall) -> Any:  # noqa: ANN401  what the task makes
    """Do a call in a worker.

    Raises:
        SettingsError: If the worker has other code than the run.
    """
    if call.code != VERSION:
        raise SettingsError(other_code(VERSION, call.code))
    with within(call.bounds):
        return task_of(call.task).do(call.batch, call.shared() if call.shared else None)


def other_code(worker: str, run: str) -> str:
    """The sentence about a worker with other code."""
    return f"this worker has sag {worker}, the run has sag {run}; install the same version on every machine"


class Engine:
    """Does pure work on batches; this one in its own process, one after another."""

    @property
    def workers(self) -> int:
        """How many batches it does at a time."""
        return 1

    def map(self, task: str, batches: Iterable[Any], shared: object = None) -> Iterator[Any]:
        """What a task makes of each batch, in order; a bounded number of batches is under way at a time.

        Args:
            task: A name of `TASKS`.
            batches: Taken as workers become free.
            shared: Something that all batches need; it reaches each worker once.
        """
        return (task_of(task).do(batch, shared) for batch in batches)

    def with_models(self) -> "Engine | None":
        """An engine each of whose workers keeps the model that it loads; None where there is no room for them."""
        return None

    def close(self) -> None:
        """End the workers."""
