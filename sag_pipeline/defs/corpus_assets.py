"""Assets that every corpus has: declared once as functions, built for each corpus under its own names.

To add an asset, write a function in a module of `assets/` and decorate it with `corpus_asset`, which takes the
arguments of `dg.asset`, with upstream tables by their bare names::

    @corpus_asset(group="publish", deps=["release"], kinds={"json"})
    def notes(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult: ...

The function takes what it needs of `context`, `config` (a `dg.Config`), `sag` (the settings, store and models of the
corpus), `spec` (the corpus itself) and `tables` (the values of the assets that feed it, by key). Its name is the last
part of the asset's key: `notes`, or `news/notes` in the corpus `news`. Whatever else belongs to a corpus (checks, jobs,
sensors) takes its keys and names from `CorpusSpec`.
"""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from logging import ERROR, WARNING
from typing import Any, Final, NamedTuple

import dagster as dg

from sag_pipeline.defs.dagster_metadata import catalogued, check_specs
from sag_pipeline.defs.resources import KEY, POOL, PipelineResource
from sag_pipeline.progress import Pace, told_every
from sag_pipeline.runs.dagster_runs import HOME
from sag_pipeline.sources.folders import is_launched_here
from sag_pipeline.sync.rows import Removal
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.telemetry import span

_COMMAND: Final = "sag/is_command"
"""Metadata of a materialization: whether a command made it, and not a run that Dagster started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSpec:
    """A corpus as its assets see it: its names, where it reads, and its resource."""

    name: str = ""
    """Prefix of its keys and names; empty: none."""
    sources: tuple[str, ...] = ()
    """What is read if a run names nothing; empty: SAG_SOURCE."""
    tables: Mapping[str, Removal] = field(default_factory=dict)
    """Keys of assets whose rows are documents, and when a document of each is removed."""
    resource: PipelineResource = field(default_factory=PipelineResource)
    """As defined, before any run configuration."""
    freshness: dg.FreshnessPolicy | None = None
    retry: dg.RetryPolicy | None = None
    renamed: Mapping[dg.AssetKey, dg.AssetKey] = field(default_factory=dict)
    """Keys of its assets that a translation changed, to what they are now."""

    @property
    def resource_key(self) -> str:
        """Of its resource, in definitions and in run configuration."""
        return f"{KEY}_{self.name}" if self.name else KEY

    @property
    def pool(self) -> str:
        """Concurrency pool of the assets that write to its home."""
        return f"{POOL}_{self.name}" if self.name else POOL

    def key(self, table: str) -> dg.AssetKey:
        """The key of the asset of a table."""
        return dg.AssetKey([self.name, table] if self.name else [table])

    def shown(self, table: str) -> dg.AssetKey:
        """The key of the asset of a table as the instance has it, after a translation."""
        return self.renamed.get(self.key(table), self.key(table))

    def named(self, name: str) -> str:
        """The name of a job, schedule, sensor or group."""
        return f"{self.name}_{name}" if self.name else name

    def operation(self, name: str) -> str:
        """The name of the operation of an asset, in run configuration below `ops`."""
        return f"{self.name}__{name}" if self.name else name


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusAsset:
    """An asset that every corpus has: its function, and what is said of it besides."""

    body: Callable[..., Any]
    group: str
    deps: Sequence[str] = ()
    kinds: Collection[str] = ()
    """What Dagster shows it is made with."""
    reads: tuple[str, ...] | None = None
    """It is a table of the catalogue, made of these tables; empty: of the inputs of its step."""
    verb: str = ""
    """Before its name in the name of its operation, where a job has the asset's name: Dagster wants each name once."""
    is_writing: bool = False
    """Whether it writes to the home, and so takes turns with others that do."""
    is_release: bool = False
    """Whether the schedule of the corpus says how old it may be."""
    more: Mapping[str, Any] = field(default_factory=dict)

    def build(
        self,
        spec: CorpusSpec,
        name: str = "",
        config: type[dg.Config] | None = None,
        freshness: dg.FreshnessPolicy | None = None,
    ) -> dg.AssetsDefinition:
        """The asset of one corpus, with a name and a configuration other than the function's where they are given."""
        table = name or self.body.__name__
        key = spec.key(table)
        shared: dict[str, Any] = {
            "key": key,
            "group_name": spec.named(self.group),
            "deps": [spec.key(dep) for dep in self.deps],
            "kinds": set(self.kinds),
            "owners": ["team:sag"],
            **(catalogued(table, self.reads, spec.shown) if self.reads is not None else {}),
            "freshness_policy": spec.freshness if self.is_release else freshness,
            **self.more,
        }
        if "tables" in inspect.signature(self.body).parameters:
            fed = enumerate(spec.tables)
            shared["ins"] = {f"table_{n}": dg.AssetIn(dg.AssetKey.from_user_string(name)) for n, name in fed}
        running: dict[str, Any] = {
            "pool": spec.pool if self.is_writing else None,
            "check_specs": check_specs(self.body.__name__, key),
            "retry_policy": spec.retry,
        }
        body = _bound(self.body, spec, config)
        if self.verb:
            one = dg.AssetSpec(**shared, description=inspect.getdoc(self.body))
            return dg.multi_asset(name=spec.operation(f"{self.verb}_{table}"), specs=[one], **running)(body)
        made: dg.AssetsDefinition = dg.asset(**shared, **running)(body)
        return made


def corpus_asset(**said: Any) -> Callable[[Callable[..., Any]], CorpusAsset]:  # noqa: ANN401  of two callables
    """Declare an asset that every corpus has, by fields of `CorpusAsset`; others are arguments of `dg.asset`."""
    own = {name: said.pop(name) for name in list(said) if name in CorpusAsset.__dataclass_fields__}
    return lambda body: CorpusAsset(body=body, **own, more=said)


def _bound(body: Callable[..., Any], spec: CorpusSpec, config: type[dg.Config] | None) -> Callable[..., Any]:
    """The function of an asset as Dagster calls it: with the corpus's resource key, after the home is checked."""
    wanted = inspect.signature(body).parameters
    parameters: dict[str, Any] = {"context": dg.AssetExecutionContext, spec.resource_key: PipelineResource}
    inputs = [f"table_{n}" for n in range(len(spec.tables))] if "tables" in wanted else []
    parameters |= dict.fromkeys(inputs, Any)
    if "config" in wanted:
        parameters["config"] = config or wanted["config"].annotation

    @wraps(body)
    def run(context: dg.AssetExecutionContext, **given: Any) -> Any:  # noqa: ANN401  results of an asset
        resource = given.pop(spec.resource_key)
        record_home(context, spec, resource)
        tables = dict(zip(spec.tables, (given.pop(name) for name in inputs), strict=False))
        offered = {"context": context, KEY: resource, "spec": spec, "tables": tables, **given}
        arguments = {name: offered[name] for name in wanted}
        labels = {"step": body.__name__, "corpus": spec.name, "dagster.run_id": context.run.run_id}
        if inspect.isgeneratorfunction(body):
            return _streamed(context, body(**arguments), labels)
        with span("step", **labels), beating(context):
            made = body(**arguments)
        if isinstance(made, dg.MaterializeResult):
            _tell(context, made.check_results or ())
        return made

    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
            for name, kind in parameters.items()
        ]
    )
    return run


def _streamed(context: dg.AssetExecutionContext, results: Iterator[Any], labels: Mapping[str, str]) -> Iterator[Any]:
    """The results of an asset that yields them, as one span.

    Raises:
        dg.Failure: If a check failed that blocks: Dagster's own error names the check without the reason.
    """
    wrong: list[dg.AssetCheckResult] = []
    with span("step", **labels), beating(context):
        for each in results:
            if isinstance(each, dg.AssetCheckResult) and not each.passed:
                wrong.append(each)
            yield each
    blocking = [check for check in wrong if check.severity is dg.AssetCheckSeverity.ERROR]
    _tell(context, [check for check in wrong if check not in blocking])
    if blocking:
        raise dg.Failure("; ".join(f"check {each.check_name} failed: {each.description}" for each in blocking))


def _tell(context: dg.AssetExecutionContext, checks: Iterable[dg.AssetCheckResult]) -> None:
    """Log why checks failed: the page of a run shows the name of a failed check and its figures, without the reason."""
    for check in checks:
        if not check.passed:
            level = ERROR if check.severity is dg.AssetCheckSeverity.ERROR else WARNING
            context.log.log(level, "check %s failed: %s", check.check_name, check.description)


def record_home(context: dg.AssetExecutionContext, spec: CorpusSpec, resource: PipelineResource) -> None:
    """Record the home of a run in its tags and materializations; refuse one that the asset's key does not belong to.

    A key belongs to the home of its newest materialization. A run that Dagster started takes a key over from a command
    or from a home that is gone, never from another home that Dagster serves.
    """
    home, is_command = home_of(resource), is_launched_here()
    if not is_command:
        if home != home_of(spec.resource):
            whose = f"the corpus {spec.name!r} has" if spec.name else "this pipeline has"
            raise SettingsError(
                f"the run names the home {home}, but {whose} {home_of(spec.resource)}; "
                "leave `home` out of its configuration, or define another corpus for that home"
            )
        owner = owner_of(context.instance, context.asset_key)
        if owner is not None and not owner.is_command and owner.home != home and os.path.isdir(owner.home):  # noqa: PTH112
            key = context.asset_key.to_user_string()
            raise SettingsError(
                f"the asset {key!r} of this Dagster instance belongs to the home {owner.home}, and this run writes to "
                f"{home}; give the corpus a name of its own, or hand the key over: `dagster asset wipe {key}`"
            )
    if context.run.tags.get(HOME) != home:
        context.instance.add_run_tags(context.run.run_id, {HOME: home})
    context.add_asset_metadata({HOME: dg.MetadataValue.path(home), _COMMAND: is_command})


def home_of(resource: PipelineResource) -> str:
    """The home that a resource leads to, as one spelling."""
    return os.path.realpath(resource.settings().home)


class Owner(NamedTuple):
    """What an asset's key belongs to."""

    home: str
    is_command: bool
    """Whether the newest materialization is a command's."""


def owner_of(instance: dg.DagsterInstance, key: dg.AssetKey) -> Owner | None:
    """The home of the newest materialization of an asset; None if there is none that says so."""
    event = instance.get_latest_materialization_event(key)
    made = event.asset_materialization if event else None
    if made is None or HOME not in made.metadata:
        return None
    return Owner(str(made.metadata[HOME].value), bool(made.metadata[_COMMAND].value))


SECONDS: Final = 10.0
"""Between two lines of the log while a step is under way."""
_OBSERVED: Final = 3
"""Every third line is also an observation of the asset, which its page shows and plots."""


@contextmanager
def beating(context: dg.AssetExecutionContext, seconds: float = SECONDS) -> Iterator[None]:
    """Tell the log of the run, and now and then the page of the asset, how far the work within this context is."""
    told = count()

    def tell(pace: Pace, gauges: Mapping[str, Callable[[], float]]) -> None:
        figures = _figures(context, pace, gauges)
        whole = f"{figures['done']:,} of {figures['total']:,}" if figures["total"] else f"{figures['seconds']:,} s"
        shown = [name for name in ("per_second", "item", *gauges) if figures.get(name)]
        rest = (f"{name.replace('_', ' ')} {figures[name]}" for name in shown)
        context.log.info("%s", ", ".join([f"{figures['step']}: {whole}", *rest]))
        if next(told) % _OBSERVED == 0:
            metadata = {**figures, "dagster_run": context.run.run_id}
            context.instance.report_runless_asset_event(dg.AssetObservation(context.asset_key, metadata=metadata))

    with told_every(seconds, tell):
        yield


def _figures(
    context: dg.AssetExecutionContext, pace: Pace, gauges: Mapping[str, Callable[[], float]]
) -> dict[str, Any]:
    step, done, total, item = pace.at
    return {
        "step": step or context.asset_key.path[-1],
        "done": done,
        "total": total,
        "per_second": round(pace.per_second, 2),
        "seconds": round(pace.seconds, 1),
        **({"item": item} if item else {}),
        **{name: read() for name, read in gauges.items()},
    }
