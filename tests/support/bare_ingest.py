"""An ingest without Dagster's records of it, for tests that need what it leaves in a home.

Of the processor time of a small ingest Dagster takes four fifths: a hundred events of a run, each written to a
database. `tests/pipeline/test_bare_ingest.py` holds it to the release and counts of the job.
"""

import atexit
import json
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from graphlib import TopologicalSorter
from hashlib import blake2b
from inspect import isgeneratorfunction, signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
from dagster._utils.error import serializable_error_info_from_exc_info

from sag_pipeline.components.corpus import ASSETS
from sag_pipeline.defs.assets.documents import SourcesConfig
from sag_pipeline.defs.assets.report import INGEST, Clustering
from sag_pipeline.defs.config import run_config
from sag_pipeline.defs.corpus_assets import CorpusAsset, CorpusSpec
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.defs.sensors import reason_of
from sag_pipeline.extract.rules.recogniser import RECOGNISERS
from sag_pipeline.jobs import _failed_documents, _plain
from sag_pipeline.options import RunOptions
from sag_pipeline.progress import listener
from sag_pipeline.sources.folders import launched_here
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.options import build_options
from sag_retrieval.core.schema_file import default_schema, home_schema
from sag_retrieval.core.settings import load_settings


@cache
def _instance() -> dg.DagsterInstance:
    """One without runs, for all ingests of a process: what prunes releases asks it for old runs."""
    return dg.DagsterInstance.ephemeral()


@dataclass
class _Context:
    """What the functions of assets read of the run that they are part of."""

    asset_key: dg.AssetKey
    log: logging.Logger = field(default_factory=partial(logging.getLogger, __name__))
    retry_number: int = 0
    run: Any = field(default_factory=partial(SimpleNamespace, job_name=INGEST, run_id="bare"))

    @property
    def instance(self) -> dg.DagsterInstance:
        return _instance()


@cache
def _in_order() -> list[CorpusAsset]:
    """The assets of the job `ingest`, each after those that it is made of."""
    known = {each.body.__name__: each for each in ASSETS}
    wanted, found = ["communities"], dict[str, set[str]]()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = set(known[name].described.deps)
            wanted += found[name]
    return [known[name] for name in TopologicalSorter(found).static_order()]


def bare_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `sag_pipeline.jobs.run_ingest`: sync the sources, publish, and return counts and the current release.

    Raises:
        SagError: If no source exists, a step failed, or a check refused the release, which is then not current.
    """
    chosen = build_options(RunOptions, options, what="ingest")
    settings = load_settings()
    home_schema(settings.home, settings.schema)
    RECOGNISERS.function(chosen.key.recogniser)
    own = {} if chosen.key.schema == default_schema() else {"key_schema": chosen.key.schema.model_dump(mode="json")}
    made = dict[str, dict[str, Any]]()
    resource = PipelineResource(**(run_config(chosen) | own))
    resource.setup_for_execution(dg.build_init_resource_context())  # reads the settings once, as Dagster lets it
    with launched_here():
        for asset in _in_order():
            name = asset.body.__name__
            listener()(name, 0, 0)
            try:
                made[name] = _made(asset, resource, sources, follow or {})
            except Exception as error:
                event: Any = SimpleNamespace(step_key=name, step_failure_data=SimpleNamespace(error=_as_kept(error)))
                raise SagError(f"{INGEST} failed: {reason_of((), [event])}") from error
    counts = ("new", "changed", "removed", "skipped", "failed", "rows", "seconds")
    return {
        "release": made["release"]["release"],
        "is_new": made["release"]["is_new"],
        "put_aside": made["documents"]["failed"],
        "unread_sources": made["documents"]["unread_sources"],
        "failed_documents": _failed_documents(),
        "steps": {
            name: {count: values[count] for count in counts if isinstance(values.get(count), int | float)}
            for name, values in made.items()
        },
    }


def kept_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `bare_ingest`, but done once by a process: the same of the same files into a home with the same files is a copy.

    For what tests begin with. What a test has patched is not seen, nor is a model asked again.
    """
    home = Path(load_settings().home)
    place = _kept() / _digest(home, sources, options, follow)
    if not (place / "said.json").is_file():
        said = bare_ingest(sources, options, follow)
        place.mkdir()
        _copy(home, place / "home")
        (place / "said.json").write_text(json.dumps(said), encoding="utf-8")
    else:
        shutil.rmtree(home, ignore_errors=True)
        _copy(place / "home", home)
        listed = SourceList(Store(home))
        for source in list(listed):
            listed.put(replace(source, path=str(Path(source.name).absolute())))
    return dict(json.loads((place / "said.json").read_text(encoding="utf-8")))


@cache
def _kept() -> Path:
    place = Path(tempfile.mkdtemp(prefix="sag-kept-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _copy(home: Path, to: Path) -> None:
    """With its hard links: a release shares files with the home."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", home, to], check=True)


def _digest(home: Path, sources: Sequence[str], *given: object) -> str:
    """Of all that decides what an ingest leaves, but for what a server of a test answers."""
    names = ("SAG_", "OPENAI_")
    variables = sorted(each for each in os.environ.items() if each[0].startswith(names))
    varying = {"SAG_HOME", "OPENAI_BASE_URL"}
    digest = blake2b(repr((sources, given, [each for each in variables if each[0] not in varying])).encode())
    for folder in (home, *map(Path, sources)):
        for name, content in _files(folder):
            digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:32]


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    found = sorted(place.rglob("*")) if place.is_dir() else [place]
    return ((path.relative_to(place).as_posix(), path.read_bytes()) for path in found if path.is_file())


def _as_kept(error: Exception) -> Any:
    """An error as Dagster keeps it, from which the reason of a failed run is read."""
    assert error.__traceback__
    return serializable_error_info_from_exc_info((type(error), error, error.__traceback__))


def _made(
    asset: CorpusAsset, resource: PipelineResource, sources: Sequence[str], follow: Mapping[str, Any]
) -> dict[str, Any]:
    """What one asset says of what it made."""
    body: Any = asset.body
    name, wanted = body.__name__, signature(body).parameters
    offered = {
        "context": _Context(dg.AssetKey([name])),
        "sag": resource,
        "spec": CorpusSpec(resource=resource),
        "tables": {},
        "config": SourcesConfig(sources=list(sources), **follow) if name == "documents" else Clustering(),
    }
    done = body(**{argument: offered[argument] for argument in wanted})
    results = list(done) if isgeneratorfunction(body) else [done]
    said = dict[str, Any]()
    for each in results:
        checks = [each] if isinstance(each, dg.AssetCheckResult) else each.check_results or ()
        for check in checks:
            if not check.passed and check.severity is dg.AssetCheckSeverity.ERROR:
                raise SagError(f"check {check.check_name}: {check.description}")
        if isinstance(each, dg.MaterializeResult):
            plain = {key: _plain(value) for key, value in (each.metadata or {}).items()}
            said = {key: (each.metadata or {})[key] if value is None else value for key, value in plain.items()}
    return said
