"""One step of a plan: earlier answers filled in, keys named, a search, an answer with what it rests on."""

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from sag_retrieval.ask.cited import Cited, ModelAnswer, cited_answer, evidence_values, extractive_answer, shown_hits
from sag_retrieval.ask.modes import merge_hits
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.plan import Plan, SubQuestion, fill, marks
from sag_retrieval.ask.session import Session, documents_of
from sag_retrieval.core.errors import ModelError
from sag_retrieval.prompts import as_lines

LONGEST_FILLED = 200
"""Characters of an earlier answer that go into a later question."""
_LONGEST_KEY = 80
_WIDER = 3


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What became of a step: `asked` is its question with earlier answers, `fault` why there is none."""

    step: SubQuestion
    asked: str
    keys: tuple[str, ...]
    answer: str
    cited: Cited | None
    hits: tuple[FoundPassage, ...]
    seconds: float
    fault: str = ""

    @property
    def is_found(self) -> bool:
        """Whether the evidence held an answer."""
        return self.cited is not None

    @property
    def cited_hits(self) -> tuple[FoundPassage, ...]:
        """The hits it rests on."""
        wanted = {c.chunk_id for c in self.cited.citations} if self.cited else set()
        return tuple(hit for hit in self.hits if hit.chunk_id in wanted)

    def to_line(self) -> dict[str, str]:
        """The step as prompts show it."""
        return {"id": self.step.node_id, "question": self.asked, "answer": self.answer}

    def to_trace(self) -> dict[str, Any]:
        """The step as the trace tells it."""
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
            "documents": documents_of(self.hits),
            "seconds": self.seconds,
            **({"fault": self.fault} if self.fault else {}),
        }


def answer_step(session: Session, step: SubQuestion, known: Mapping[str, StepOutcome]) -> StepOutcome:
    """The outcome of a step whose needs are all known; a failing model leaves its hits and the fault.

    Source:
        docs/algorithm.md §rag.6

    """
    started = session.clock()
    needs = [known[node_id] for node_id in step.needs]
    asked = asked_question(step.question, known) or session.question
    answers = [_one_line(need.answer) for need in needs if need.is_found]
    keys = tuple(dict.fromkeys([*step.keys, *(a for a in answers if a and len(a) <= _LONGEST_KEY)]))
    text = asked if marks(step.question) else " ".join([asked, *answers])
    session.tell("started", id=step.node_id, question=asked, keys=list(keys))
    hits = tuple(session.find(text, keys, step.sql).hits)
    cited, answer, fault = None, "", ""
    try:
        cited, answer, hits = _answered(session, step, asked, hits, needs)
    except ModelError as error:
        fault = str(error)
        session.note(f"step {step.node_id} ({asked}) has no answer: {error}")
    outcome = StepOutcome(step, asked, keys, answer, cited, hits, session.clock() - started, fault)
    session.tell("answered", **outcome.to_trace())
    return outcome


def asked_question(question: str, known: Mapping[str, StepOutcome]) -> str:
    """The question with earlier answers, or the earlier questions where there is none, in place of ids."""
    values = {
        node_id: _one_line(outcome.answer)[:LONGEST_FILLED] if outcome.is_found else outcome.asked.rstrip("?？ ")
        for node_id, outcome in known.items()
    }
    return fill(question, values)


def _answered(
    session: Session, step: SubQuestion, asked: str, hits: tuple[FoundPassage, ...], needs: Sequence[StepOutcome]
) -> tuple[Cited | None, str, tuple[FoundPassage, ...]]:
    """The answer from the first hits, else from the next ones of a wider search by the question alone."""
    if session.chat is None:
        cited = extractive_answer(asked, hits, limit=1)
        return cited, _one_line(cited.citations[0].quote) if cited else "", hits
    known = as_lines(need.to_line() for need in needs)
    cited, answer = _ask(session, asked, hits, known)
    if cited is not None:
        return cited, answer, hits
    wide = session.find(asked, (), step.sql, session.options.top_k * _WIDER).hits
    seen = {hit.chunk_id for hit in hits}
    fresh = tuple(hit for hit in wide if hit.chunk_id not in seen)
    cited, answer = _ask(session, asked, fresh, known)
    return cited, answer, merge_hits(hits, fresh)


def _ask(session: Session, asked: str, hits: Sequence[FoundPassage], known: str) -> tuple[Cited | None, str]:
    shown = shown_hits(hits[: session.options.evidence])
    if not shown:
        return None, ""
    reply = session.ask("sub_answer", ModelAnswer, evidence_values(asked, shown, known))
    cited = cited_answer(session, asked, reply, shown)
    return cited, _one_line(reply.answer) if cited else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def execute_plan(session: Session, plan: Plan, known: Mapping[str, StepOutcome]) -> dict[str, StepOutcome]:
    """Outcomes of the plan's steps in its order.

    Raises:
        FilterError: If the caller's restriction was refused.

    """
    done = dict(known)
    waiting = list(plan.steps)
    running: dict[Future[StepOutcome], SubQuestion] = {}
    with ThreadPoolExecutor(max_workers=session.options.at_once, thread_name_prefix="sag-step") as pool:
        while waiting or running:
            ready = [step for step in waiting if all(need in done for need in step.needs)]
            waiting = [step for step in waiting if step not in ready]
            running |= {pool.submit(answer_step, session, step, dict(done)): step for step in ready}
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                done[running.pop(future).node_id] = future.result()
    return {step.node_id: done[step.node_id] for step in plan.steps}
