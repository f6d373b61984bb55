"""Answer a question in one of the modes, reporting progress events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pkgutil import resolve_name
from typing import Any

from pydantic import Field, field_validator

from sag_retrieval.ask.answer import CLOSEST_TO, Answer, not_found
from sag_retrieval.ask.cited import Cited, cite, merge_answers, support
from sag_retrieval.ask.fast import answer_part, extractive_answer, quotations
from sag_retrieval.ask.joined import answer_over_rows, is_of_another_row
from sag_retrieval.ask.model_sql import answer_by_sql
from sag_retrieval.ask.options import MODES, AskOptions, FoundPassage, Mode, SearchFunction
from sag_retrieval.ask.passages import chunks_of, merge_hits
from sag_retrieval.ask.plan import LONGEST_QUESTION, NamedKey, keys_from_texts, usable_keys
from sag_retrieval.ask.question import QuestionPart, question_parts
from sag_retrieval.ask.release_context import ReleaseContext, evidence_lines
from sag_retrieval.ask.revised import is_corrected, standing, told
from sag_retrieval.ask.scorer import SCORERS, keys_of
from sag_retrieval.ask.sections import answer_from_sections
from sag_retrieval.ask.sentences import PartAnswer
from sag_retrieval.ask.session import EVIDENCE_CHARACTERS, OnEvent, Session, documents_of
from sag_retrieval.ask.table_answer import TableAnswer, answer_from_tables
from sag_retrieval.ask.values import NAME_TYPES, is_known, names_in
from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.language.data import asking
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.protocols import AnswerShape, ChatModel
from sag_retrieval.prompts import as_lines, numbered
from sag_retrieval.search.method import LONGEST_QUERY, check_text
from sag_retrieval.search.segments import SegmentOptions

_WIDER = 2
"""Passages that are read for each that the options ask for: an answer often stands below the first ten."""
_PARTS = 4
_NAMES = 3
_TRACED = ("text", "score", "coverage", "focus", "is_of_kind")
_CLOSEST = 2
"""Closest sentences for a part without an answer, where another part has one."""
MOST_CLOSEST = 3
"""Closest passages that are shown where nothing answers."""


@dataclass(frozen=True, slots=True)
class ModeResult:
    """A cited text or None, all hits in rank order, and the trace."""

    cited: Cited | None
    hits: tuple[FoundPassage, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    closest: Cited | None = None
    """What comes closest where nothing answers."""
    sql: str = ""
    """The SELECT that made the answer, where one did."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """Its rows."""


def from_rows(session: Session, found: TableAnswer) -> ModeResult:
    """The outcome of an answer from tables."""
    session.notes.extend(found.notes)
    return ModeResult(found.cited, found.hits, sql=found.sql, rows=found.rows)


def ask_fast(session: Session) -> ModeResult:
    """The quotations that answer the parts of a question; else the closest ones, marked as such.

    Source: docs/algorithm.md §answers.1.
    """
    context, is_list = session.context, asking("list", "forms").search(session.question)
    below = answer_from_sections(session) if is_list and context is not None and context.select is not None else None
    if below is not None:
        return ModeResult(*below)
    rows = answer_from_tables(session) or answer_over_rows(session)
    if rows is not None and not is_corrected(session, rows.cited.text.partition("[")[0]):
        return from_rows(session, rows)
    answers: list[PartAnswer] = []
    parts = question_parts(session.question)[:_PARTS]
    for part in parts:
        answer = _answered(session, part, answers, is_only=len(parts) == 1)
        answers.append(standing(answer, session.question))
    found, is_close = [a for a in answers if a.is_found], any(a.is_close for a in answers)
    found = [answer for answer in found if not is_of_another_row(session, answer)]
    answered = {answer.part.text for answer in found}
    hits = merge_hits(*(answer.hits for answer in answers))
    session.tell("background", documents=documents_of(hits), keys=[])
    trace = {"parts": [_told(answer) for answer in answers]}
    if not found:
        return ModeResult(None, hits, trace, quotations(session.question, answers if is_close else (), MOST_CLOSEST))
    cited = [quotations(session.question, found)]
    for part in parts:
        if part.text not in answered:
            session.note(f"no sentence clearly answers {part.text!r}")
            close = next((a for a in answers if a.part.text == part.text and a.is_close), None)
            cited.append(_closest_to(session, close, cited[0]) if close else None)
    whole = merge_answers(session.question, [each for each in cited if each])
    others = [one for answer in found for one in answer.others]
    return ModeResult(told(session.question, whole, hits, others) if whole else None, hits, trace)


def _closest_to(session: Session, answer: PartAnswer, known: Cited | None) -> Cited | None:
    """The closest sentences for a part that has no answer where another part has one, but those that are known."""
    said = {citation.quote for citation in known.citations} if known else set()
    sentences = [sentence for sentence in answer.sentences if sentence.text not in said][:_CLOSEST]
    cited = quotations(session.question, [replace(answer, sentences=tuple(sentences))])
    lead = CLOSEST_TO["zh" if session.is_chinese else "en"].format(asked=answer.part.text)
    return replace(cited, text=lead + cited.text) if cited else None


def _answered(session: Session, part: QuestionPart, before: Sequence[PartAnswer], *, is_only: bool) -> PartAnswer:
    names = _names_of(before, session.question) if part.points_back else ()
    top_k = session.options.top_k * _WIDER
    result = session.find(" ".join([part.text, *names]), names, top_k=top_k)
    hits: tuple[FoundPassage, ...] = tuple(result.hits)
    if not is_only:
        hits = merge_hits((), hits, tuple(session.find(session.question, top_k=top_k).hits))
    return answer_part(
        part,
        hits,
        keys=result.keys,
        weigh=session.weigh,
        question=session.question,
        limit=session.options.sentences,
        scorer=SCORERS.function(session.options.answer_scorer),
    )


def _names_of(answers: Sequence[PartAnswer], question: str) -> tuple[str, ...]:
    """New names in the sentences that answer the part before."""
    if not answers:
        return ()
    last, asked = answers[-1], normal_name(question)
    found = [
        name
        for sentence in last.sentences
        for name in sorted(names_in(sentence.text, keys_of(last.hits[sentence.place]), NAME_TYPES))
        if not is_known(name, asked)
    ]
    return tuple(dict.fromkeys(found))[:_NAMES]


def _told(answer: PartAnswer) -> dict[str, object]:
    return {
        "question": answer.part.text,
        "kind": answer.part.kind,
        "is_found": answer.is_found,
        "likelihood": answer.likelihood,
        "sentences": [
            {"chunk_id": answer.hits[sentence.place].chunk_id} | {name: getattr(sentence, name) for name in _TRACED}
            for sentence in answer.sentences
        ],
    }


def to_answer(session: Session, mode: str, outcome: ModeResult) -> Answer:
    """The answer; hits that a model cites come first."""
    cited = outcome.cited
    shown_instead = None if cited else outcome.closest
    by_chunk = {chunk: hit for hit in reversed(outcome.hits) for chunk in chunks_of(hit)}
    named = cited.citations if cited and cited.is_generated else ()
    first = [by_chunk[citation.chunk_id] for citation in named if citation.chunk_id in by_chunk]
    filters = {"filters": session.filters} if session.filters else {}
    trace = {"mode": mode, **outcome.trace, **filters, "calls": session.calls, "usage": asdict(session.usage)}
    answer = Answer(
        session.question,
        cited.text if cited else not_found(session.language, shown_instead.text if shown_instead else ""),
        mode,
        cited is not None,
        cited.citations if cited else shown_instead.citations if shown_instead else (),
        merge_hits(first, outcome.hits),
        tuple(session.notes),
        session.usage,
        session.seconds,
        trace,
        outcome.sql,
        outcome.rows,
    )
    session.tell("done", is_found=answer.is_found, text=answer.text)
    return answer


def ask(  # noqa: PLR0913  the search, the question, and what may be chosen
    search: SearchFunction,
    question: str,
    *,
    mode: Mode = "fast",
    chat: ChatModel | None = None,
    options: AskOptions | None = None,
    on_event: OnEvent = lambda _: None,
    context: ReleaseContext | None = None,
    segments: SegmentOptions | None = None,
) -> Answer:
    """The answer to a question.

    Args:
        search: The atomic search of a release.
        question: What is asked.
        mode: `fast` (no model), `normal` (question rewritten), `deep` (plan of sub-questions) or `global` (themes).
        chat: The language model; without one, normal and deep use rules and note it.
        options: Bounds and choices.
        context: The release that is searched; without it passages are neither joined nor shown with more than title
            and text.
        segments: Answer from joined passages, by these options; None: from chunks.
        on_event: Called at every step, by one thread at a time.

    Returns:
        An answer even where the model fails: failures and spent budgets are in its `notes`.

    Raises:
        QueryError: If the question is blank or the mode unknown.
        FilterError: If the restriction in the options was refused.
    """
    check_text("question", question, LONGEST_QUERY)
    if not question.strip():
        raise QueryError("the question is blank; ask something")
    if not isinstance(mode, str) or mode not in MODES:
        raise QueryError(f"mode {shown(mode)} is unknown; there are {', '.join(MODES)}")
    session = Session(question.strip(), search, chat, options or AskOptions(), on_event, context, segments)
    work: Callable[[Session], ModeResult] = resolve_name(MODES[mode].target)
    return to_answer(session, mode, work(session))


_PASSAGES = 6
_KEYS = 20
_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Background:
    """Hits of the first search, and the text of both as prompts show them."""

    hits: tuple[FoundPassage, ...]
    ranked: Sequence[FoundPassage]
    passages: str
    keys: str
    trace: dict[str, Any]

    def values(self, session: Session) -> dict[str, object]:
        """What the prompts of rewriting and planning are filled with."""
        told: dict[str, object] = {"passages": self.passages, "keys": self.keys}
        return told | {"vocabulary": session.vocabulary, "question": session.question}


def find_background(session: Session) -> Background:
    """The background of the session's question."""
    result = session.find(session.question)
    top = result.hits[:_PASSAGES]
    passages = numbered([hit.text for hit in top], [hit.title for hit in top], longest=_CHARACTERS) or "-"
    named = [{"type": str(key.type), "value": str(key.value)} for key in result.keys[:_KEYS]]
    trace = {"documents": documents_of(result.hits), "keys": [key["value"] for key in named]}
    session.tell("background", **trace)
    return Background(tuple(result.hits), result.ranked, passages, as_lines(named) or "-", trace)


class ModelAnswer(AnswerShape):
    """The model's answer to a question or a sub-question, and the numbers of the passages that support it."""

    is_found: bool = Field(description="whether the evidence holds the answer")
    answer: str = Field(description="the answer; empty if it is not in the evidence")
    cited: list[int] = Field(default_factory=list, description="numbers of the evidence lines used")


def write_answer(
    session: Session, hits: Sequence[FoundPassage], known: str = "", instead: Callable[[], Cited | None] | None = None
) -> Cited | None:
    """The cited answer to the session's question from the first `evidence` passages; None where they do not hold it.

    `known` are earlier answers as the prompt shows them; `instead` answers where no model can, by default the best
    sentences.
    """
    shown = shown_hits(hits[: session.options.evidence])
    extract = instead or (lambda: extract_answer(session, shown))
    if session.chat is None or not shown:
        return extract()
    values = evidence_values(session, session.question, shown, known)
    reply = session.tried("answer", ModelAnswer, values, "the answer was made without the model", is_last=True)
    return extract() if reply is None else cited_answer(session, session.question, reply, shown)


def extract_answer(session: Session, hits: Sequence[FoundPassage]) -> Cited | None:
    """The sentences that answer the session's question."""
    return extractive_answer(session.question, hits, weigh=session.weigh, limit=session.options.sentences)


def cited_answer(session: Session, question: str, reply: ModelAnswer, shown: Sequence[FoundPassage]) -> Cited | None:
    """The model's answer with its citations; None if it found nothing, or no passage holds any of it."""
    if not reply.is_found or not reply.answer.strip():
        return None
    cited = cite(question, reply.answer, reply.cited, shown)
    if cited.citations:
        return cited
    numbers = support(question, reply.answer, shown)
    if not numbers:
        session.note(f"an answer to {question!r} is supported by no passage: left out")
        return None
    return cite(question, reply.answer, numbers, shown)


def evidence_values(session: Session, question: str, shown: Sequence[FoundPassage], known: str) -> dict[str, object]:
    """Values of the prompts `answer` and `sub_answer`."""
    if session.context is not None and session.options.context:
        evidence = as_lines(evidence_lines(session.context.index, shown))
    else:
        evidence = numbered([hit.text for hit in shown], [hit.title for hit in shown])
    return {"evidence": evidence, "known": known or "-", "question": question}


def shown_hits(hits: Iterable[FoundPassage]) -> list[FoundPassage]:
    """The first hits whose texts fit into a prompt together; the first one always."""
    shown: list[FoundPassage] = []
    used = 0
    for hit in hits:
        used += len(hit.text)
        if shown and used > EVIDENCE_CHARACTERS:
            break
        shown.append(hit)
    return shown


class Rewrite(AnswerShape):
    """The question as the model rewrote it, and the keys the search should start from."""

    question: str = Field(description="the question, complete on its own")
    keys: list[NamedKey] = Field(default_factory=list, description="keys the search starts from")
    sql: str = Field(default="", description="a condition that the question itself states, or empty")

    _texts = field_validator("keys", mode="before")(keys_from_texts)


def ask_normal(session: Session) -> ModeResult:
    """The outcome of a search with the rewritten question."""
    of_rows = answer_by_sql(session)
    if of_rows is not None:
        return from_rows(session, of_rows)
    background = find_background(session)
    rewrite = _rewritten(session, background)
    if rewrite is None:
        return ModeResult(write_answer(session, background.hits), background.hits, {"background": background.trace})
    asked = rewrite.question.strip()[:LONGEST_QUESTION] or session.question
    result = session.find(asked, usable_keys(rewrite.keys), rewrite.sql.strip())
    if session.segments is None:
        hits = merge_hits(result.hits, background.hits)
    else:
        hits = session.joined([result.ranked, background.ranked])
    told = rewrite.model_dump() | {"documents": documents_of(result.hits)}
    return ModeResult(write_answer(session, hits), hits, {"background": background.trace, "rewrite": told})


def _rewritten(session: Session, background: Background) -> Rewrite | None:
    if session.chat is None:
        session.note("there is no language model: the question was searched unchanged")
        return None
    rewrite = session.tried("rewrite", Rewrite, background.values(session), "the question was not rewritten")
    if rewrite is not None:
        session.tell("rewrite", **rewrite.model_dump())
    return rewrite
