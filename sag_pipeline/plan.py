"""The steps of an ingest: what each reads, and the fingerprint that says when its rows must be made anew."""

from dataclasses import dataclass, field
from hashlib import blake2b

from sag_pipeline.steps.chunks import ChunkOptions
from sag_pipeline.steps.headers import HeaderOptions
from sag_pipeline.steps.sections import SectionOptions
from sag_pipeline.steps.sources import SourceOptions
from sag_pipeline.steps.summaries import SummaryOptions
from sag_pipeline.store.store import StepSpec

VERSIONS = {
    "documents": 2,
    "summaries": 2,
    "sections": 2,
    "chunks": 2,
    "events": 2,
    "keys": 3,
    "triples": 2,
}
"""Raised when a step's code changes what it makes."""

INPUTS: dict[str, tuple[str, ...]] = {
    "documents": (),
    "summaries": ("documents",),
    "sections": ("documents",),
    "chunks": ("documents", "summaries", "sections"),
    "events": ("documents", "summaries", "chunks"),
    "keys": ("documents", "summaries", "chunks", "events"),
    "triples": ("documents", "chunks", "events", "keys"),
    "vectors": ("chunks", "events", "keys"),
}


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
        return {
            "summaries": (self.summary,),
            "sections": (self.section, self.header.section_summary),
            "chunks": (self.chunk, self.header),
        }.get(table, ())


def step_of(table: str, options: IngestOptions, model: str = "") -> StepSpec:
    """The step that makes a table; `model` is what else decides its rows: a model's id and prompt versions."""
    parts = (table, VERSIONS.get(table, 0), options.of(table), model)
    digest = blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    return StepSpec(table, INPUTS[table], digest, retries=bool(model) and model != "offline" and table != "vectors")
