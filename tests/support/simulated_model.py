"""A script for the chat server that reasons as recorded decompositions do, and knows only what prompts hold.

It plans a known question as its recorded sub-questions, answers a sub-question with the recorded answer only
if the passage that states it stands in the prompt, asks again for what is missing, and answers the whole
question once the last sub-answer is known, or once the passages of all sub-questions stand in the prompt.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.chat_server import (
    Answer,
    Request,
    Script,
    broken,
    first_prompt_of,
    schema_of,
    truncated,
    wrong_shape,
)

_AGAIN = " — "


@dataclass(frozen=True)
class Hop:
    """A sub-question (`#1` is the answer of the first), its answer, and the passage that states it."""

    question: str
    answer: str
    passage: str


@dataclass
class SimulatedModel:
    """The script: questions with their hops."""

    chains: dict[str, Sequence[Hop]]
    _by_question: dict[str, Hop] = field(init=False)

    def __post_init__(self) -> None:
        self._by_question = {_tidy(_filled(hop.question, hops)): hop for hops in self.chains.values() for hop in hops}

    def __call__(self, request: Request) -> Any:
        asked = _Asked(first_prompt_of(request))
        replies: dict[str, Callable[[_Asked], Any]] = {
            "DraftPlan": self._plan,
            "Verdict": self._verdict,
            "Rewrite": lambda a: {"question": a.question, "keys": [], "sql": ""},
            "ModelAnswer": self._answer,
        }
        return replies[schema_of(request)](asked)

    def _plan(self, asked: "_Asked") -> Any:
        hops = self.chains.get(asked.question)
        if not hops:
            return {"nodes": [_node(1, asked.question)], "edges": []}
        nodes = [_node(n, re.sub(r"#(\d)", r"#q\1", hop.question)) for n, hop in enumerate(hops, start=1)]
        edges = [
            {"source": f"q{need}", "target": f"q{n}", "description": ""}
            for n, hop in enumerate(hops, start=1)
            for need in re.findall(r"#(\d)", hop.question)
        ]
        return {"nodes": nodes, "edges": edges}

    def _verdict(self, asked: "_Asked") -> Any:
        hops = self.chains.get(asked.question, ())
        answers = {line["answer"] for line in asked.known if line["answer"]}
        missing = [hop for hop in hops if hop.answer not in answers]
        if not missing or len(asked.known) > 3 * len(hops):
            return {"is_enough": True, "missing": "", "nodes": [], "edges": []}
        first = _filled(missing[0].question, hops) + _AGAIN + asked.question
        return {"is_enough": False, "missing": missing[0].question, "nodes": [_node(91, first)], "edges": []}

    def _answer(self, asked: "_Asked") -> Any:
        hops = self.chains.get(asked.question)
        if hops:
            is_known = any(line["answer"] == hops[-1].answer for line in asked.known)
            hop = hops[-1] if is_known or _holds_all(asked.evidence, hops) else None
        else:
            hop = self._by_question.get(_tidy(asked.question.partition(_AGAIN)[0]))
        places = [line["n"] for line in asked.evidence if hop and _states(line["text"], hop)]
        if hop is None or not places:
            return {"is_found": False, "answer": "", "cited": []}
        return {"is_found": True, "answer": hop.answer, "cited": places[:1]}


def failing(script: Script, share: float, seed: int = 0) -> Script:
    """The script with a share of its replies broken: errors, prose, cut JSON, another shape."""
    draw = random.Random(seed)

    def reply(request: Request) -> Any:
        given = script(request)
        answer = given if isinstance(given, Answer) else Answer(given)
        if draw.random() >= share:
            return answer
        faults = [broken(), Answer("I am afraid I cannot say."), truncated(answer, 0.4), wrong_shape(answer)]
        return draw.choice(faults)

    return reply


class _Asked:
    """What a prompt of the asking modes holds."""

    def __init__(self, prompt: str) -> None:
        self.question = prompt.rsplit("Question: ", 1)[-1].rsplit("问题：", 1)[-1].strip()
        lines = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
        self.evidence = [line for line in lines if "n" in line]
        self.known = [line for line in lines if "answer" in line]


def _states(text: str, hop: Hop) -> bool:
    """Whether a shown text is the hop's passage, or that part of it which holds the answer."""
    text = text.strip()
    return hop.passage in text or (text in hop.passage and hop.answer.casefold() in text.casefold())


def _holds_all(evidence: Sequence[dict[str, Any]], hops: Sequence[Hop]) -> bool:
    return all(any(_states(line["text"], hop) for line in evidence) for hop in hops)


def _node(number: int, question: str) -> dict[str, Any]:
    return {"id": f"q{number}", "question": question, "keys": [], "sql": ""}


def _filled(question: str, hops: Sequence[Hop]) -> str:
    return re.sub(r"#(\d)", lambda found: hops[int(found[1]) - 1].answer, question)


def _tidy(question: str) -> str:
    return " ".join(question.split())
