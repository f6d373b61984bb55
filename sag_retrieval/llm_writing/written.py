"""What a model is asked to write about themes, and what is kept of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, FiniteFloat

from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.core.public import public
from sag_retrieval.models.protocols import AnswerShape, Usage

LeftOutKind = Literal["report", "theme", "title", "sentence", "finding", "reason"]


class WrittenSentence(AnswerShape):
    """One sentence and the numbers of the lines that state it."""

    text: str = Field(description="one sentence")
    cited: list[int] = Field(description="numbers n of the lines that state it")


class WrittenFinding(AnswerShape):
    """One finding with the numbers of the lines that state it, its importance and the reason for that."""

    text: str = Field(description="what is so, and on a first page what follows from it")
    cited: list[int] = Field(description="numbers n of the lines that state it")
    importance: FiniteFloat = Field(description="0 (of no consequence) to 10 (decisive)")
    reason: str = Field(description="why it is so important, in a few words that the lines support")


class ThemeAnswer(AnswerShape):
    """The model's title, summary and findings of a theme, or of a part of it."""

    title: str = Field(description="what the lines have in common, at most 6 words or 12 Chinese characters")
    summary: list[WrittenSentence] = Field(description="2 to 4 sentences that read as one paragraph")
    findings: list[WrittenFinding] = Field(description="at most 5 findings")


class ListedAnswer(AnswerShape):
    """The model's lists below the first page, each at most six sentences, and which lines other lines overtake."""

    contradictions: list[WrittenSentence] = Field(description="what documents say differently and nobody settled")
    risks: list[WrittenSentence] = Field(description="what may go wrong, what it would cost, when it would show")
    open: list[WrittenSentence] = Field(description="what nobody has settled or done yet: who has it, by when")
    ahead: list[WrittenSentence] = Field(description="what comes after the newest day, each with its date, in order")
    decisions: list[WrittenSentence] = Field(description="what was decided and still counts, with what came of it")
    changed: list[WrittenSentence] = Field(description="what was one way and is another now: both, and since when")
    overtaken: list[int] = Field(description="numbers n of lines of themes that no longer stand as they are")


LISTS = tuple(name for name in ListedAnswer.model_fields if name != "overtaken")
"""Names of the lists, in the order of the page."""


class ReportAnswer(AnswerShape):
    """The model's summary and findings over all themes."""

    summary: list[WrittenSentence] = Field(description="at most 2 sentences; the first is the headline")
    findings: list[WrittenFinding] = Field(description="5 to 7 findings")


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding that its events support."""

    text: str
    event_ids: tuple[str, ...]
    importance: int
    reason: str = ""
    """Why it is so important; empty where the events do not support what the model said."""
    community_id: str = ""
    """The theme of its first event."""


@public
@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a model that is not in the report, and why."""

    community_id: str
    """Empty for the whole report."""
    kind: LeftOutKind
    reason: str
    text: str = ""


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeText:
    """What a model wrote about a theme and its events support. An empty title: that of the rules stands."""

    title: str = ""
    summary: tuple[CitedSentence, ...] = ()
    findings: tuple[Finding, ...] = ()


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class WritingPlan:
    """The calls and tokens that writing takes at most, known before any is spent."""

    calls: int = 0
    cached_calls: int = 0
    """Of these calls, how many have an answer already; those of later rounds are not known yet."""
    input_tokens: int = 0
    output_tokens: int = 0
    themes: int = 0
    """Themes that are asked about."""
    left_out: int = 0
    """Themes that the budget does not reach: the smallest."""


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """What a model wrote for a report; empty where it wrote nothing that could be used."""

    themes: Mapping[str, ThemeText] = field(default_factory=dict)
    """By community id."""
    summary: tuple[CitedSentence, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Over all themes, the most important first."""
    lists: Mapping[str, tuple[CitedSentence, ...]] = field(default_factory=dict)
    """What changed, was decided, is at risk, open, ahead or in dispute, by the name of the list."""
    left_out: tuple[LeftOut, ...] = ()
    usage: Usage = field(default_factory=Usage)
    plan: WritingPlan = field(default_factory=WritingPlan)

    @property
    def reasons(self) -> dict[str, int]:
        """How often something was left out, by reason."""
        return dict(sorted(Counter(each.reason for each in self.left_out).items()))
