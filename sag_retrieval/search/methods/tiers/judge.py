"""The language model as judge of tiered retrieval: whether to continue, how to ask, and which rows to choose."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.protocols import ChatModel, Request
from sag_retrieval.prompts import load_prompt

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


class Decision(BaseModel):
    """Whether to continue, and the question rewritten to be understood without context."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class Chosen(BaseModel):
    """Entries that help to answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
