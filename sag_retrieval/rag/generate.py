"""From documents to an answer: shorten them to a budget, build the prompt, generate the answer."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from sag_retrieval.ask.answer import not_found
from sag_retrieval.ask.sentences import best_sentences
from sag_retrieval.core.errors import ModelError, QueryError, SettingsError
from sag_retrieval.core.options import Bounds, Internal
from sag_retrieval.language.central import by_importance
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import language_of
from sag_retrieval.models.protocols import AnswerShape, ChatModel, Request
from sag_retrieval.prompts import load_prompt, numbered
from sag_retrieval.rag.stages import (
    TO_REFINE,
    Clock,
    DocumentStage,
    Item,
    RAGData,
    Stage,
    docs_of,
    has_current_prompt,
    items_of,
    query_of,
    titles_of,
)

_MANY_SENTENCES = 1000
_WINDOW = 200
"""Sentences compared with each other: without a limit time grows quadratically."""


class ShortPassage(AnswerShape):
    """The shortened text of one passage."""

    n: int = Field(description="number of the passage")
    text: str = Field(description="only what bears on the question, in the passage's own words")


class ShortPassages(AnswerShape):
    """The model's answer: shortened passages, without those that do not help."""

    passages: list[ShortPassage]


@dataclass(frozen=True, kw_only=True)
class Refiner(DocumentStage):
    """Fills `refining_*` from `reranking_docs`, else `retrieval_docs`; documents with no text left are dropped.

    If none is left, the first document is kept, cut to the budget.
    """

    stage = "refining"

    budget: Annotated[int, Bounds(1)] = 2000
    """Characters of all refined documents together."""

    def _items(self, data: RAGData) -> Iterable[Item]:
        items = items_of(data, TO_REFINE, self.stage)
        if not items:
            return []
        texts = [item["text"] for item in items]
        shortened, mode = self.shorten(query_of(data, self), items)
        short = _within(shortened, self.budget) or {0: texts[0][: self.budget]}
        return [_refined(items[at], short[at], mode) for at in sorted(short)]

    @abstractmethod
    def shorten(self, query: str, items: Sequence[Item]) -> tuple[Mapping[int, str], str]:
        """The shortened text of each item by its position, and what shortened it: `model` or `heuristic`."""


@dataclass(frozen=True, kw_only=True)
class ExtractiveRefiner(Refiner):
    """Keeps the sentences that match the question (docs/algorithm.md §rag.1), in their order."""

    def shorten(self, query: str, items: Sequence[Item]) -> tuple[Mapping[int, str], str]:
        """Chosen sentences of each item."""
        texts = [item["text"] for item in items]
        chosen = best_sentences(query, texts, titles=titles_of(items), limit=_MANY_SENTENCES, budget=self.budget)
        places = sorted({(sentence.place, sentence.start, sentence.end) for sentence in chosen})
        kept: dict[int, list[str]] = {}
        for place, start, end in places:
            kept.setdefault(place, []).append(texts[place][start:end])
        return {place: " ".join(parts) for place, parts in kept.items()}, "heuristic"


@dataclass(frozen=True, kw_only=True)
class SummaryRefiner(Refiner):
    """Keeps each document's most central sentences by TextRank of sumy, independent of the question.

    The budget is shared in proportion to the documents' lengths.
    """

    def shorten(self, query: str, items: Sequence[Item]) -> tuple[Mapping[int, str], str]:  # noqa: ARG002
        """Central sentences of each item; a SettingsError if sumy is not installed."""
        texts = [item["text"] for item in items]
        share = min(1.0, self.budget / max(sum(map(len, texts)), 1))
        try:
            kept = {at: central_sentences(text, int(share * len(text))) for at, text in enumerate(texts)}
        except ImportError as error:
            raise SettingsError('SummaryRefiner needs sumy: pip install "sag[pipeline]"') from error
        return {at: text for at, text in kept.items() if text}, "heuristic"


@dataclass(frozen=True, kw_only=True)
class ModelRefiner(Refiner):
    """A language model shortens the documents in one call; without one, or on failure, `ExtractiveRefiner` does."""

    chat: Annotated[ChatModel | None, Internal()] = field(default=None, repr=False)
    shown: Annotated[int, Bounds(1), Internal()] = 20
    """Documents given to the model."""

    def shorten(self, query: str, items: Sequence[Item]) -> tuple[Mapping[int, str], str]:
        """Each item as shortened by the model."""
        if self.chat is None:
            return ExtractiveRefiner(budget=self.budget).shorten(query, items)
        shown = items[: self.shown]
        prompt = load_prompt("compress", language_of(query))
        passages = numbered([item["text"] for item in shown], titles_of(shown))
        filled = prompt.fill(passages=passages, question=query, budget=self.budget)
        try:
            reply = self.chat.ask(Request(filled, ShortPassages, "compress", prompt.system)).value
        except ModelError:
            return ExtractiveRefiner(budget=self.budget).shorten(query, items)
        kept = {p.n - 1: p.text.strip() for p in reversed(reply.passages) if 1 <= p.n <= len(shown)}
        return {at: text for at, text in kept.items() if text}, "model"


def central_sentences(text: str, budget: int) -> str:
    """The most central sentences by sumy's TextRank within a budget of characters, in their order; at least one."""
    every = sentences(text)
    ranked: list[tuple[int, int]] = []
    for at in range(0, len(every), _WINDOW):
        rows = by_importance(every[at : at + _WINDOW], "textrank")
        ranked += [(place, at + row) for place, row in enumerate(rows)]
    kept: set[int] = set()
    used = 0
    for _, row in sorted(ranked):
        if not kept or used + len(every[row]) <= budget:
            kept.add(row)
            used += len(every[row])
    return " ".join(every[row] for row in sorted(kept))


def _refined(item: Item, text: str, mode: str) -> Item:
    original, refined = len(item["text"]), len(text)
    return {
        "text": text,
        "original_length": original,
        "refined_length": refined,
        "compression_ratio": refined / original if original else 1.0,
        "metadata": item.get("metadata", {}),
        "mode": mode,
    }


def _within(texts: Mapping[int, str], budget: int) -> dict[int, str]:
    """Texts in order until the budget is used up; the one that crosses it is cut."""
    kept: dict[int, str] = {}
    left = budget
    for at in sorted(texts):
        if left <= 0:
            break
        kept[at] = texts[at][:left]
        left -= len(kept[at])
    return kept


class GeneratedAnswer(AnswerShape):
    """The model's answer to a whole prompt."""

    answer: str = Field(description="the answer alone, in the language of the question")


@dataclass(frozen=True, kw_only=True)
class QAPromptor(Stage):
    """Fills `prompt` from the best available documents; without documents the context is empty."""

    language: Literal["auto", "zh", "en"] = "auto"
    """Language of the prompts: `zh`, `en`, or `auto`, that of the question."""

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:  # noqa: ARG002  no time field in the format
        return {"prompt": self.write(data)}

    def write(self, data: RAGData) -> str:
        """The prompt for a record."""
        query = data.get("query", "")
        language = language_of(query) if self.language == "auto" else self.language
        return load_prompt("qa", language).fill(context=numbered(docs_of(data)), question=query)


@dataclass(frozen=True, kw_only=True)
class Generator(Stage):
    """Fills `generated` and `generation_time` by one call of a language model.

    Without a model the answer is the best sentences of the best documents (docs/algorithm.md §rag.1).
    """

    chat: Annotated[ChatModel | None, Internal()] = field(default=None, repr=False)
    promptor: Annotated[QAPromptor | None, Internal()] = field(default=None, repr=False)
    """Writes the prompt where there is none for the documents as they are now; None: that is an error."""
    max_tokens: Annotated[int, Bounds(1)] | None = None
    """Longest answer; None: the model's own limit."""

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:
        """The answer, and the prompt where this stage wrote it; a QueryError where there is none."""
        prompt, written = data.get("prompt"), {}
        if self.promptor is not None and not has_current_prompt(data):
            prompt = self.promptor.write(data)
            written = {"prompt": prompt}
        if not prompt:
            raise QueryError(f"Generator needs a non-empty `prompt`, got {prompt!r}; run QAPromptor before it")
        answer = self._answer(data, prompt)
        return {"generated": answer, "generation_time": float(seconds())} | written

    def _answer(self, data: RAGData, prompt: str) -> str:
        if self.chat is None:
            query = data.get("query", "")
            found = " ".join(sentence.text for sentence in best_sentences(query, docs_of(data)))
            return found or not_found(language_of(query))
        reply = self.chat.ask(Request(prompt, GeneratedAnswer, "generate", max_tokens=self.max_tokens))
        return reply.value.answer
