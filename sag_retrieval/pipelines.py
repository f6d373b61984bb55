"""Pipelines of RAGData stages described in a YAML file: read, bound to a release, run and evaluated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
import yaml

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.core.public import public
from sag_retrieval.core.yaml_file import YamlKind, at_line, line_of, pairs, read_yaml, value_of
from sag_retrieval.evaluation.answers import ANSWER_SCORES, RECORD_SCORES
from sag_retrieval.evaluation.metrics import distinct, recall_scores
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.evaluation.runner import KS, ScoredOutcome, ScoredOutcomes, checked_cuts
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.rag.generate import ExtractiveRefiner, Generator, ModelRefiner, QAPromptor, SummaryRefiner
from sag_retrieval.rag.rerank import CrossEncoderReranker, ModelReranker, PageRankReranker, SegmentReranker
from sag_retrieval.rag.retrieve import AskRetriever, ContextUnder, MethodRetriever, Searcher
from sag_retrieval.rag.stages import BEST, Clock, Pipeline, RAGData, Stage, items_of, metadata_of
from sag_retrieval.search.lookup import DocumentResult

MEASURES: Final = ("recall", *RECORD_SCORES)
"""Names of measures: recall of gold documents, then those of the records themselves."""


@dataclass(frozen=True, kw_only=True)
class Measures(Stage):
    """Names what `sag evaluate --pipeline` measures; the record stays as it is."""

    measures: tuple[str, ...] = MEASURES
    """Measures to print, of those in the default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = next((name for name in self.measures if name not in MEASURES), None)
        if unknown is not None:
            raise SettingsError(
                f"measures: {shown(unknown)} is none of {', '.join(MEASURES)}{nearest(unknown, MEASURES)}"
            )

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:  # noqa: ARG002  it reads only
        return {}


def _needs_release(*_: object, **__: object) -> NoReturn:
    raise QueryError("this pipeline is bound to no release; run it with `release.run(pipeline, question)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What stages work with: searches, documents and themes of a release, and a language model or none."""

    searcher: Searcher = _needs_release
    document: Callable[[str], DocumentResult] = _needs_release
    chat: ChatModel | None = None
    context: ContextUnder | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineStages:
    """One stage of each kind, with its default options."""

    retrieve: MethodRetriever
    """Passages by a method of search; in a further round what is new is added."""
    ask: AskRetriever
    """Passages that a mode of asking found, those it cites first."""
    rerank: PageRankReranker
    """Documents that share keys with good ones come first."""
    rerank_model: ModelReranker
    """The language model chooses the best documents."""
    rerank_cross_encoder: CrossEncoderReranker
    """Documents by the score of a local cross-encoder."""
    segments: SegmentReranker
    """Neighbouring passages become one."""
    refine: ExtractiveRefiner
    """Sentences that match the question, within a budget."""
    refine_summary: SummaryRefiner
    """The most central sentences of each document, within a budget."""
    refine_model: ModelRefiner
    """The language model shortens the documents to a budget."""
    prompt: QAPromptor
    """The prompt from the newest documents."""
    generate: Generator
    """The answer; writes the prompt if there is none for the newest documents."""
    evaluate: Measures
    """Which measures `sag evaluate --pipeline` prints."""

    @classmethod
    def bound(cls, given: Resources | None = None) -> "PipelineStages":
        """The stages over a release and a model; without them stages can be described and checked, not run."""
        at = given or Resources()
        return cls(
            retrieve=MethodRetriever(searcher=at.searcher),
            ask=AskRetriever(searcher=at.searcher, chat=at.chat, context=at.context),
            rerank=PageRankReranker(),
            rerank_model=ModelReranker(chat=at.chat),
            rerank_cross_encoder=CrossEncoderReranker(),
            segments=SegmentReranker(source=at.document),
            refine=ExtractiveRefiner(),
            refine_summary=SummaryRefiner(),
            refine_model=ModelRefiner(chat=at.chat),
            prompt=QAPromptor(),
            generate=Generator(chat=at.chat, promptor=QAPromptor()),
            evaluate=Measures(),
        )


MAIN_OPTION: Final[Mapping[str, str]] = {
    "retrieve": "method",
    "ask": "mode",
    "rerank": "top_k",
    "rerank_model": "keep",
    "rerank_cross_encoder": "model",
    "segments": "options",
    "refine": "budget",
    "refine_summary": "budget",
    "refine_model": "budget",
    "prompt": "language",
    "generate": "max_tokens",
    "evaluate": "measures",
}
"""Of each stage the option that a single value stands for: `segments: precision`."""

FINDS: Final = ("retrieve", "ask")
"""Stages that find documents; the others need one of them ahead."""


STAGES: Final = tuple(each.name for each in fields(PipelineStages))
"""Names of stages, in the order in which most pipelines have them."""
_MOST_STAGES = 100
_LISTED: Final = "`sag settings --options pipeline` lists stages and options"
_PIPELINE: Final = YamlKind("pipeline", "a list of a few stages", 100_000, yaml.SafeLoader)


@public
@dataclass(frozen=True, slots=True)
class StageEntry:
    """One stage of a file: its name, its options and its line."""

    name: str
    options: Mapping[str, Any]
    line: int


@public
@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A pipeline read from a file and checked; `release.run(pipeline, question)` runs it."""

    path: str
    entries: tuple[StageEntry, ...]

    @property
    def uses_model(self) -> bool:
        """Whether a stage asks the language model, if there is one."""
        return any(hasattr(stage, "chat") for stage in _stages(self, Resources()))

    @property
    def measures(self) -> tuple[str, ...]:
        """What `evaluate` names; every measure without it."""
        named = [stage.measures for stage in _stages(self, Resources()) if isinstance(stage, Measures)]
        return tuple(dict.fromkeys(name for names in named for name in names)) or Measures().measures


def load_pipeline(path: Path | str) -> PipelineFile:
    """Read a pipeline from a YAML file: `stages`, a list of names, each with its options.

    Examples:
        >>> load_pipeline("examples/pipeline.yaml").measures
        ('recall', 'exact_match', 'f1', 'retrieval_recall', 'latency')

    Raises:
        SettingsError: If it cannot be read, is not such a list, or names an unknown stage or option or a value out of
            bounds; the message says the line, and the nearest name.
    """
    name = str(path)
    entries = tuple(_entry(name, node) for node in _stage_nodes(name, read_yaml(path, _PIPELINE)))
    if entries[0].name not in FINDS:
        begin = " or ".join(f"`- {each}`" for each in FINDS)
        raise _fault(name, entries[0].line, f"`{entries[0].name}` has no documents to read; begin with {begin}")
    found = PipelineFile(name, entries)
    _stages(found, Resources())
    return found


def bind_pipeline(pipeline: PipelineFile, resources: Resources) -> Pipeline:
    """The stages of a pipeline over a release and a model, with the options of the file."""
    return Pipeline(_stages(pipeline, resources))


def _stages(pipeline: PipelineFile, resources: Resources) -> list[Stage]:
    usual = PipelineStages.bound(resources)
    return [_stage(pipeline.path, entry, usual) for entry in pipeline.entries]


def _stage(path: str, entry: StageEntry, usual: PipelineStages) -> Stage:
    given = {entry.name: entry.options} if entry.options else {}
    try:
        found: Stage = getattr(build_options(PipelineStages, given, what="pipeline", base=usual), entry.name)
    except (SettingsError, QueryError) as error:
        raise _fault(path, entry.line, str(error)) from error
    return found


def _fault(path: str, line: int, said: str) -> SettingsError:
    return SettingsError(f"{at_line(path, line)}: {said}")


def _stage_nodes(path: str, root: yaml.Node | None) -> list[yaml.Node]:
    top = dict(pairs(path, root)) if isinstance(root, yaml.MappingNode) else {}
    unknown = next((name for name in top if name != "stages"), None)
    if unknown is not None:
        raise _fault(path, line_of(top[unknown]), f"{shown(unknown)} is unknown here; a pipeline has `stages` alone")
    listed = top.get("stages")
    if not isinstance(listed, yaml.SequenceNode) or not 0 < len(listed.value) <= _MOST_STAGES:
        wanted = f"a pipeline is `stages:` with a list of 1 to {_MOST_STAGES} stages, such as `- retrieve`"
        raise _fault(path, line_of(listed or root), wanted)
    return list(listed.value)


def _entry(path: str, node: yaml.Node) -> StageEntry:
    if isinstance(node, yaml.ScalarNode):
        name, given = node.value, None
    else:
        named = list(pairs(path, node)) if isinstance(node, yaml.MappingNode) else []
        if len(named) != 1:
            wanted = (
                "a stage is a name, such as `- prompt`, or one name with options, such as `- retrieve: {top_k: 20}`"
            )
            raise _fault(path, line_of(node), wanted)
        name, given = named[0]
    if name not in STAGES:
        raise _fault(path, line_of(node), f"there is no stage {shown(name)}{nearest(name, STAGES)}; {_LISTED}")
    value = value_of(path, given, _PIPELINE) if given is not None else None
    options = value if isinstance(value, dict) else {} if value is None else {MAIN_OPTION[name]: value}
    return StageEntry(name, options, line_of(node))


_NEEDS_REFERENCES = {*ANSWER_SCORES, "retrieval_recall"}


@dataclass(frozen=True, slots=True)
class PipelineEvaluation(ScoredOutcomes):
    """A pipeline's record for every question."""

    pipeline: str

    def __repr__(self) -> str:
        return f"PipelineEvaluation({self.pipeline}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its documents, its answer, and each score as a column."""
        text, texts = pa.string(), pa.list_(pa.string())
        kinds = {"id": text, "question": text, "answers": texts, "gold_documents": texts, "documents": texts}
        return self._table(kinds | {"generated": text})

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values: what `sag evaluate --pipeline FILE --json` prints."""
        return {
            "pipeline": self.pipeline,
            "questions": len(self.outcomes),
            **self._means(),
            "counts": {name: sum(name in o.scores for o in self.outcomes) for name in self.names},
            "per_question": [outcome.to_dict() for outcome in self.outcomes],
        }


def evaluate_pipeline(
    run: Callable[[RAGData], RAGData],
    questions: Iterable[Question],
    *,
    measures: Sequence[str] = MEASURES,
    ks: Sequence[int] = KS,
    name: str = "",
) -> PipelineEvaluation:
    """The record of a pipeline for every question, scored.

    Scores against answers need right answers and a generated one, `recall` needs gold documents, `compression` refined
    documents; a question without them has no such score.
    """
    cuts, outcomes = checked_cuts(ks), []
    for question in questions:
        given = RAGData(query=question.question, references=list(question.answers))
        record = run(given | {"question": {"id": question.id, "references": list(question.answers)}})
        told = {
            "gold_documents": list(question.gold_documents),
            "documents": documents_of(record),
            "generated": record.get("generated"),
        }
        outcomes.append(ScoredOutcome(question, told, _scores(record, question, measures, cuts), record))
    return PipelineEvaluation(tuple(outcomes), name)


def documents_of(record: RAGData) -> list[str]:
    """Ids of the documents that the record holds last, each once, best first."""
    found = [metadata_of(item).get("document_id") for item in items_of(record, BEST)]
    return distinct(str(document) for document in found if document is not None)


def _scores(record: RAGData, question: Question, measures: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in measures:
        if name == "recall":
            found |= recall_scores(documents_of(record), question.gold_documents, ks)
        elif _has_what_it_needs(name, record, question):
            found |= RECORD_SCORES[name](record)
    return found


def _has_what_it_needs(name: str, record: RAGData, question: Question) -> bool:
    if name in _NEEDS_REFERENCES and not question.answers:
        return False
    if name in ANSWER_SCORES:
        return "generated" in record
    return name != "compression" or "refining_docs" in record
