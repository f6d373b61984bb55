"""Run a Dagster job from the command line or from code, in this process."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from inspect import isgeneratorfunction, signature
from logging import CRITICAL, getLogger
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from uuid import uuid4

import dagster as dg
from dagster._utils.error import serializable_error_info_from_exc_info
from pydantic import ValidationError

from sag_pipeline.defs.assets import ASSETS
from sag_pipeline.defs.config import run_config
from sag_pipeline.defs.corpus_assets import CorpusAsset, CorpusSpec, owner_of
from sag_pipeline.defs.resources import KEY, PipelineResource
from sag_pipeline.defs.sensors import TOLD_BY, asset_of, causes, reason_of, tell, told_in
from sag_pipeline.extract.rules.recogniser import RECOGNISERS
from sag_pipeline.options import RunOptions
from sag_pipeline.progress import listener
from sag_pipeline.runs.dagster_runs import HOME, is_kept
from sag_pipeline.sources.folders import launched_here
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import QUERY_INTERRUPTED, SagError, SettingsError
from sag_retrieval.core.options import build_options
from sag_retrieval.core.schema_file import default_schema, home_schema
from sag_retrieval.core.settings import load_settings
from sag_retrieval.core.telemetry import span

_BESIDE: Final = {"kg_output", "report", "storage"}
_silent = getLogger(f"{__name__}.unrecorded")
_silent.setLevel(CRITICAL)  # the command prints what there is to read


def run_job(name: str, run_config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run `ingest` or `report` in this process and return the metadata of each asset it made.

    Each step is reported to the listener of `sag_pipeline.progress` when it starts. Where no record of runs is kept
    (`dagster_runs.is_kept`), the assets are made one after another without an instance of Dagster.

    Raises:
        SagError: If an asset or a check failed, with its reason.
        SettingsError: If the configuration of the run, or `dagster.yaml`, cannot be used.
        KeyboardInterrupt: If Ctrl-C ended the run; committed batches stay.
    """
    settings, run_id = load_settings(), str(uuid4())
    home = os.path.realpath(settings.home)
    with launched_here():
        ended = _recorded(name, run_config, home, run_id) if is_kept() else _unrecorded(name, run_config, run_id)
    job, made, reason = ended
    if reason:
        tell(settings, told_in(job, run_id, home, reason))
        raise SagError(f"{name} failed: {reason}")
    return made


_Outcome = tuple[str, dict[str, dict[str, Any]], str]
"""Name of the job, metadata of what was made, and why it failed."""


def _unrecorded(name: str, run_config: Mapping[str, Any], run_id: str) -> _Outcome:
    """The assets of a job: the imports and records of an instance, which nobody could read, would take two seconds."""
    report, made = listener(), dict[str, dict[str, Any]]()
    resource = _configured(name, PipelineResource, run_config.get("resources", {}).get(KEY, {}).get("config", {}))
    resource.setup_for_execution(None)
    table = name
    try:
        with span("run", step=name, **{"dagster.run_id": run_id}):
            for asset in _assets_of(name):
                table, verb = asset.body.__name__, asset.verb
                report(table, 0, 0)
                config = run_config.get("ops", {}).get(f"{verb}_{table}" if verb else table, {}).get("config", {})
                run = SimpleNamespace(job_name=name, run_id=run_id)
                made[table], wrong = _made(asset, resource, run, config)
                if wrong:
                    return name, made, reason_of(wrong, ())
    except Exception as error:  # as Dagster takes them, with the reason in its words
        info = serializable_error_info_from_exc_info(sys.exc_info())
        signs = (QUERY_INTERRUPTED, KeyboardInterrupt.__name__)  # as in `_is_interrupted`
        if any(sign in f"{each.cls_name} {each.message}" for each in causes(info) for sign in signs):
            raise KeyboardInterrupt from error
        failed: Any = SimpleNamespace(step_key=table, step_failure_data=SimpleNamespace(error=info))
        return name, made, reason_of((), [failed])
    return name, made, ""


def _assets_of(job: str) -> list[CorpusAsset]:
    names = {"communities", "report"}
    is_report = job == "report"
    return [
        each for each in ASSETS if (each.body.__name__ in names if is_report else each.body.__name__ not in _BESIDE)
    ]


def _configured(job: str, configured: Callable[..., Any], given: Mapping[str, Any]) -> Any:  # noqa: ANN401  a class of Dagster's
    try:
        return configured(**given)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise SettingsError(f"job {job!r}: {'; '.join(faults)}") from error


def _made(asset: CorpusAsset, resource: PipelineResource, run: Any, config: Mapping[str, Any]) -> tuple[Any, list[Any]]:  # noqa: ANN401  of a run
    """What one asset says of what it made, and its failed checks that refuse it."""
    body: Any = asset.body
    name, wanted = body.__name__, signature(body).parameters
    offered = {
        "context": SimpleNamespace(asset_key=dg.AssetKey([name]), log=_silent, retry_number=0, run=run, instance=None),
        KEY: resource,
        "spec": CorpusSpec(resource=resource),
        "tables": {},
    }
    if "config" in wanted:
        offered["config"] = _configured(run.job_name, wanted["config"].annotation, config)
    said, wrong = dict[str, Any](), list[Any]()
    with span("step", step=name, corpus="", **{"dagster.run_id": run.run_id}):
        done = body(**{argument: offered[argument] for argument in wanted})
        for each in done if isgeneratorfunction(body) else [done]:
            checks = [each] if isinstance(each, dg.AssetCheckResult) else each.check_results or ()
            wrong += [one for one in checks if not one.passed and one.severity is dg.AssetCheckSeverity.ERROR]
            if isinstance(each, dg.MaterializeResult):
                plain = {key: (value, _plain(value)) for key, value in (each.metadata or {}).items()}
                said = {key: value if shown is None else shown for key, (value, shown) in plain.items()}
    return said, wrong


def _recorded(name: str, run_config: Mapping[str, Any], home: str, run_id: str) -> _Outcome:
    from sag_pipeline.runs.dagster_runs import in_words, open_instance, process_tag  # noqa: PLC0415

    with open_instance() as instance:
        spec, known = _corpus_of(home, instance)
        job = known.resolve_job_def(spec.named(name))
        config = {**_under(spec, run_config), "loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
        report = listener()
        tags = {**process_tag(), HOME: home, **({TOLD_BY: "command"} if load_settings().alert else {})}

        def on_event(entry: dg.EventLogEntry) -> None:
            event = entry.dagster_event
            if event is not None and event.is_step_start and event.step_key:
                report(asset_of(event.step_key), 0, 0)

        instance.add_event_listener(run_id, on_event)
        try:
            with span("run", step=name, **{"dagster.run_id": run_id}):
                result = job.execute_in_process(
                    run_config=config,
                    instance=instance,
                    raise_on_error=False,
                    run_id=run_id,
                    tags=tags,
                    resources={"io_manager": dg.mem_io_manager},  # that of files would be imported, and never used
                )
        except dg.DagsterInvalidConfigError as error:
            raise SettingsError(f"job {name!r}: {in_words(error)}") from error
        except dg.DagsterExecutionInterruptedError as error:
            raise KeyboardInterrupt from error
    if _is_interrupted(result):
        raise KeyboardInterrupt
    if not result.success:
        return spec.named(name), {}, _reason(result)
    found: dict[str, dict[str, Any]] = {}
    for event in result.get_asset_materialization_events():
        made = event.step_materialization_data.materialization
        found[made.asset_key.path[-1]] = {n: _plain(value) for n, value in made.metadata.items()}
    return spec.named(name), found, ""


def _corpus_of(home: str, instance: dg.DagsterInstance) -> tuple[CorpusSpec, dg.Definitions]:
    """The corpus of the home: without a name, unless the assets without a prefix belong to another home.

    Then its materializations have a prefix of their own, so that they are not taken for those of the other home.
    """
    from sag_pipeline.components.corpus import Corpus, corpus_definitions  # noqa: PLC0415  a run without records
    from sag_pipeline.definitions import defs  # noqa: PLC0415  has no use for them

    owner = owner_of(instance, dg.AssetKey("documents"))
    if owner is None or owner.home == home or not Path(owner.home).is_dir():
        return CorpusSpec(), defs
    readable = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in Path(home).name.lower())
    corpus = Corpus(name=f"home_{readable}_{blake2b(os.fsencode(home), digest_size=3).hexdigest()}")
    return corpus.spec(), corpus_definitions(corpus)


def _under(spec: CorpusSpec, config: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"resources": lambda _: spec.resource_key, "ops": spec.operation}
    return {part: {renamed[part](name): each for name, each in given.items()} for part, given in config.items()}


def _is_interrupted(result: dg.ExecuteInProcessResult) -> bool:
    """Whether Ctrl-C ended the run while a step, or a query of it, was under way."""
    errors = [event.step_failure_data.error for event in result.filter_events(lambda e: e.is_step_failure)]
    told = [f"{each.cls_name} {each.message}" for error in errors for each in causes(error)]
    # DuckDB makes an error of its own of an interrupt during a query, or names it where it was reading Arrow rows.
    return any(
        sign in each for each in told for sign in (dg.DagsterExecutionInterruptedError.__name__, QUERY_INTERRUPTED)
    )


def _reason(result: dg.ExecuteInProcessResult) -> str:
    failures = result.filter_events(lambda event: event.is_step_failure)
    return reason_of(result.get_asset_check_evaluations(), failures) or "see the log of the run"


def _plain(value: Any) -> Any:  # noqa: ANN401  metadata of any type
    return getattr(value, "value", getattr(value, "text", None))


def run_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Sync the sources and publish; return counts and seconds of every step, and the current release.

    A source that does not exist does not stop the others: `unread_sources` has the reason, and its documents stay.
    `failed_documents` counts, by step, documents that a step could not process, or not completely: what it makes of
    them is missing in the release.

    Args:
        sources: Folders and files; none: SAG_SOURCE.
        options: Options of a run, such as `{"en_size": 500, "header.section_title": False}`. A schema of keys in
            `RunOptions` takes the place of that of the home.
        follow: Fields of the asset `documents`, such as `{"allow_removals": True}`.

    Raises:
        SagError: If no source exists, too many documents of one are gone, an option is unknown, or a step failed.
    """
    chosen = build_options(RunOptions, options, what="ingest")
    settings = load_settings()
    home_schema(settings.home, settings.schema)  # a wrong one is reported before a run begins
    RECOGNISERS.function(chosen.key.recogniser)
    own = {} if chosen.key.schema == default_schema() else {"key_schema": chosen.key.schema.model_dump(mode="json")}
    config: dict[str, Any] = {
        "resources": {"sag": {"config": run_config(chosen) | own}},
        "ops": {"documents": {"config": {"sources": list(sources), **(follow or {})}}},
    }
    made = run_job("ingest", config)
    counts = ("new", "changed", "removed", "skipped", "failed", "rows", "seconds")
    return {
        "release": made["release"]["release"],
        "is_new": made["release"]["is_new"],
        "put_aside": made["documents"]["failed"],
        "unread_sources": made["documents"]["unread_sources"],
        "failed_documents": _failed_documents(),
        "steps": {
            name: {c: values[c] for c in counts if isinstance(values.get(c), int | float)}
            for name, values in made.items()
        },
    }


def _failed_documents() -> dict[str, int]:
    entries = Store(load_settings().home).ledger.entries("status IN ('failed', 'partial') AND kind = 'document'")
    return dict(Counter(entry.step for entry in entries))


def run_report(config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write the report of the current release; return the metadata of the assets `communities` and `report`."""
    return run_job("report", {"ops": {"write_report": {"config": dict(config)}}} if config else {})
