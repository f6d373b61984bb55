"""The workshop: settings, store and models as one Dagster resource, and what every asset reports of its run."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from sag_pipeline.plan import IngestOptions, step_of
from sag_pipeline.plots import table as markdown_table
from sag_pipeline.store.store import Step, Store
from sag_pipeline.watch import watcher
from sag_pipeline.work import Progress, Tally, Work, do_step
from sag_retrieval.settings import Settings, load_settings

_EXAMPLES = 5


class Workshop(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Everything an asset needs; empty fields are read from the settings (`sag settings`)."""

    home: str = ""
    chat_model: str = ""
    embedding_model: str = ""

    def settings(self) -> Settings:
        """The settings in force, checked."""
        given = {"home": self.home, "chat_model": self.chat_model, "embedding_model": self.embedding_model}
        return load_settings(**{name: value or None for name, value in given.items()})

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store, held against other writers."""
        home = Path(self.settings().home)
        with Store.locked(home) as store:
            yield store

    def make(self, context: dg.AssetExecutionContext, table: str, work: Work, model: str = "") -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Bring a table by document up to date and report what was done."""
        step = step_of(table, IngestOptions(), model)
        with self.store() as store:
            tally = do_step(store, step, work, progress_of(context))
            return result_of(store, step, tally)


def progress_of(context: dg.AssetExecutionContext) -> Progress:
    """Progress into the log of the run and to whoever watches."""
    outer = watcher()

    def progress(step: str, done: int, total: int) -> None:
        context.log.info(f"{step}: {done:,} of {total:,} documents")
        outer(step, done, total)

    return progress


def result_of(store: Store, step: Step, tally: Tally, **more: dg.MetadataValue | float | str) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Counts, seconds and the first rows of a table; its data version is its content."""
    first = next((rows for rows in store.scan(step.name) if rows.num_rows), None) if step.name != "vectors" else None
    examples = first.slice(0, _EXAMPLES).to_pylist() if first is not None else []
    ((rows,),) = store.ledger.select("SELECT coalesce(sum(row_count), 0) FROM current WHERE step = ?", step.name)
    return dg.MaterializeResult(
        metadata={
            **tally.metadata(),
            "dagster/row_count": int(str(rows)),
            "examples": dg.MetadataValue.md(markdown_table(examples)),
            **more,
        },
        data_version=dg.DataVersion(store.state_hash([step.name]) or "empty"),
    )


def now() -> str:
    """The time of a publish, as it stands in the manifest: ISO, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
