"""Settings, store and models as one Dagster resource, and what every asset reports of its run."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import dagster as dg
from pydantic import create_model
from sag_retrieval.release.releases import Releases

from sag_pipeline.config import config_fields, given_options
from sag_pipeline.llm.cached_chat import CachedChat, Call
from sag_pipeline.llm.extract import model_of, open_cached_chat
from sag_pipeline.options import IngestOptions, RunOptions
from sag_pipeline.progress import listener
from sag_pipeline.resources import table
from sag_pipeline.runner import ProgressCallback, RunStats, Work, run_step, step_of
from sag_pipeline.store.store import StepSpec, Store
from sag_pipeline.tables import to_table
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.options import build_options
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.reader import open_reader

_EXAMPLES = 5
_log = logging.getLogger(__name__)


_FIELDS: Final = config_fields(RunOptions)
_Configured = create_model("_Configured", __base__=dg.ConfigurableResource, **_FIELDS)


class PipelineResource(_Configured):
    """Settings, store and models for every asset; empty fields are read from the settings (`sag settings`).

    The other fields are the options of an ingest (`sag settings --options ingest`).
    """

    home: str = ""
    chat_model: str = ""
    embedding_model: str = ""

    def run_options(self) -> RunOptions:
        """The options of the run, checked."""
        return build_options(RunOptions, given_options(self, _FIELDS), what="ingest")

    def settings(self) -> Settings:
        """The settings in force, checked."""
        given = {"home": self.home, "chat_model": self.chat_model, "embedding_model": self.embedding_model}
        return load_settings(**{name: value or None for name, value in given.items()})

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store, held against other writers."""
        self.run_options()  # a bound is told before any work
        home = Path(self.settings().home)
        with Store.locked(home) as store:
            yield store

    def options(self) -> IngestOptions:
        """What of the options the steps take."""
        return self.run_options().steps

    def extract(
        self,
        context: dg.AssetExecutionContext,
        table: str,
        offline: Work,
        asked: Callable[[CachedChat, Store], Work],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Bring a table up to date by the language model, or by rules where the settings name none."""
        settings = self.settings()
        with open_cached_chat(settings, self.run_options().chat) as chat:
            if chat is None:
                return self.make(context, table, offline)
            step = step_of(table, self.options(), model_of(table, chat, settings.language))
            with self.store() as store:
                try:
                    tally = run_step(store, step, asked(chat, store), progress_of(context))
                finally:  # what was paid is written down whatever ends the step
                    calls = chat.take_calls()
                    store.append("calls", to_table("calls", calls))
                return result_of(store, step, tally, **cost_of(calls))

    def make(self, context: dg.AssetExecutionContext, table: str, work: Work, model: str = "") -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Bring a table by document up to date and report what was done."""
        step = step_of(table, self.options(), model)
        with self.store() as store:
            tally = run_step(store, step, work, progress_of(context))
            return result_of(store, step, tally)


def progress_of(context: dg.AssetExecutionContext) -> ProgressCallback:
    """Progress into the log of the run and to whoever watches."""
    outer = listener()

    def progress(step: str, done: int, total: int) -> None:
        context.log.info("%s: %s of %s documents", step, f"{done:,}", f"{total:,}")
        outer(step, done, total)

    return progress


def result_of(
    store: Store, step: StepSpec, tally: RunStats, **more: dg.MetadataValue | float | str
) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Counts, seconds and the first rows of a table; its data version is its content."""
    first = next((rows for rows in store.scan(step.name) if rows.num_rows), None) if step.name != "vectors" else None
    examples = first.slice(0, _EXAMPLES).to_pylist() if first is not None else []
    return dg.MaterializeResult(
        metadata={
            **tally.metadata(),
            "dagster/row_count": store.ledger.row_count(step.name),
            "examples": table(examples),
            **more,
        },
        data_version=dg.DataVersion(store.state_hash([step.name]) or "empty"),
    )


def cost_of(calls: Sequence[Call]) -> dict[str, float]:
    """Calls, tokens and money of a step, for its metadata."""
    paid = [call for call in calls if not call.is_cached]
    return {
        "calls": sum(call.requests for call in paid),
        "cached_calls": len(calls) - len(paid),
        "input_tokens": sum(call.input_tokens for call in paid),
        "output_tokens": sum(call.output_tokens for call in paid),
        "cost": round(sum(call.cost or 0.0 for call in paid), 6),
    }


def current_index(settings: Settings) -> Index | None:
    """The index of the release in force, whose keys are offered to the model; None where there is none that opens.

    An ingest never needs a release: what is known is then taken from the tables, and a new one is published.
    """
    if Releases(settings.home).current() is None:
        return None
    try:
        return open_reader(settings.home, None, open_embedder).index
    except (SagError, OSError, ValueError) as error:
        _log.warning("known keys are taken from the tables alone, the release in force does not open: %s", error)
        return None


def now() -> str:
    """The time of a publish, as it stands in the manifest: ISO, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
