"""Settings, store and models as one Dagster resource, and the metadata that every asset reports."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import dagster as dg
from pydantic import Field, PrivateAttr, create_model

from sag_pipeline.defs.checks import check_table
from sag_pipeline.defs.config import config_fields, given_options
from sag_pipeline.defs.dagster_metadata import check_result
from sag_pipeline.engines.engine import engine_for
from sag_pipeline.engines.tasks import Engine
from sag_pipeline.extract.rules.recogniser import RECOGNISERS
from sag_pipeline.llm.extract import model_of
from sag_pipeline.options import RunOptions
from sag_pipeline.progress import offer
from sag_pipeline.runs.reprocess import documents_again, is_again
from sag_pipeline.sources.folders import is_launched_here
from sag_pipeline.step_runner import RunStats, Work, by_model, by_rules, run_step, step_of
from sag_pipeline.store.ledger import Ledger
from sag_pipeline.store.store import StepSpec, Store
from sag_pipeline.tables import to_table
from sag_retrieval.core.errors import ModelUnavailable
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.options import build_options
from sag_retrieval.core.schema_file import home_schema, read_schema
from sag_retrieval.core.settings import OFFLINE, Settings, load_settings
from sag_retrieval.core.telemetry import count
from sag_retrieval.language.words import printable
from sag_retrieval.models.cached_chat import CachedChat, cost_of, open_cached_chat

_EXAMPLES = 5
_WARNINGS: Final = 1_000
"""Documents of a step that the log of a run names; a log of a million lines is read by nobody."""
_log = logging.getLogger(__name__)
KEY: Final = "sag"
POOL: Final = "sag"
"""Concurrency pool of the assets that write to the home: with a limit of 1 (`dagster.yaml`), a second run is queued."""
_FIELDS: Final = config_fields(RunOptions)
_Configured = create_model("_Configured", __base__=dg.ConfigurableResource, **_FIELDS)


class PipelineResource(_Configured):
    """Settings, store and models for every asset; empty fields are read from the settings (`sag settings`).

    The other fields are the options of an ingest (`sag settings --options ingest`).
    """

    home: str = ""
    chat_model: str = ""
    embedding_model: str = ""
    engine: str = ""
    key_schema: dict[str, Any] = Field(
        default={}, description="Key types, in the form of `schema.yaml`; empty: the file of SAG_SCHEMA or of the home."
    )
    outage_retries: int = Field(
        default=2, ge=0, description="How often a step is repeated while the model cannot be reached; 0: it fails."
    )
    outage_minutes: float = Field(default=10.0, ge=0, description="Minutes before it is repeated.")
    _options: RunOptions | None = PrivateAttr(default=None)
    _ledger: Ledger | None = PrivateAttr(default=None)
    _settings: Settings | None = PrivateAttr(default=None)

    def run_options(self) -> RunOptions:
        """The options of the run, checked once."""
        if self._options is None:
            found: RunOptions = build_options(RunOptions, given_options(self, _FIELDS), what="ingest")
            RECOGNISERS.function(found.key.recogniser)
            self._options = replace(found, key=replace(found.key, schema=self.schema_of_keys()))
        return self._options

    def schema_of_keys(self) -> KeySchema:
        """The schema that is configured, else that of the settings or of the home."""
        settings = self.settings()
        return read_schema(self.key_schema) if self.key_schema else home_schema(settings.home, settings.schema)

    def setup_for_execution(self, context: dg.InitResourceContext | None) -> None:  # noqa: ARG002  of Dagster
        """Read the settings once for all steps of a run."""
        self._settings = self.settings()

    def settings(self) -> Settings:
        """The settings of the run, else the current ones; checked."""
        if self._settings is not None:
            return self._settings
        names = ("home", "chat_model", "embedding_model", "engine")
        given = {name: getattr(self, name) for name in names}
        return load_settings(**{name: value or None for name, value in given.items()})

    @contextmanager
    def store(self) -> Iterator[Store]:
        """The store, locked against other writers; its ledger is held, so that a run reads it once."""
        self.run_options()  # a wrong option is reported before any work
        home = Path(self.settings().home)
        with Store.locked(home) as store:
            self._ledger = store.ledger
            yield store

    def engine_for(self, pending: int) -> Engine:
        """The engine of the settings, for a step with this number of pending documents."""
        return engine_for(self.settings().engine, pending, self.run_options().worker)

    def extract(
        self, context: dg.AssetExecutionContext, table: str, asked: Callable[[CachedChat, Store], Work]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Bring a table up to date by the language model, or by rules where the settings name none."""
        settings, run = self.settings(), self.run_options()
        if settings.chat_model == OFFLINE:
            return self.make(context, table)
        with open_cached_chat(settings, run.chat, run.batch) as chat:
            if chat is None:
                return self.make(context, table)
            step = step_of(table, run.steps, model_of(table, chat, settings.language, run.key))
            with self.store() as store:
                self.redo(context, store, table)
                chat.ask_again(is_again(store, run.reprocess))
                offer(
                    tokens=lambda: sum(chat.cost_so_far()[name] for name in ("input_tokens", "output_tokens")),
                    cost=lambda: chat.cost_so_far()["cost"],
                )
                try:
                    work = by_model(asked(chat, store))
                    tally = run_step(store, step, run.steps, lambda _: work)
                except ModelUnavailable as error:
                    if is_launched_here() or not self.outage_retries:
                        raise  # whoever typed a command sees the reason at once
                    raise dg.RetryRequested(self.outage_retries, self.outage_minutes * 60) from error
                finally:  # paid calls are recorded whatever ends the step
                    calls = chat.take_calls()
                    store.append("calls", to_table("calls", calls))
                warn_of(context, store, table)
                return result_of(store, step, tally, **cost_of(calls))

    def redo(self, context: dg.AssetExecutionContext, store: Store, table: str) -> None:
        """Let the step of a table do again what the run is to do again; what a repeated step has done stays done."""
        wanted = self.run_options().reprocess
        if not wanted or context.retry_number:
            return
        documents = documents_again(store, table, wanted)
        context.log.info("%s: %s documents are done again", table, f"{len(documents):,}")
        store.redo(table, documents)

    def make(self, context: dg.AssetExecutionContext, table: str) -> dg.MaterializeResult:  # type: ignore[type-arg]
        """Bring a table kept by document up to date by its rule and report what was done."""
        options = self.run_options().steps
        step = step_of(table, options)
        with self.store() as store:
            self.redo(context, store, table)
            tally = run_step(store, step, options, partial(by_rules, self.engine_for))
            warn_of(context, store, table)
            return result_of(store, step, tally)


def warn_of(context: dg.AssetExecutionContext, store: Store, table: str) -> None:
    """Name each document or file that a step could not process, or not completely, in the log of the run."""
    wrong = store.ledger.entries("step = ? AND status IN ('failed', 'partial')", table)
    for entry in wrong[:_WARNINGS]:
        place = entry.path or (entry.source if entry.kind == "aside" else entry.unit)
        line = f":{entry.line}" if entry.line >= 0 else ""
        said = "skipped with errors" if entry.kind == "aside" else entry.status
        context.log.warning("%s: %s%s %s: %s", table, printable(place), line, said, printable(entry.reason))
    if len(wrong) > _WARNINGS:
        context.log.warning("%s: %s more; see sag status", table, f"{len(wrong) - _WARNINGS:,}")


def result_of(
    store: Store, step: StepSpec, tally: RunStats, **more: dg.MetadataValue | float | str
) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Counts, seconds and the first rows of a table; its data version is its content."""
    for outcome in ("new", "changed", "removed", "failed"):
        count("documents", tally.counts[outcome], step=step.name, outcome=outcome)
    first = next((rows for rows in store.scan(step.name) if rows.num_rows), None) if step.name != "vectors" else None
    examples = first.slice(0, _EXAMPLES).to_pylist() if first is not None else []
    return dg.MaterializeResult(
        metadata={
            **tally.metadata(),
            "dagster/row_count": store.ledger.row_count(step.name),
            "examples": table(examples),
            **place_of(store.home, step.name),
            **more,
        },
        data_version=dg.DataVersion(store.state_hash([step.name]) or "empty"),
        check_results=[check_result(check) for check in check_table(store, step.name)],
    )


def place_of(home: Path, table: str) -> dict[str, str]:
    """Where a table lies, for its metadata."""
    return {"dagster/uri": (home / ("" if table == "vectors" else "tables") / table).resolve().as_uri()}


def now() -> str:
    """The current time as manifests have it: ISO, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def table(rows: Sequence[Mapping[str, object]], width: int = 80) -> dg.MetadataValue:
    """Rows as a table with long cells cut; no rows give a line of text. Cells are shown as text, never as Markdown."""
    if not rows:
        return dg.MetadataValue.text("no rows")
    names = list(rows[0])
    columns = [dg.TableColumn(name, "string") for name in names]
    records = [dg.TableRecord({name: _cell(row[name], width) for name in names}) for row in rows]
    return dg.MetadataValue.table(records, dg.TableSchema(columns))


def _cell(value: object, width: int) -> str:
    text = " ".join(printable(str("" if value is None else value)).split())
    return text if len(text) <= width else text[: width - 1] + "…"
