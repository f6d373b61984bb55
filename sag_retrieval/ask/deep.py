"""The deep mode: a plan of sub-questions, worked off side by side, looked at again, then the answer."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.ask.cited import Cited, extract_answer, merge_answers, write_answer
from sag_retrieval.ask.deep import StepOutcome, asked_question, execute_plan
from sag_retrieval.ask.modes import Background, ModeResult, find_background, merge_hits
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.plan import DraftPlan, Edge, Node, Plan, SubQuestion, check_plan, single_step
from sag_retrieval.ask.question import question_terms
from sag_retrieval.ask.session import Session
from sag_retrieval.core.errors import ModelError
from sag_retrieval.prompts import as_lines
from sag_retrieval.text.sentences import sentences

KnownAnswers = Mapping[str, StepOutcome]


class Verdict(BaseModel):
    """The model's answer to "is it enough?", with a further plan if it is not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    thinking: str = Field(default="", description="what follows from the answers, in a few words; written first")
    is_enough: bool = Field(description="whether what is known answers the question")
    missing: str = Field(default="", description="what is still missing")
    nodes: list[Node] = Field(default_factory=list)
    edges: list[Edge] = Field(default_factory=list)


def ask_deep(session: Session) -> ModeResult:
    """The outcome of up to `rounds` plans.

    Source:
        docs/algorithm.md §rag.6

    """
    background = find_background(session)
    known: dict[str, StepOutcome] = {}
    rounds: list[dict[str, Any]] = []
    plan: Plan | None = _first_plan(session, background)
    while plan is not None:
        _tell_plan(session, plan, len(rounds) + 1)
        outcomes = execute_plan(session, plan, known)
        known |= outcomes
        rounds.append({"steps": [o.to_trace() for o in outcomes.values()], "notes": list(plan.notes)})
        is_last = len(rounds) == session.options.rounds or session.chat is None
        plan = None if is_last else _next_plan(session, known, rounds[-1])
    hits = evidence(tuple(known.values()), background.hits)
    cited = write_answer(session, hits, _known_lines(known), lambda: _without_model(session, known, hits))
    return ModeResult(cited, hits, {"background": background.trace, "rounds": rounds})


def evidence(outcomes: Sequence[StepOutcome], background: Sequence[FoundPassage]) -> tuple[FoundPassage, ...]:
    """Hits that a model cites for steps, in their order; then background and all steps in turn by rank."""
    written = [outcome for outcome in outcomes if outcome.cited and outcome.cited.is_generated]
    cited = [hit for outcome in written for hit in outcome.cited_hits]
    return merge_hits(cited, background, *(outcome.hits for outcome in outcomes))


def _first_plan(session: Session, background: Background) -> Plan:
    if session.chat is None:
        return split_question(session.question, session.options.nodes)
    values = {
        "passages": background.passages,
        "keys": background.keys,
        "question": session.question,
        "limit": session.options.nodes,
    }
    try:
        draft = session.ask("plan", DraftPlan, values)
    except ModelError as error:
        return single_step(session.question, f"there is no plan, the question is asked whole: {error}")
    return check_plan(draft, question=session.question, limit=session.options.nodes)


def _next_plan(session: Session, known: KnownAnswers, told: dict[str, Any]) -> Plan | None:
    """A plan for what is missing; None if it is enough, or nothing new would be asked."""
    values = {"known": _known_lines(known), "question": session.question, "limit": session.options.nodes}
    try:
        verdict = session.ask("enough", Verdict, values)
    except ModelError as error:
        session.note(f"whether it is enough could not be asked: {error}")
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


def _tell_plan(session: Session, plan: Plan, number: int) -> None:
    for text in plan.notes:
        session.note(text)
    steps = [{"id": s.node_id, "question": s.question, "needs": list(s.needs)} for s in plan.steps]
    session.tell("plan", round=number, steps=steps)


_ENGLISH = re.compile(
    r"(?:[,;]\s++|(?<!\s)\s++)(?:and|as well as)\s++(?=(?:in\s++)?(?:who|whom|whose|what|when|where|which|why|how)\b)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"[，,；;]\s*+(?:以及|并且|而且|和|又|还有|同时)?+(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎|为什么|吗))"
    r"|(?:以及|并且)(?=[^，,；;]{0,100}(?:谁|什么|何|哪|多少|几|怎))"
)
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|which|why|how)\b|谁|什么|何|哪|多少|几|怎|吗", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|its|he|his|him|she|her|they|their|them)\b|其|它|他|她|该", re.IGNORECASE)
_LEAST_TERMS = 2


def split_question(question: str, limit: int) -> Plan:
    """Parts of a question that each ask something, side by side; else the question itself.

    Example:
        >>> plan = split_question("Who wrote Emma, and when was Emma published?", 8)
        >>> [step.question for step in plan.steps]
        ['Who wrote Emma', 'when was Emma published?']
        >>> [step.question for step in split_question("谁创建了苹果公司，苹果公司总部在哪里？", 8).steps]
        ['谁创建了苹果公司', '苹果公司总部在哪里？']

    """
    parts = [
        part.strip()
        for sentence in sentences(question)
        for clause in _ENGLISH.split(sentence)
        for part in _CHINESE.split(clause)
    ]
    asking = list(dict.fromkeys(parts))
    if not all(map(_stands_alone, asking)):
        asking = [question]
    steps = [SubQuestion(f"q{n}", part) for n, part in enumerate((asking or [question])[:limit], start=1)]
    return Plan(tuple(steps), ("there is no language model: the question was divided by rules",))


def _stands_alone(part: str) -> bool:
    """Whether a part asks something by itself, without pointing to another part."""
    return bool(_ASKS.search(part)) and not _POINTS_BACK.search(part) and len(question_terms(part)) >= _LEAST_TERMS
