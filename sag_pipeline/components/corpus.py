"""A corpus: a home of its own with its assets, jobs, schedule, sensor and reports, as YAML or from Python.

`Corpus` is a Dagster component (`dg scaffold defs sag_pipeline.Corpus news`), and the argument of `corpus_definitions`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._utils.schedules import cron_string_iterator, is_valid_cron_schedule
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import Field, create_model

from sag_pipeline.defs.assets import ASSETS, report
from sag_pipeline.defs.config import run_config
from sag_pipeline.defs.corpus_assets import CorpusSpec, home_of
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.defs.sensors import changed_sensor, failure_sensor, sensors_of
from sag_pipeline.options import RunOptions
from sag_pipeline.runs.dagster_runs import HOME
from sag_pipeline.runs.delivery import check_target
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Option, build_options, json_schema, options_of, presets_of
from sag_retrieval.core.schema_file import read_schema
from sag_retrieval.core.settings import load_settings

if TYPE_CHECKING:
    from sag_retrieval.reports.scope import Scope

_TICKS = 64
"""Ticks of a schedule that are looked at for its longest pause: a year of weeks, two months of days."""
_TEMPLATE: Final = r"\{\{"
"""What is filled in when definitions are loaded, such as `{{ env.HOME }}`, is not known before."""
_PART: Final = r"[0-9*?/,#LlA-Za-z-]+"
CRON: Final = {
    "type": "string",
    "pattern": rf"^\s*($|@[a-z]+\s*$|({_PART}\s+){{4}}{_PART}\s*$)|{_TEMPLATE}",
    "examples": ["0 2 * * *"],
}


def choice(values: Iterable[object]) -> dict[str, Any]:
    """One of some words."""
    return {"anyOf": [{"enum": list(values)}, {"type": "string", "pattern": _TEMPLATE}]}


def schema_of(options: type) -> dict[str, Any]:
    """An object with the options of a class by name; those of a group have a dotted name or are nested."""
    found: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for option in options_of(options):
        found[option.name] = _value(option)
        group, dot, name = option.name.partition(".")
        if dot:
            groups.setdefault(group, {})[name] = found[option.name]
    for group, inside in groups.items():
        nested = {"type": "object", "properties": inside, "additionalProperties": False}
        found[group] = {"anyOf": [found[group], nested]} if group in found else nested
    return {"type": ["object", "string"], "properties": found, "additionalProperties": False, "pattern": _TEMPLATE}


def _value(option: Option) -> dict[str, Any]:
    """What an option takes; any text is read as its type when definitions are loaded."""
    presets = presets_of(option.hint)
    described = {"description": f"{option.meaning.rstrip('.')}. {option.expects.capitalize()}."}
    if presets is not None:
        return choice(presets.named) | described
    own = json_schema(option.hint)
    if "enum" in own:
        return choice(own["enum"]) | described
    is_plain = own.get("type") in ("boolean", "integer", "number")
    return described | ({"anyOf": [own, {"type": "string"}]} if is_plain else {})


Cron = Annotated[str, dg.Resolver.default(json_schema_extra=CRON)]
RemovalWord = Annotated[
    Literal["absence", "tombstone"],
    dg.Resolver.default(model_field_type=str, json_schema_extra=choice(("absence", "tombstone"))),
]
IngestNames = Annotated[dict[str, Any], dg.Resolver.default(json_schema_extra=schema_of(RunOptions))]
Translation = Annotated[
    TranslationFn[str] | None, TranslationFnResolver(template_vars_for_translation_fn=lambda name: {"corpus": name})
]


class CorpusRetry(dg.Model, dg.Resolvable):
    """How often a step that failed is tried again."""

    max_retries: int = Field(default=1, ge=0, description="Tries after the first.")
    delay: float = Field(default=0, ge=0, description="Seconds before each of them.")
    backoff: Literal["linear", "exponential"] | None = Field(
        default=None, description="How the seconds grow from try to try; by default they stay."
    )


class CorpusReport(dg.Model, dg.Resolvable):
    """A report of a corpus: an asset `report_<name>` and a job that writes it."""

    name: str = Field(description="Of the report: small letters, digits and underscores.")
    schedule: Cron = Field(default="", description="When it is written, as cron; empty: when somebody starts its job.")
    on_change: bool = Field(
        default=False, description="Whether it is written after each release that changes what it is about."
    )
    options: dict[str, Any] = Field(default={}, description="Fields of the asset's configuration, such as title.")


class DocumentTable(dg.Model, dg.Resolvable):
    """An asset whose rows are documents: a DataFrame, an Arrow table or the path of a Parquet file."""

    asset: str = Field(description="Its key, such as articles or raw/articles.")
    removal: RemovalWord = Field(
        default="absence",
        description="When a document is removed: its row is gone, or its column deleted is true and others stay.",
    )


class CorpusScaffolder(dg.Scaffolder):
    """Writes `defs.yaml` of a new corpus, with a home and a source named like it."""

    def scaffold(self, request: dg.ScaffoldRequest) -> None:
        """Write it below the folder of definitions."""
        name = request.target_path.name
        attributes = {"home": f"homes/{name}", "sources": [f"documents/{name}"], "schedule": load_settings().schedule}
        dg.scaffold_component(request, attributes)


@dg.scaffold_with(CorpusScaffolder)
class Corpus(dg.Component, dg.Model, dg.Resolvable):
    """Documents as a release that can be searched: assets, jobs, schedule, sensor and reports of one home."""

    name: str | None = Field(
        default=None, description="Prefix of its keys and names. In a component: by default the name of its folder."
    )
    home: str = Field(default="", description="Folder of its tables and releases; empty: SAG_HOME.")
    sources: list[str] = Field(default=[], description="Folders or files that are read; none: SAG_SOURCE.")
    tables: list[DocumentTable] = Field(
        default=[], description="Assets whose rows are documents; SAG_SOURCE is then read only if it is a source."
    )
    chat_model: str = Field(default="", description="Empty: SAG_CHAT_MODEL.")
    embedding_model: str = Field(default="", description="Empty: SAG_EMBEDDING_MODEL.")
    options: IngestNames = Field(
        default={}, description="Options of an ingest by name, such as en_size or header.sentences."
    )
    key_schema: dict[str, Any] = Field(
        default={},
        description="Key types of its documents, as in schema.yaml; empty: the file of SAG_SCHEMA or of its home.",
    )
    schedule: Cron = Field(default="", description="When it is ingested, as cron; empty: no schedule.")
    prune_schedule: Cron = Field(
        default="", description="When old releases, reports and runs are deleted, as cron; an ingest does so too."
    )
    report_schedule: Cron = Field(
        default="", description="When its report is written, as cron; empty: when somebody starts the job."
    )
    time_zone: str = Field(default="UTC", description="Of its schedules, such as Asia/Shanghai.")
    reports: list[CorpusReport] = Field(default=[], description="Reports, each with its options and schedule.")
    retry: CorpusRetry | None = Field(default=None, description="How often a step that failed is tried again; not.")
    translation: Translation = Field(
        default=None,
        description="Key, group, owners, description and other attributes of its assets; `{{ spec }}` is the asset as "
        "it would be, `{{ corpus }}` the name of the corpus.",
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of this corpus; its name is by default that of the component's folder."""
        same = [each for each in context.component_tree.get_all_components(Corpus) if each is not self]
        name = context.path.name if self.name is None else self.name
        return corpus_definitions(self.model_copy(update={"name": name}), beside=same)

    def spec(self) -> CorpusSpec:
        """The corpus as its assets see it."""
        for name in (self.name or "corpus", *(each.name for each in self.reports)):
            if not (name.isascii() and name.isidentifier() and name == name.lower()):
                raise SettingsError(f"name {name!r} is not made of small letters, digits and underscores; rename it")
        load_settings(time_zone=self.time_zone)
        for field, whose, cron in (
            ("schedule", "", self.schedule),
            ("prune_schedule", "", self.prune_schedule),
            ("report_schedule", "", self.report_schedule),
            *(("schedule", f" of the report {each.name!r}", each.schedule) for each in self.reports),
        ):
            if cron and not is_valid_cron_schedule(cron):
                known = f"{field}{whose} of the corpus {self.name!r}" if self.name else f"SAG_{field.upper()}{whose}"
                raise SettingsError(f"{known} is {cron!r}, write it as cron, like 0 2 * * *")
        if self.key_schema:
            read_schema(self.key_schema)  # a wrong one is reported when definitions are loaded
        options = run_config(build_options(RunOptions, self.options, what="ingest"))
        return CorpusSpec(
            name=self.name or "",
            sources=tuple(self.sources),
            tables={table.asset: table.removal for table in self.tables},
            resource=PipelineResource(
                home=self.home,
                chat_model=self.chat_model,
                embedding_model=self.embedding_model,
                key_schema=self.key_schema,
                **options,
            ),
            freshness=_freshness(self.schedule, self.time_zone) if self.schedule else None,
            retry=_retry_policy(self.retry) if self.retry else None,
        )


def corpus_definitions(*corpora: Corpus, beside: Sequence[Corpus] = ()) -> dg.Definitions:
    """The definitions of one or more corpora, for a code location of one's own.

    Examples:
        >>> news = Corpus(name="news", home="homes/news", sources=["news"], schedule="0 3 * * *")
        >>> cases = Corpus(name="cases", home="homes/cases", sources=["cases"], options={"en_size": 400})
        >>> defs = corpus_definitions(news, cases)
        >>> defs.resolve_job_def("cases_ingest").name
        'cases_ingest'

    Args:
        corpora: Corpora with different names and homes.
        beside: Corpora that are defined elsewhere in the same code location.

    Raises:
        SettingsError: If two have one home or one name, or a name, an option or a schedule is wrong.
    """
    specs = [corpus.spec() for corpus in corpora]
    homes = [home_of(spec.resource) for spec in specs] + [home_of(corpus.spec().resource) for corpus in beside]
    for what, found in (("name", [spec.name for spec in specs]), ("home", homes)):
        for value in sorted({each for each in found if found.count(each) > 1}):
            raise SettingsError(f"two corpora have the {what} {value!r}; give each its own, or define one corpus")
    return dg.Definitions.merge(*map(_definitions, corpora, specs))


def _definitions(corpus: Corpus, spec: CorpusSpec) -> dg.Definitions:
    assets, written = _built(corpus, spec)
    if corpus.translation:
        translated = {
            each.key: corpus.translation(each, spec.name) for one in (*assets, *written) for each in one.specs
        }
        spec = replace(spec, renamed={key: made.key for key, made in translated.items() if made.key != key})
        attributes = {made.key: made for made in translated.values()}
        assets, written = ([_translated(one, spec, attributes) for one in some] for some in _built(corpus, spec))
    ingest, prune, *others = _jobs(corpus, spec, [key for asset in assets for key in asset.keys])
    scheduled = [(ingest, "nightly_ingest", corpus.schedule), (prune, "nightly_prune", corpus.prune_schedule)]
    made = list(zip(others[2:], corpus.reports, strict=True))
    scheduled += [(others[1], others[1].name, corpus.report_schedule)]
    scheduled += [(job, job.name, each.schedule) for job, each in made]
    return dg.Definitions(
        assets=[*assets, *written],
        jobs=[ingest, prune, *others],
        schedules=[_schedule(spec, job, name, cron, corpus.time_zone) for job, name, cron in scheduled if cron],
        sensors=[
            *sensors_of(spec, ingest),
            *(changed_sensor(spec, job, _scope(each)) for job, each in made if each.on_change),
            failure_sensor(spec, [key for asset in assets for key in asset.keys]),
        ],
        resources={spec.resource_key: spec.resource},
    )


def _built(corpus: Corpus, spec: CorpusSpec) -> tuple[list[dg.AssetsDefinition], list[dg.AssetsDefinition]]:
    return [each.build(spec) for each in ASSETS], [_report_asset(spec, each) for each in corpus.reports]


def _translated(
    asset: dg.AssetsDefinition, spec: CorpusSpec, attributes: Mapping[dg.AssetKey, dg.AssetSpec]
) -> dg.AssetsDefinition:
    """An asset with the keys and attributes of its translation; its operation keeps its name."""
    named = asset.with_attributes(asset_key_replacements=spec.renamed)
    return named.map_asset_specs(lambda each: attributes[each.key].replace_attributes(deps=each.deps))


def _retry_policy(given: CorpusRetry) -> dg.RetryPolicy:
    backoff = dg.Backoff[given.backoff.upper()] if given.backoff else None
    return dg.RetryPolicy(max_retries=given.max_retries, delay=given.delay, backoff=backoff)


def _jobs(corpus: Corpus, spec: CorpusSpec, own: Sequence[dg.AssetKey]) -> Iterator[UnresolvedAssetJobDefinition]:
    of_corpus = dg.AssetSelection.assets(*own)  # never what others feed it with
    communities = spec.shown("communities")

    def job(name: str, selection: dg.AssetSelection, said: str) -> UnresolvedAssetJobDefinition:
        # Steps are short and share one store: one process per step costs 2 s per step.
        return dg.define_asset_job(
            spec.named(name),
            selection,
            description=said,
            executor_def=dg.in_process_executor,
            tags={HOME: home_of(spec.resource)},
        )

    yield job(
        report.INGEST,
        dg.AssetSelection.assets(communities).upstream() & of_corpus,
        "Documents to a release and its communities; only what changed is processed.",
    )
    said = "Delete old releases, reports and run records, and measure what is left."
    yield job("prune", dg.AssetSelection.assets(spec.shown("storage")), said)
    said = "The knowledge graph of the current release as kg_output.json, for other systems."
    yield job("export", dg.AssetSelection.assets(spec.shown("kg_output")), said)
    said = "Communities of the current release, and the report page about them."
    for name in ("report", *(f"report_{each.name}" for each in corpus.reports)):
        yield job(name, dg.AssetSelection.assets(communities, spec.shown(name)), said)


def _report_asset(spec: CorpusSpec, given: CorpusReport) -> dg.AssetsDefinition:
    """A further report, whose options are the defaults of its configuration; its schedule says how old it may be."""
    known = report.Reporting.model_fields
    for name in given.options:
        if name not in known:
            raise SettingsError(f"option {name!r} of the report {given.name!r} is none of {', '.join(known)}")
    config = report.Reporting(**given.options)
    config.options()
    for target in config.deliver:
        check_target(target)
    fields: dict[str, Any] = {
        name: (known[name].annotation, Field(default=value, description=known[name].description))
        for name, value in given.options.items()
    }
    named = create_model(f"Reporting_{given.name}", __base__=report.Reporting, **fields)
    freshness = _freshness(given.schedule, "UTC") if given.schedule else None
    return report.report.build(spec, f"report_{given.name}", named, freshness)


def _scope(given: CorpusReport) -> "Scope":
    from sag_retrieval.reports.scope import Scope  # noqa: PLC0415  definitions are loaded by every command

    config = report.Reporting(**given.options)
    return Scope(sql=config.sql or None, where=config.where or None, period=config.period)


def _schedule(
    spec: CorpusSpec, job: UnresolvedAssetJobDefinition, name: str, cron: str, time_zone: str
) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=spec.named(name) if job.name != name else f"{name}_schedule",
        job=job,
        cron_schedule=cron,
        execution_timezone=time_zone,
        description=f"Runs the job {job.name} at {cron!r}, {time_zone}.",
    )


def _freshness(cron: str, time_zone: str) -> dg.FreshnessPolicy:
    """How old a release may be: a warning two hours after one missed tick of its schedule, a failure after two."""
    ticks = islice(cron_string_iterator(datetime.now(UTC).timestamp(), cron, time_zone), _TICKS)
    pause = max((late - early for early, late in pairwise(ticks)), default=timedelta(days=1))
    slack = timedelta(hours=2)
    return dg.FreshnessPolicy.time_window(fail_window=2 * pause + slack, warn_window=pause + slack)
