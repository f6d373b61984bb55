"""Every option of an ingest: what `sag ingest --set` and the Dagster resource take, and what each part of it needs."""

from dataclasses import dataclass, field
from typing import Annotated

from sag_pipeline.options import IngestOptions
from sag_pipeline.steps.chunks import ChunkOptions
from sag_pipeline.steps.folders import SourceOptions
from sag_pipeline.steps.headers import FULL_HEADER, NO_HEADER, HeaderOptions
from sag_pipeline.steps.keys import Smoothing
from sag_pipeline.steps.sections import SectionOptions
from sag_pipeline.steps.summaries import SummaryOptions
from sag_retrieval.core.options import Bounds, Inline, Presets, check_options
from sag_retrieval.models.rate_limits import ChatOptions

HEADERS = Presets({"titles": HeaderOptions(), "full": FULL_HEADER, "none": NO_HEADER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """What stays: so many of the newest, and whatever is younger than the grace."""

    keep_releases: Annotated[int, Bounds(1)] = 3
    """Of the newest releases; younger ones than `grace_hours`, the current one and those held open stay as well."""
    keep_reports: Annotated[int, Bounds(1)] = 12
    """Of the newest reports of each series."""
    grace_hours: Annotated[float, Bounds(0)] = 24.0
    """Releases and reports younger than this stay."""
    keep_runs: Annotated[int, Bounds(1)] = 200
    """Of the newest records of runs that Dagster keeps; older ones than `keep_run_days` go in any case."""
    keep_run_days: Annotated[float, Bounds(0)] = 90.0
    """Older records of runs go."""

    def __post_init__(self) -> None:
        """Refuse what would leave nothing.

        Raises:
            SettingsError: If a number is below its bound.

        """
        check_options(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of one run of the job `ingest`, by what they are about."""

    chunk: Annotated[ChunkOptions, Inline()] = field(default_factory=ChunkOptions)
    """How long chunks are."""
    header: Annotated[HeaderOptions, HEADERS] = field(default_factory=HeaderOptions)
    """What is put before a chunk for embedding and full text; single parts are chosen below it."""
    section: SectionOptions = field(default_factory=SectionOptions)
    """How documents are divided into sections."""
    sections_by_model: bool = False
    """Let the language model divide documents into sections."""
    summary: SummaryOptions = field(default_factory=SummaryOptions)
    """How long summaries are."""
    triples_by_model: bool = False
    """Let the language model name the relations of keys; otherwise they follow from the keys of an event."""
    idf_smoothing: Smoothing = "none"
    """`add-one` divides by one event more than carry a key."""
    source: Annotated[SourceOptions, Inline()] = field(default_factory=SourceOptions)
    """What of a source is read."""
    chat: Annotated[ChatOptions, Inline()] = field(default_factory=ChatOptions)
    """How the language model is called."""
    keep: Annotated[Keep, Inline()] = field(default_factory=Keep)
    """What stays after an ingest."""

    def __post_init__(self) -> None:
        """Refuse values of the wrong type."""
        check_options(self)

    @property
    def steps(self) -> IngestOptions:
        """What the steps take."""
        return IngestOptions(
            source=self.source, summary=self.summary, section=self.section, chunk=self.chunk, header=self.header
        )
