"""The prompt from the best documents, and the answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.ask.answer import not_found
from sag_retrieval.ask.evidence import best_sentences
from sag_retrieval.core.errors import QueryError
from sag_retrieval.models.protocols import ChatModel, Request
from sag_retrieval.prompts import load_prompt, numbered
from sag_retrieval.rag.stages import Clock, RAGData, Stage, docs_of
from sag_retrieval.text.words import language_of


class GeneratedAnswer(BaseModel):
    """The model's answer to a whole prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer: str = Field(description="the answer alone, in the language of the question")


@dataclass(frozen=True, kw_only=True)
class QAPromptor(Stage):
    """Fills `prompt` from the best documents there are; without documents the context is empty."""

    language: str = "auto"
    """`zh`, `en`, or `auto`: that of the query."""

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:  # noqa: ARG002  no time field in the format
        query = data.get("query", "")
        language = language_of(query) if self.language == "auto" else self.language
        prompt = load_prompt("qa", language)
        return {"prompt": prompt.fill(context=numbered(docs_of(data)), question=query)}


@dataclass(frozen=True, kw_only=True)
class Generator(Stage):
    """Fills `generated` and `generation_time` by one call of a language model.

    Without a model the best sentences of the best documents are the answer (docs/algorithm.md §rag.1).
    """

    chat: ChatModel | None
    max_tokens: int | None = None

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:
        """The answer.

        Raises:
            QueryError: If there is no prompt.
            ModelError: If the model gave no usable answer.

        """
        prompt = data.get("prompt")
        if not prompt:
            raise QueryError(f"Generator needs a non-empty `prompt`, got {prompt!r}; run QAPromptor before it")
        if self.chat is None:
            query = data.get("query", "")
            found = " ".join(sentence.text for sentence in best_sentences(query, docs_of(data)))
            return {"generated": found or not_found(language_of(query)), "generation_time": float(seconds())}
        reply = self.chat.ask(Request(prompt, GeneratedAnswer, "generate", max_tokens=self.max_tokens))
        return {"generated": reply.value.answer, "generation_time": float(seconds())}
