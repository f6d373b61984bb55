"""How a server wants to be asked: which way of giving the answer's shape and which parameters it takes."""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel

from sag_retrieval.models.protocols import AnswerT, Request, estimate_tokens
from sag_retrieval.models.structured import schema_instruction, strict_schema

StructuredMode = Literal["json_schema", "json_object", "text"]
_NEXT: dict[str, StructuredMode] = {"json_schema": "json_object", "json_object": "text"}
_TOO_LONG = ("context_length", "context length", "context window", "too long", "maximum context")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of asking; the first is what most servers take, each refusal leads to the next."""

    mode: StructuredMode = "json_schema"
    length_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    left_out: frozenset[str] = frozenset()

    def body(
        self,
        messages: list[dict[str, str]],
        answer: type[BaseModel],
        parameters: dict[str, Any],
        max_tokens: int | None,
    ) -> dict[str, Any]:
        """The body of a chat request, without the model's name.

        Where the mode cannot carry the schema, a line before the messages does.
        """
        sent = {name: value for name, value in parameters.items() if name not in self.left_out}
        if max_tokens is not None and self.length_name not in self.left_out:
            sent[self.length_name] = max_tokens
        schema = strict_schema(answer) if self.mode == "json_schema" else None
        if schema is not None:
            shape = {"name": answer.__name__, "schema": schema, "strict": True}
            sent["response_format"] = {"type": "json_schema", "json_schema": shape}
            return sent | {"messages": messages}
        if self.mode != "text":
            sent["response_format"] = {"type": "json_object"}
        return sent | {"messages": [{"role": "system", "content": schema_instruction(answer)}, *messages]}

    def after_refusal(self, fault: str, body: dict[str, Any]) -> "Dialect | None":
        """The next way of asking, given the server's words and what it refused; None if there is none."""
        words = fault.lower()
        if any(sign in words for sign in _TOO_LONG):
            return None
        if "max_completion_tokens" in words and "max_tokens" in body:
            return replace(self, length_name="max_completion_tokens")
        for name in ("temperature", "seed", "max_tokens", "max_completion_tokens"):
            if name in body and name in words:
                return replace(self, left_out=self.left_out | {name})
        if self.mode in _NEXT:
            return replace(self, mode=_NEXT[self.mode])
        return None


def request_tokens(request: Request[AnswerT]) -> int:
    """About how many tokens a request sends: system, prompt and the schema of its answer."""
    return estimate_tokens(request.system) + estimate_tokens(request.prompt) + _schema_tokens(request.answer)


@lru_cache(maxsize=256)
def _schema_tokens(answer: type[BaseModel]) -> int:
    return estimate_tokens(json.dumps(strict_schema(answer)))
