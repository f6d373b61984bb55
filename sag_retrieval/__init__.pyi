# The public names, in the order of use: what type checkers read and what `__init__.py` loads.

# a release
from .api import Release as Release, open_release as open_release
from .release.releases import ReleaseInfo as ReleaseInfo, list_releases as list_releases
from .release.manifest import Manifest as Manifest, Verify as Verify

# what it holds
from .search.lookup import ChunkResult as ChunkResult, DocumentResult as DocumentResult
from .release.sandbox import SqlResult as SqlResult

# documents taken out, and back
from .documents import decide_documents as decide_documents, documents_away as documents_away
from .release.taken_out import DocumentDecision as DocumentDecision

# searching
from .search.registry import METHODS as METHODS
from .search.registry import MethodName as MethodName
from .search.result import (
    Hit as Hit,
    HitEvent as HitEvent,
    HitKey as HitKey,
    ResultKey as ResultKey,
    ResultSegment as ResultSegment,
    SearchResult as SearchResult,
)
from .search.revised import HitRevision as HitRevision
from .search.method import GraphEvidence as GraphEvidence, HitPath as HitPath, PathStep as PathStep
from .search.options import SearchOptions as SearchOptions
from .search.methods.hybrid import HybridOptions as HybridOptions
from .search.methods.think_on_graph.retriever import GraphOptions as GraphOptions
from .search.methods.tiers.workflow import TierOptions as TierOptions, TiersOptions as TiersOptions
from .search.methods.tiers.result import TierRow as TierRow, TiersResult as TiersResult
from .search.methods.tiers.workflow import TierStep as TierStep
from .search.segments import SegmentOptions as SegmentOptions, SegmentPreset as SegmentPreset

# asking
from .ask.answer import Answer as Answer, Citation as Citation
from .ask.options import (
    MODES as MODES,
    AskOptions as AskOptions,
    FoundPassage as FoundPassage,
    FoundPassages as FoundPassages,
    Mode as Mode,
    SearchFunction as SearchFunction,
)
from .ask.session import Progress as Progress
from .models.protocols import Usage as Usage

# pipelines of stages
from .pipelines import PipelineFile as PipelineFile, StageEntry as StageEntry, load_pipeline as load_pipeline
from .rag.stages import RAGData as RAGData

# reporting
from .reports.report import Report as Report
from .reports.options import Language as Language, ReportOptions as ReportOptions
from .clusters.options import ClusterOptions as ClusterOptions
from .clusters.groups import CitedSentence as CitedSentence
from .llm_writing.written import (
    Finding as Finding,
    LeftOut as LeftOut,
    ThemeText as ThemeText,
    WritingPlan as WritingPlan,
    WrittenReport as WrittenReport,
)

# your own method or model
from .search.method import Method as Method, Query as Query, RankedKey as RankedKey, Ranking as Ranking

from .release.arrays import Allowed as Allowed, Index as Index
from .models.protocols import ChatModel as ChatModel, Embedder as Embedder, Reply as Reply, Request as Request

# key types
from .core.key_schema import KeySchema as KeySchema, KeyType as KeyType, KeyTypes as KeyTypes
from .core.schema_file import read_schema as read_schema

# settings
from .core.settings import Settings as Settings, load_settings as load_settings
from .core.public import __version__ as __version__

# errors
from .core.errors import (
    AnswerError as AnswerError,
    BucketError as BucketError,
    BudgetExceeded as BudgetExceeded,
    FilterError as FilterError,
    ModelError as ModelError,
    ModelUnavailable as ModelUnavailable,
    PluginError as PluginError,
    QueryError as QueryError,
    RecordError as RecordError,
    ReleaseError as ReleaseError,
    SagError as SagError,
    SchemaMismatch as SchemaMismatch,
    SettingsError as SettingsError,
    SourceError as SourceError,
    StoreError as StoreError,
)
