"""The steps of an ingest: what each reads, and the fingerprint that says when its rows must be made anew."""

from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter

from sag_pipeline.steps.chunks import ChunkOptions
from sag_pipeline.steps.folders import SourceOptions
from sag_pipeline.steps.headers import HeaderOptions
from sag_pipeline.steps.sections import SectionOptions
from sag_pipeline.steps.summaries import SummaryOptions
from sag_pipeline.store.store import StepSpec
from sag_pipeline.tables import INPUTS, STORED, VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Options of every step of an ingest."""

    source: SourceOptions = field(default_factory=SourceOptions)
    summary: SummaryOptions = field(default_factory=SummaryOptions)
    section: SectionOptions = field(default_factory=SectionOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)
    header: HeaderOptions = field(default_factory=HeaderOptions)

    def of(self, table: str) -> tuple[object, ...]:
        """What of the options the rows of a table depend on."""
        return tuple(attrgetter(name)(self) for name in STORED[table].options) if table in STORED else ()


def step_of(table: str, options: IngestOptions, model: str = "") -> StepSpec:
    """The step that makes a table; `model` is what else decides its rows: a model's id and prompt versions."""
    parts = (table, VERSIONS.get(table, 0), options.of(table), model)
    digest = blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    return StepSpec(table, INPUTS[table], digest, retries=bool(model) and model != "offline" and table != "vectors")
