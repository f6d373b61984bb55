"""The workflow of tiered retrieval: intention, categories, sufficiency, events, sufficiency, documents."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field, model_validator

from sag_retrieval.core.errors import ModelError, QueryError, RecordError
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.public import public
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold, is_cjk, language_of
from sag_retrieval.models.protocols import AnswerShape, ChatModel, Request
from sag_retrieval.prompts import load_prompt
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.search.methods.tiers.source import ReleaseTiers, RowHit, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions(CheckedOptions):
    """Options of one tier."""

    enabled: bool = True
    """Whether this tier is searched."""
    top_k: Annotated[int, Bounds(1)] = 5
    """Number of hits in this tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TiersOptions(CheckedOptions):
    """Options of all tiers, see docs/algorithm.md §tiers."""

    method: Literal["rag", "llm"] = "rag"
    """Choose rows by vectors, with scores; or by the language model among the rows below its earlier choice."""
    route_intention: bool = True
    """Ask first whether retrieval is needed, and resolve references in the question."""
    sufficiency_check: bool = True
    """Ask after categories and after events whether they suffice."""
    category: TierOptions = field(default_factory=TierOptions)
    """The tier of communities."""
    item: TierOptions = field(default_factory=TierOptions)
    """The tier of events."""
    resource: TierOptions = field(default_factory=TierOptions)
    """The tier of documents."""
    candidates: Annotated[int, Bounds(1), Internal()] = 100
    """Highest number of rows shown to a language model; more are preselected by vectors."""
    categories: str = "communities"
    """What the categories are: `communities`, or `key:TYPE` for one per text key of a type, such as `key:person`."""
    widen: Annotated[bool, Internal()] = True
    """Method `llm`: if the tier above found nothing, choose among all rows."""
    language: str | None = None
    """Language of the prompts; None: the question's."""


_MOST_NAMES: Final = 4
_REFERS_EN = patterns("en")["refers_back"]
"""Words for what was named before; `that` and `there` also introduce clauses, and count where they do not."""
_REFERS_ZH = patterns("zh")["refers_back"]
_GOES_ON = patterns("all")["goes_on_from_before"]
_DATE_OR_NUMBER = patterns("all")["date_or_number"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said in a conversation, and whether the user said it."""

    text: str
    is_user: bool = True


def stand_alone(index: Index, question: str, earlier: Sequence[Turn], allowed: Allowed | None = None) -> str:
    """The question with the names that it refers to in earlier turns, if any (docs/algorithm.md §tiers.4)."""
    own = names_in(index, question, allowed)
    refers = _REFERS_ZH if is_cjk(question) else _REFERS_EN
    if not earlier or (own and not refers.search(question) and not _GOES_ON.search(question)):
        return question
    said = {fold(name) for name in own}
    meant = [name for name in dict.fromkeys(_names_before(index, earlier, allowed)) if fold(name) not in said][
        :_MOST_NAMES
    ]
    if meant:
        return f"{question}（{'、'.join(meant)}）" if is_cjk(question) else f"{question} ({', '.join(meant)})"
    latest = next((turn.text for turn in reversed(earlier) if turn.is_user), "")
    return question if own or not latest else f"{latest} {question}"


def names_in(index: Index, text: str, allowed: Allowed | None = None) -> list[str]:
    """Keys that a text names, as documents spell them, without dates and numbers; those that a restriction leaves."""
    values = index.rows["keys"]["value_string"]
    named = (rows if allowed is None else rows[allowed.keys[rows]] for _, rows in index.arrays.mentions.find(text))
    found = (str(values[int(rows[0])].as_py()) for rows in named if len(rows))
    return [name for name in dict.fromkeys(found) if not _DATE_OR_NUMBER.match(name)]


def _names_before(index: Index, earlier: Sequence[Turn], allowed: Allowed | None) -> Iterator[str]:
    """Names of the latest turns, back to the first turn of the user that has or follows any."""
    has_any = False
    for turn in reversed(earlier):
        names = names_in(index, turn.text, allowed)
        yield from names
        has_any = has_any or bool(names)
        if has_any and turn.is_user:
            return


Decided = Literal["RETRIEVE", "NO_RETRIEVE"]
TierReply = TypeVar("TierReply", bound=BaseModel)

_DECISION: Final = re.compile("<(/?)decision>", re.IGNORECASE)
_REWRITTEN: Final = re.compile("<(/?)rewritten_query>", re.IGNORECASE)
_NO: Final = re.compile(r"no[_\s-]++retrieve", re.IGNORECASE)


def read_decision(text: str) -> tuple[Decided, str | None]:
    """The decision in a model's words, and the rewritten query, None without one.

    A tag takes precedence; without one, NO_RETRIEVE if the text has it; else RETRIEVE.

    Examples:
        >>> read_decision("<decision>NO_RETRIEVE</decision>"), read_decision("maybe")
        (('NO_RETRIEVE', None), ('RETRIEVE', None))
    """
    tagged = _within(_DECISION, text)
    decided = text if tagged is None else tagged
    return "NO_RETRIEVE" if _NO.search(decided) else "RETRIEVE", _within(_REWRITTEN, text)


def _within(tag: re.Pattern[str], text: str) -> str | None:
    """The text between the first opening tag and the next closing one; None without both."""
    opened: int | None = None
    for found in tag.finditer(text):
        if opened is None and not found[1]:
            opened = found.end()
        elif opened is not None and found[1]:
            return text[opened : found.start()].strip()
    return None


class Decision(AnswerShape):
    """Whether to continue, and the question rewritten to be understood without context."""

    decision: Decided = Field(description="RETRIEVE to look further, NO_RETRIEVE if nothing more is needed")
    rewritten_query: str = Field(default="", description="the question, clear without what came before")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:  # noqa: ANN401  pydantic passes any JSON
        if isinstance(value, str):
            value = {"decision": value}
        if not isinstance(value, dict) or not isinstance(value.get("decision"), str):
            return value
        decided, rewritten = read_decision(value["decision"])
        return {"rewritten_query": rewritten or "", **value, "decision": decided}


class Chosen(AnswerShape):
    """Entries that help to answer."""

    entries: list[int] = Field(description="numbers of the entries that help, the best first")


@dataclass(slots=True)
class TierJudge:
    """Asks a language model; a missing answer is None, with the reason in `failure`."""

    chat: ChatModel
    language: str
    calls: int = 0
    failure: str = ""

    def intention(self, question: str, context: Sequence[str]) -> Decision | None:
        """Whether the question needs retrieval."""
        return self._ask("tier_intention", Decision, question=question, context="\n".join(context) or "-")

    def sufficiency(self, question: str, context: Sequence[str], found: str) -> Decision | None:
        """Whether the found rows answer the question."""
        before = "\n".join(context) or "-"
        return self._ask("tier_sufficient", Decision, question=question, context=before, found=found or "-")

    def choose(self, question: str, texts: Sequence[str], count: int) -> list[int] | None:
        """Positions of at most `count` entries, each once; None if there is no answer."""
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))
        answer = self._ask("tier_rank", Chosen, question=question, entries=listed or "-", count=count)
        if answer is None:
            return None
        return [n - 1 for n in dict.fromkeys(answer.entries) if 1 <= n <= len(texts)][:count]

    def _ask(self, step: str, answer: type[TierReply], **values: object) -> TierReply | None:
        prompt = load_prompt(step, self.language)
        request = Request(prompt=prompt.fill(**values), answer=answer, step=step, system=prompt.system)
        self.calls += 1
        self.failure = ""
        try:
            return self.chat.ask(request).value
        except (ModelError, OSError, ValueError, RuntimeError) as error:
            self.failure = f"{type(error).__name__}: {error}"
            return None


def question_text(query: object) -> str:
    """The text of `"…"`, `{"content": "…"}` or `{"content": {"text": "…"}}`."""
    content = query.get("content") if isinstance(query, Mapping) else query
    text = content.get("text") if isinstance(content, Mapping) and isinstance(query, Mapping) else content
    if not isinstance(text, str):
        raise RecordError(f"a query is a text or {{'role': …, 'content': {{'text': …}}}}, got {type(query).__name__}")
    if not text.strip():
        raise QueryError("the query is empty; ask with at least one word")
    return text


RewriteRule = Callable[[str], str]
"""A question with what it refers to in earlier turns."""
TIERS: Final[tuple[Tier, ...]] = ("category", "item", "resource")
_ABOVE: Final[dict[Tier, Tier]] = {"item": "category", "resource": "item"}


@public
@dataclass(frozen=True, slots=True)
class TierStep:
    """One executed step: the query it used, what it found or decided, and its cost."""

    step: str
    query: str
    hits: tuple[RowHit, ...] = ()
    """Id and score of each row; the score is None if a language model chose it."""
    decision: str = ""
    """RETRIEVE to look further, NO_RETRIEVE if that is enough."""
    mode: str = ""
    """Who chose or decided: `rag` vectors, `llm` the language model, `rule` a rule, `no answer` a model that failed."""
    note: str = ""
    """Why a model gave no answer."""
    milliseconds: float = 0.0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class TiersFound:
    """The rows found, as ids with scores by tier, and as whole rows of the source.

    `stopped_at` names the step that ended the search, or is empty when all enabled tiers were searched.
    """

    needs_retrieval: bool
    original_query: str
    rewritten_query: str
    next_step_query: str | None
    method: str
    stopped_at: str
    trace: tuple[TierStep, ...]
    hits: dict[Tier, list[RowHit]]
    source: ReleaseTiers

    def rows(self, tier: Tier) -> list[dict[str, Any]]:
        """Whole rows without vectors, with a `score` if vectors chose them."""
        rows = self.source.rows(tier, [row for row, _ in self.hits[tier]])
        scores = [score for _, score in self.hits[tier]]
        return [row if score is None else {**row, "score": score} for row, score in zip(rows, scores, strict=True)]


def retrieve(
    queries: Sequence[object],
    source: ReleaseTiers,
    options: TiersOptions | None = None,
    *,
    chat: ChatModel | None = None,
    rewrite: RewriteRule | None = None,
) -> TiersFound:
    """Rows of the tiers for the last query; the queries before it are its context (docs/algorithm.md §tiers.1).

    If the model fails at a step, the search continues with the query unchanged, or vectors choose the rows; the trace
    records it. `rewrite` puts a question with earlier turns so that it can be searched alone, where no model does.
    """
    if not queries:
        raise QueryError("no query given; the last of the list is the question")
    *context, question = map(question_text, queries)
    chosen = options or TiersOptions()
    judge = TierJudge(chat, chosen.language or language_of(question)) if chat is not None else None
    run = _Run(source, chosen, judge, question, tuple(context), rewrite)
    stopped_at = run.go()
    return TiersFound(
        needs_retrieval=stopped_at != "route_intention",
        original_query=question,
        rewritten_query=run.rewritten,
        next_step_query=run.next_query,
        method=chosen.method if judge else "rag",
        stopped_at=stopped_at,
        trace=tuple(run.trace),
        hits=run.hits,
        source=source,
    )


@dataclass(slots=True)
class _Run:
    source: ReleaseTiers
    options: TiersOptions
    judge: TierJudge | None
    active: str
    context: tuple[str, ...]
    rewrite: RewriteRule | None = None
    rewritten: str = ""
    next_query: str | None = None
    hits: dict[Tier, list[RowHit]] = field(default_factory=lambda: {tier: [] for tier in TIERS})
    trace: list[TierStep] = field(default_factory=list)

    def go(self) -> str:
        """The step that ended the search, or empty."""
        if self._is_enough_without():
            return "route_intention"
        for tier in TIERS:
            options: TierOptions = getattr(self.options, tier)
            if not options.enabled:
                continue
            self._search(tier, options.top_k)
            if tier != "resource" and self._suffices(tier):
                return f"sufficiency_after_{tier}"
        return ""

    def _is_enough_without(self) -> bool:
        """Whether the question needs no retrieval; resolves its references."""
        self.rewritten = self.active
        if not self.options.route_intention:
            return False
        judge, asked = self.judge, self.active
        if judge is None:
            self._rewrite_by_rule()
            return False
        decision = self._decide("route_intention", lambda: judge.intention(asked, self.context))
        if decision.rewritten_query and self.context:
            self.active = self.rewritten = decision.rewritten_query
        elif judge.failure:
            self._rewrite_by_rule()
        return decision.decision == "NO_RETRIEVE"

    def _rewrite_by_rule(self) -> None:
        start, asked = perf_counter(), self.active
        if self.rewrite is not None and self.context:
            self.active = self.rewritten = self.rewrite(asked)
        if self.active != asked:
            self._note(TierStep("route_intention", asked, decision="RETRIEVE", mode="rule"), start)

    def _suffices(self, tier: Tier) -> bool:
        if self.judge is None or not self.options.sufficiency_check:
            return False
        judge, asked, found = self.judge, self.active, self._found(tier)
        decision = self._decide(f"sufficiency_after_{tier}", lambda: judge.sufficiency(asked, self.context, found))
        self.active = self.next_query = decision.rewritten_query or self.active
        return decision.decision == "NO_RETRIEVE"

    def _decide(self, step: str, ask: Callable[[], Decision | None]) -> Decision:
        asked, start = self.active, perf_counter()
        answer = ask()
        decision = answer or Decision(decision="RETRIEVE")
        self._note(
            TierStep(step, asked, decision=decision.decision, mode="llm" if answer else "no answer", calls=1),
            start,
        )
        return decision

    def _search(self, tier: Tier, k: int) -> None:
        start, judge = perf_counter(), self.judge
        step = TierStep(f"recall_{tier}", self.active, mode="rag")
        if self.options.method == "llm" and judge is not None:
            calls = judge.calls
            found = self._choose(judge, tier, k)
            step = replace(step, mode="llm" if found is not None else "rag", calls=judge.calls - calls)
        else:
            found = None
        self.hits[tier] = [*self.source.nearest(tier, self.active, k)] if found is None else found
        self._note(replace(step, hits=tuple(self.hits[tier])), start)

    def _choose(self, judge: TierJudge, tier: Tier, k: int) -> list[RowHit] | None:
        """Rows that the language model chose; None if it gave no answer."""
        ids = self._candidates(tier)
        if not ids:
            return []
        places = judge.choose(self.active, self.source.texts(tier, ids), k)
        return None if places is None else [(ids[place], None) for place in places]

    def _candidates(self, tier: Tier) -> list[str]:
        """Rows below the hits of the tier above; of too many, those most similar to the query."""
        above = [row for row, _ in self.hits[_ABOVE[tier]]] if tier in _ABOVE else None
        if above == [] and self.options.widen:
            above = None
        ids = self.source.members(tier, above)
        if len(ids) <= self.options.candidates:
            return ids
        below = set(ids)
        nearest = self.source.nearest(tier, self.active, len(ids) if above else self.options.candidates)
        return [row for row, _ in nearest if row in below][: self.options.candidates]

    def _found(self, tier: Tier) -> str:
        """The rows found in a tier as text for a language model."""
        texts = self.source.texts(tier, [row for row, _ in self.hits[tier]])
        scores = (score for _, score in self.hits[tier])
        return "\n".join(
            text if score is None else f"{text} ({score:.3f})" for text, score in zip(texts, scores, strict=True)
        )

    def _note(self, step: TierStep, start: float) -> None:
        failure = self.judge.failure if self.judge and step.calls else ""
        self.trace.append(replace(step, note=failure, milliseconds=1_000 * (perf_counter() - start)))
