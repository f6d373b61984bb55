"""Every option of an ingest, as `sag ingest --set` and the Dagster resource take them."""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.extract.chunks import ChunkOptions
from sag_pipeline.extract.headers import FULL_HEADER, NO_HEADER, HeaderOptions
from sag_pipeline.extract.model_keys import KeyOptions
from sag_pipeline.extract.rules.recogniser import RULES
from sag_pipeline.extract.sections import SectionOptions
from sag_pipeline.extract.summaries import SummaryOptions
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.tables import STORED
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import SettingsError, nearest
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.options import Bounds, CheckedOptions, Inline, Internal, Presets, check_options
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.models.cached_chat import BatchLimits
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.release.key_weights import Smoothing

DOCUMENT, SOURCE = "document:", "source:"
"""What may stand before a name in the option `reprocess`."""
HEADERS = Presets({"titles": HeaderOptions(), "full": FULL_HEADER, "none": NO_HEADER})


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Options that decide the rows of the steps of an ingest."""

    source: SourceOptions = field(default_factory=SourceOptions)
    summary: SummaryOptions = field(default_factory=SummaryOptions)
    section: SectionOptions = field(default_factory=SectionOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)
    header: HeaderOptions = field(default_factory=HeaderOptions)
    key_schema: KeySchema = field(default_factory=default_schema)
    recogniser: str = ""
    """What finds names; empty: the rules, so that homes made before there was a choice stay as they are."""

    def of(self, table: str) -> tuple[object, ...]:
        """The options that the rows of a table depend on."""
        found = (attrgetter(name)(self) for name in STORED[table].options) if table in STORED else ()
        return tuple(each for each in found if each != "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep(CheckedOptions):
    """What is kept: a number of the newest, and everything younger than the grace period."""

    keep_releases: Annotated[int, Bounds(1)] = 3
    """Number of newest releases to keep; the current one, open ones and those within `grace_hours` are kept too."""
    keep_reports: Annotated[int, Bounds(1)] = 12
    """Number of newest reports to keep per series."""
    grace_hours: Annotated[float, Bounds(0)] = 24.0
    """Releases and reports younger than this are kept."""
    keep_runs: Annotated[int, Bounds(1)] = 200
    """Number of newest run records to keep in Dagster; those of 90 days are deleted in any case."""
    keep_run_days: Annotated[float, Bounds(0), Internal()] = 90.0
    """Run records older than this are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions(CheckedOptions):
    """How much worse a new release may answer the questions of the home than the current one."""

    recall_margin: Annotated[float, Bounds(0, 1)] = 0.05
    """How much recall, and the share of answered questions, may fall: with twenty questions by one, which new documents
    that answer as well can cost without a fault."""
    accept_recall: bool = False
    """Publish although the questions of the home are answered worse, or their file cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignOptions(CheckedOptions):
    """Which pairs of keys a language model decides."""

    by_model: bool = True
    """Ask the language model, if there is one, whether two close names mean one thing; answers are kept."""
    pairs_per_event: Annotated[float, Bounds(0)] = 0.08
    """Most pairs that are asked about, for each event of the corpus; the closest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of one run of the job `ingest`, by subject."""

    chunk: Annotated[ChunkOptions, Inline()] = field(default_factory=ChunkOptions)
    """How long chunks are."""
    header: Annotated[HeaderOptions, HEADERS] = field(default_factory=HeaderOptions)
    """What is put before a chunk for embedding and full text: a preset, whose parts can be set one by one."""
    section: SectionOptions = field(default_factory=SectionOptions)
    """How documents are divided into sections."""
    sections_by_model: bool = False
    """Let the language model divide documents into sections."""
    summary: SummaryOptions = field(default_factory=SummaryOptions)
    """How long summaries are."""
    triples_by_model: bool = True
    """Let the language model, if there is one, name the relations of keys; False: read them from the sentences."""
    revisions_by_model: bool = True
    """Ask the language model, if there is one, about the least certain revisions; answers are kept."""
    idf_smoothing: Smoothing = "none"
    """`add-one` divides by one event more than carry a key."""
    lance_index: bool = False
    """Train Lance's indexes for the releases made from now on: of dense vectors, and of words for full-text search."""
    source: Annotated[SourceOptions, Inline()] = field(default_factory=SourceOptions)
    """Limits on what is read of a source."""
    communities: bool = True
    """Group the events of the release into communities, which the method `tiers` and reports start from."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    """How events become communities, of the release and of a report on a part of it."""
    key: KeyOptions = field(default_factory=KeyOptions)
    """How a language model is asked for keys."""
    align: AlignOptions = field(default_factory=AlignOptions)
    """Which keys with close names a language model is asked about."""
    batch: BatchLimits = field(default_factory=BatchLimits)
    """How much one call to the language model asks about."""
    chat: Annotated[ChatOptions, Inline()] = field(default_factory=ChatOptions)
    """How the language model is called."""
    worker: Annotated[WorkerBounds, Inline()] = field(default_factory=WorkerBounds)
    """What one document may take of a worker of the engine."""
    keep: Annotated[Keep, Inline()] = field(default_factory=Keep)
    """What is kept after an ingest."""
    reprocess: tuple[str, ...] = ()
    """What is done again although nothing changed, and asked again of a language model: a step such as `events`,
    `document:ID` or `source:NAME`."""
    gate: Annotated[GateOptions, Inline()] = field(default_factory=GateOptions)
    """How much worse the release may answer the questions of the home."""

    def __post_init__(self) -> None:
        """Refuse values of the wrong type, and what cannot be done again.

        Raises:
            SettingsError: If `reprocess` names neither a step nor a document or source.
        """
        check_options(self)
        for wanted in self.reprocess:
            if wanted not in STORED and wanted.removeprefix(DOCUMENT).removeprefix(SOURCE) in ("", wanted):
                raise SettingsError(
                    f"reprocess={wanted!r} must be document:ID, source:NAME or a step: {', '.join(STORED)}"
                    f"{nearest(wanted, STORED)}"
                )

    @property
    def steps(self) -> IngestOptions:
        """The options that steps take."""
        return IngestOptions(
            source=self.source,
            summary=self.summary,
            section=self.section,
            chunk=self.chunk,
            header=self.header,
            key_schema=self.key.schema,
            recogniser="" if self.key.recogniser == RULES else self.key.recogniser,
        )
