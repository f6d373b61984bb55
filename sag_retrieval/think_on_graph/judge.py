"""The language model as judge of paths and documents; whatever goes wrong, it has no opinion."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.protocols import ChatModel, Request
from sag_retrieval.prompts import load_prompt

MOST_DOCUMENTS = 20
MOST_BEAMS = 30

_log = logging.getLogger(__name__)
JudgeReply = TypeVar("JudgeReply", bound=BaseModel)


class ChosenPaths(BaseModel):
    """Paths worth following."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    paths: list[int] = Field(description="numbers of the chosen paths, the best first")


class DocumentScore(BaseModel):
    """How much a document helps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: int = Field(description="number of the document")
    score: float = Field(description="from 0, of no use, to 1, answers the question")


class DocumentScores(BaseModel):
    """How much each document helps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scores: list[DocumentScore]


class Enough(BaseModel):
    """Whether the paths answer the question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_enough: bool


@dataclass(slots=True)
class PathJudge:
    """Asks a language model in the question's language; `failures` says what went wrong so far."""

    chat: ChatModel
    question: str
    language: str
    calls: int = 0
    failures: list[str] = field(default_factory=list)

    def choose(self, paths: Sequence[str], count: int) -> list[int]:
        """Places of at most `count` chosen paths, each once; empty without a usable opinion.

        Source:
            docs/algorithm.md §think-on-graph.6

        """
        listed = "\n".join(f"{number}. {path}" for number, path in enumerate(paths, start=1))
        answer = self._ask("graph_prune", ChosenPaths, paths=listed, count=count)
        numbers = answer.paths if answer else []
        return [n - 1 for n in dict.fromkeys(numbers) if 1 <= n <= len(paths)][:count]

    def score(
        self, paths_of: Mapping[int, Sequence[str]], title: Callable[[int], str] = lambda _: ""
    ) -> dict[int, float]:
        """Document → score in [0, 1]; without those it left out, invented, or scored out of bounds.

        Documents go by numbers from 1 in the prompt, each with its title, if it has one, and its paths. Of two scores
        for one document the last counts.

        Source:
            docs/algorithm.md §think-on-graph.8

        """
        documents = list(paths_of)[:MOST_DOCUMENTS]
        lines = [f"{title(document)}: {'; '.join(paths_of[document])}".removeprefix(": ") for document in documents]
        listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
        answer = self._ask("graph_score", DocumentScores, documents=listed)
        return {
            documents[given.document - 1]: given.score
            for given in (answer.scores if answer else [])
            if 1 <= given.document <= len(documents) and 0 <= given.score <= 1
        }

    def is_enough(self, paths: Sequence[str]) -> bool:
        """Whether the paths suffice; False without a usable opinion."""
        answer = self._ask("graph_enough", Enough, paths="\n".join(paths))
        return answer is not None and answer.is_enough

    def _ask(self, step: str, answer: type[JudgeReply], **values: object) -> JudgeReply | None:
        prompt = load_prompt(step, self.language)
        request = Request(
            prompt=prompt.fill(question=self.question, **values),
            answer=answer,
            step=step,
            system=prompt.system,
        )
        self.calls += 1
        try:
            return self.chat.ask(request).value
        except (ModelError, OSError, ValueError, RuntimeError) as error:
            _log.warning("%s: no answer, the heuristic decides (%s)", step, error)
            self.failures.append(f"{step}: {error}")
            return None
