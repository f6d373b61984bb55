"""Summaries of documents: their most important sentences, or a language model's summary of these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Bounds, check_options
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt
from sag_retrieval.text.layout import LineKind, logical_lines, marker_length
from sag_retrieval.text.sentences import SumyTokenizer, one_line, sentences, spans_within
from sag_retrieval.text.words import tokens

SENTENCES = 12
"""Sentences of a document that a model summarises."""
SHORT = 1_500
"""A document of at most this many characters is summarised without a model."""
_LONGEST_SENTENCE = 600
_WEIGHED = 60
"""Words of a sentence that are rated: longer sentences would win by length alone."""
_SHORTEST_SENTENCE = 5
_ENDS = tuple('.!?。！？…"”’」』)）')


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How long summaries are, and how many sentences are rated together."""

    sentence_count: Annotated[int, Bounds(1)] = 3
    """Sentences of a summary."""
    max_characters: Annotated[int, Bounds(1)] = 500
    """Longest summary."""
    window: Annotated[int, Bounds(2)] = 200
    """Sentences rated together; the best of all windows are rated again."""

    def __post_init__(self) -> None:
        """Refuse a window that is not longer than a summary: its rounds would never end."""
        check_options(self)
        if self.window <= self.sentence_count:
            raise SettingsError(f"window={self.window} must be more than sentence_count={self.sentence_count}")


def summarise(document: Document, options: SummaryOptions | None = None) -> Summary:
    """Join the most important sentences in the order of the text; never longer than `max_characters`.

    Source:
        docs/algorithm.md §extraction.3.

    """
    options = options or SummaryOptions()
    chosen = important_sentences(document, options)
    is_chinese = document.language == "zh"
    text = "".join(sentence if is_chinese and sentence.endswith(_ENDS) else f"{sentence} " for sentence in chosen)
    return Summary(document.document_id, text[: options.max_characters].strip())


def important_sentences(
    document: Document, options: SummaryOptions | None = None, *, count: int | None = None
) -> list[str]:
    """The `count` (else `options.sentence_count`) most important sentences, in the order of the text.

    Whole sentences of prose and lists are preferred; headings, tables and code are rated only if there is nothing else.
    White space inside a sentence becomes one space. Empty for a text without words.
    """
    options = options or SummaryOptions()
    wanted = count or options.sentence_count
    candidates = _candidates(document.text, wanted)
    rows = list(range(len(candidates)))
    window = max(options.window, 2 * wanted)
    while len(rows) > window:
        rows = [
            row
            for start in range(0, len(rows), window)
            for row in _best(candidates, rows[start : start + window], wanted)
        ]
    return [candidates[row] for row in _best(candidates, rows, wanted)]


def _candidates(text: str, wanted: int) -> list[str]:
    prose = list(_prose(text))
    ended = [sentence for sentence in prose if sentence.endswith(_ENDS)]
    if len(ended) >= wanted:
        return ended
    return prose or [row for row in (one_line(sentence).strip("| ") for sentence in sentences(text)) if tokens(row)]


def _prose(text: str) -> Iterator[str]:
    for line in logical_lines(text):
        if line.kind in (LineKind.PROSE, LineKind.ITEM):
            for start, end in spans_within(text, line.start + marker_length(text, line), line.end):
                sentence = one_line(text[start:end])[:_LONGEST_SENTENCE]
                if len(sentence) >= _SHORTEST_SENTENCE:
                    yield sentence


def _best(candidates: Sequence[str], rows: Sequence[int], count: int) -> list[int]:
    """The rows of the `count` sentences that Luhn's method rates highest, in order."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence  # noqa: PLC0415  loads nltk

    if len(rows) <= count:
        return list(rows)
    reader = SumyTokenizer(_WEIGHED, shortest_word=2)
    parts = [Sentence(candidates[row], reader) for row in rows]
    chosen = _summarizer()(ObjectDocumentModel([Paragraph(parts)]), count)
    wanted = {id(part) for part in chosen}
    return [row for row, part in zip(rows, parts, strict=True) if id(part) in wanted]


@cache
def _summarizer() -> Any:  # noqa: ANN401  sumy has no types
    from sumy.summarizers.luhn import LuhnSummarizer  # noqa: PLC0415

    class Luhn(LuhnSummarizer):  # type: ignore[misc]
        """Luhn's method over folded stems; significant words in a set, because sumy scans a tuple for each word."""

        def stem_word(self, word: str) -> str:
            return word

        def _get_significant_words(self, words: Sequence[str]) -> frozenset[str]:
            return frozenset(super()._get_significant_words(words))

    return Luhn()


class ExtractedSummary(BaseModel):
    """The model's answer for one document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    summary: str = Field(min_length=1)


def summary_request(
    document: Document, options: SummaryOptions | None = None, *, language: str = "auto"
) -> Request[ExtractedSummary] | None:
    """The request for a document's summary; None for a short document or one without sentences, which need no model.

    Source:
        docs/algorithm.md §extraction.28.

    """
    if len(document.text) <= SHORT:
        return None
    chosen = important_sentences(document, options, count=SENTENCES)
    if not chosen:
        return None
    prompt = load_prompt("summaries", prompt_language(document, language), "sag_pipeline.llm.prompts")
    text = prompt.fill(title=document.title, sentences="\n".join(chosen))
    return Request(text, ExtractedSummary, "summaries", prompt.system, document.document_id)


def summary_from_reply(document: Document, answer: ExtractedSummary, options: SummaryOptions | None = None) -> Summary:
    """The model's summary, cut to `max_characters`."""
    options = options or SummaryOptions()
    text = " ".join(answer.summary.split())
    return Summary(document.document_id, text[: options.max_characters].strip())


def prompt_language(document: Document, language: str) -> str:
    """The language of a document's prompts: the document's own, unless the setting names one."""
    return document.language if language == "auto" else language


def heading_of(document: Document, summary: str) -> str:
    """The heading of a document's passages and events in a prompt: its title and its summary, if there are any."""
    return "\n".join(line for line in (f"# {document.title}" if document.title else "", summary) if line)
