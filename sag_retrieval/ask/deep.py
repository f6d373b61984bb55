"""Deep mode: execute a plan of sub-questions in parallel, ask whether that is enough, then answer."""

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from sag_retrieval.ask.cited import Cited, merge_answers, without_markers
from sag_retrieval.ask.fast import extractive_answer
from sag_retrieval.ask.model_sql import answer_by_sql
from sag_retrieval.ask.modes import (
    Background,
    ModelAnswer,
    ModeResult,
    cited_answer,
    evidence_values,
    extract_answer,
    find_background,
    from_rows,
    shown_hits,
    write_answer,
)
from sag_retrieval.ask.options import AT_ONCE, FoundPassage
from sag_retrieval.ask.passages import chunks_of, merge_hits
from sag_retrieval.ask.plan import DraftPlan, Edge, Node, Plan, SubQuestion, check_plan, fill, marks, single_step
from sag_retrieval.ask.question import split_question
from sag_retrieval.ask.session import Found, Session, documents_of
from sag_retrieval.core.errors import ModelError
from sag_retrieval.language.sentences import one_line
from sag_retrieval.models.protocols import AnswerShape
from sag_retrieval.prompts import as_lines

LONGEST_FILLED = 200
"""Characters of an earlier answer that go into a later question."""
_LONGEST_KEY = 80
_WIDER = 3


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The outcome of a step: `asked` is its question with earlier answers, `fault` why it has no answer."""

    step: SubQuestion
    asked: str
    keys: tuple[str, ...]
    answer: str
    cited: Cited | None
    found: Found
    seconds: float
    fault: str = ""

    @property
    def is_found(self) -> bool:
        """Whether the evidence held an answer."""
        return self.cited is not None

    @property
    def cited_hits(self) -> list[FoundPassage]:
        """The hits that its answer cites."""
        wanted = {c.chunk_id for c in self.cited.citations} if self.cited else set()
        return [hit for hit in self.found.hits if not wanted.isdisjoint(chunks_of(hit))]

    def to_line(self) -> dict[str, str]:
        """The step as prompts show it."""
        return {"id": self.step.node_id, "question": self.asked, "answer": self.answer}

    def to_trace(self) -> dict[str, Any]:
        """The step as the trace holds it."""
        return {
            "id": self.step.node_id,
            "question": self.step.question,
            "needs": list(self.step.needs),
            "asked": self.asked,
            "keys": list(self.keys),
            **({"sql": self.step.sql} if self.step.sql else {}),
            "answer": self.answer,
            "is_found": self.is_found,
            "cited": documents_of(self.cited_hits),
            "documents": documents_of(self.found.hits),
            "seconds": self.seconds,
            **({"fault": self.fault} if self.fault else {}),
        }


def answer_step(session: Session, step: SubQuestion, known: Mapping[str, StepOutcome]) -> StepOutcome:
    """The outcome of a step after all steps it needs; a failing model leaves its hits and the fault.

    Source: docs/algorithm.md §rag.6.
    """
    started = session.seconds
    needs = [known[node_id] for node_id in step.needs]
    asked = asked_question(step.question, known) or session.question
    answers = [one_line(need.answer) for need in needs if need.is_found]
    keys = tuple(dict.fromkeys([*step.keys, *(a for a in answers if a and len(a) <= _LONGEST_KEY)]))
    text = asked if marks(step.question) else " ".join([asked, *answers])
    session.tell("started", id=step.node_id, question=asked, keys=list(keys))
    found = session.find(text, keys, step.sql)
    cited, answer, fault = None, "", ""
    try:
        cited, answer, found = _answered(session, step, asked, found, needs)
    except ModelError as error:
        fault = str(error)
        session.note(f"step {step.node_id} ({asked}) has no answer: {error}")
    outcome = StepOutcome(step, asked, keys, answer, cited, found, session.seconds - started, fault)
    session.tell("answered", **outcome.to_trace())
    return outcome


def asked_question(question: str, known: Mapping[str, StepOutcome]) -> str:
    """The question with earlier answers, or the earlier questions where there is none, in place of ids."""
    values = {
        node_id: one_line(outcome.answer)[:LONGEST_FILLED] if outcome.is_found else outcome.asked.rstrip("?？ ")
        for node_id, outcome in known.items()
    }
    return fill(question, values)


def _answered(
    session: Session, step: SubQuestion, asked: str, found: Found, needs: Sequence[StepOutcome]
) -> tuple[Cited | None, str, Found]:
    """The answer from the first hits, else from the next ones of a wider search by the question alone, unrestricted."""
    if session.chat is None:
        cited = extractive_answer(asked, found.hits, weigh=session.weigh, limit=1)
        return cited, _bare(cited.citations[0].quote) if cited else "", found
    known = as_lines(need.to_line() for need in needs)
    cited, answer = _ask(session, asked, found.hits, known)
    if cited is not None:
        return cited, answer, found
    if found.restriction:
        session.note(f"step {step.node_id}: no answer under the model's restriction; searched without it")
    wide = session.find(asked, (), "", session.options.top_k * _WIDER)
    seen = {chunk for hit in found.hits for chunk in chunks_of(hit)}
    fresh = tuple(hit for hit in wide.hits if not seen.issuperset(chunks_of(hit)))
    cited, answer = _ask(session, asked, fresh, known)
    both = replace(found, hits=merge_hits(found.hits, fresh), ranked=merge_hits(found.ranked, wide.ranked))
    return cited, answer, both


def _ask(session: Session, asked: str, hits: Sequence[FoundPassage], known: str) -> tuple[Cited | None, str]:
    shown = shown_hits(hits[: session.options.evidence])
    if not shown:
        return None, ""
    reply = session.ask("sub_answer", ModelAnswer, evidence_values(session, asked, shown, known))
    cited = cited_answer(session, asked, reply, shown)
    return cited, _bare(reply.answer) if cited else ""


def _bare(text: str) -> str:
    """A sub-answer as later questions, searches and prompts take it: one line, without the markers of its passages."""
    return one_line(without_markers(text))


def execute_plan(session: Session, plan: Plan, known: Mapping[str, StepOutcome]) -> dict[str, StepOutcome]:
    """Outcomes of the plan's steps in its order."""
    done = dict(known)
    waiting = list(plan.steps)
    running: dict[Future[StepOutcome], SubQuestion] = {}
    with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="sag-step") as pool:
        while waiting or running:
            ready = [step for step in waiting if all(need in done for need in step.needs)]
            waiting = [step for step in waiting if step not in ready]
            running |= {pool.submit(answer_step, session, step, dict(done)): step for step in ready}
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                done[running.pop(future).node_id] = future.result()
    return {step.node_id: done[step.node_id] for step in plan.steps}


KnownAnswers = Mapping[str, StepOutcome]


class Verdict(AnswerShape):
    """The model's answer to "is it enough?", with a further plan if it is not."""

    thinking: str = Field(default="", description="what follows from the answers, in a few words; written first")
    is_enough: bool = Field(description="whether what is known answers the question")
    missing: str = Field(default="", description="what is still missing")
    nodes: list[Node] = Field(default_factory=list)
    edges: list[Edge] = Field(default_factory=list)


def ask_deep(session: Session) -> ModeResult:
    """The outcome of up to `rounds` plans (docs/algorithm.md §rag.6)."""
    of_rows = answer_by_sql(session)
    if of_rows is not None:
        return from_rows(session, of_rows)
    background = find_background(session)
    known: dict[str, StepOutcome] = {}
    rounds: list[dict[str, Any]] = []
    plan: Plan | None = _first_plan(session, background)
    while plan is not None:
        for text in plan.notes:
            session.note(text)
        steps = [{"id": step.node_id, "question": step.question, "needs": list(step.needs)} for step in plan.steps]
        session.tell("plan", round=len(rounds) + 1, steps=steps)
        outcomes = execute_plan(session, plan, known)
        known |= outcomes
        rounds.append({"steps": [o.to_trace() for o in outcomes.values()], "notes": list(plan.notes)})
        is_last = len(rounds) == session.options.rounds or session.chat is None
        plan = None if is_last else _next_plan(session, known, rounds[-1])
    hits = evidence(session, tuple(known.values()), background.ranked)
    cited = write_answer(session, hits, _known_lines(known), lambda: _without_model(session, known, hits))
    return ModeResult(cited, hits, {"background": background.trace, "rounds": rounds})


def evidence(
    session: Session, outcomes: Sequence[StepOutcome], background: Sequence[FoundPassage]
) -> tuple[FoundPassage, ...]:
    """Hits that a model cites for steps, in their order; then those of background and steps as one set of searches."""
    written = [outcome for outcome in outcomes if outcome.cited and outcome.cited.is_generated]
    cited = [hit for outcome in written for hit in outcome.cited_hits]
    return merge_hits(cited, session.joined([background, *(outcome.found.ranked for outcome in outcomes)]))


def _first_plan(session: Session, background: Background) -> Plan:
    if session.chat is None:
        return split_question(session.question, session.options.nodes)
    values = background.values(session) | {"limit": session.options.nodes}
    try:
        draft = session.ask("plan", DraftPlan, values)
    except ModelError as error:
        return single_step(session.question, f"there is no plan, the question is asked whole: {error}")
    return check_plan(draft, question=session.question, limit=session.options.nodes)


def _next_plan(session: Session, known: KnownAnswers, told: dict[str, Any]) -> Plan | None:
    """A plan for what is missing; None if it is enough, or nothing new would be asked."""
    values = {
        "known": _known_lines(known),
        "vocabulary": session.vocabulary,
        "question": session.question,
        "limit": session.options.nodes,
    }
    verdict = session.tried("enough", Verdict, values, "whether it is enough could not be asked")
    if verdict is None:
        return None
    told |= {"is_enough": verdict.is_enough, "missing": verdict.missing}
    session.tell("enough", is_enough=verdict.is_enough, missing=verdict.missing)
    if verdict.is_enough or not any(node.question.strip() for node in verdict.nodes):
        return None
    draft = DraftPlan(nodes=verdict.nodes, edges=verdict.edges)
    plan = check_plan(draft, question=session.question, limit=session.options.nodes, known=known)
    asked = {outcome.asked for outcome in known.values() if not outcome.fault}
    if all(asked_question(step.question, known) in asked for step in plan.steps):
        session.note("the further plan asks nothing new: stopped")
        return None
    return plan


def _without_model(session: Session, known: KnownAnswers, hits: Sequence[FoundPassage]) -> Cited | None:
    """Answers of the steps that no other step needs; else the best sentences for the whole question."""
    needed = {need for outcome in known.values() for need in outcome.step.needs}
    last = [o for node_id, o in known.items() if node_id not in needed and o.cited is not None]
    return merge_answers(session.question, [o.cited for o in last if o.cited]) or extract_answer(session, hits)


def _known_lines(known: KnownAnswers) -> str:
    return as_lines(outcome.to_line() for outcome in known.values()) or "-"
