"""Summaries of documents: their most important sentences, or a language model's summary of these; and its titles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from sag_pipeline.extract.step_questions import PROMPTS, prompt_language
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.language.central import CentralMethod, by_importance
from sag_retrieval.language.layout import LineKind, logical_lines, marker_length
from sag_retrieval.language.sentences import one_line, sentences, spans_within
from sag_retrieval.language.words import tokens
from sag_retrieval.models.protocols import AnswerShape, Request
from sag_retrieval.prompts import as_lines, load_prompt

SENTENCES = 12
"""Sentences of a document that a model summarises."""
READ = 6_000
"""Characters of a document that a model reads for its title: the start says what it is."""
_LONGEST_TITLE = 200
_QUOTES = "\"'“”‘’《》「」# "
_WINDOW = 200
"""Sentences rated together; the best of all windows are rated again."""
_LONGEST_SENTENCE = 600
_SHORTEST_SENTENCE = 5
_ENDS = tuple('.!?。！？…"”’」』)）')


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions(CheckedOptions):
    """How sentences are chosen, how long summaries are, and which documents a model summarises."""

    method: CentralMethod = "luhn"
    """Of sumy, by which sentences are chosen."""
    model_above: Annotated[int, Bounds(0)] = 500
    """Documents of more characters are summarised by the language model, where there is one."""
    sentence_count: Annotated[int, Bounds(1), Internal()] = 3
    """Sentences of a summary."""
    max_characters: Annotated[int, Bounds(1), Internal()] = 500
    """Longest summary."""


def summarise(document: Document, options: SummaryOptions | None = None) -> Summary:
    """Join the most important sentences that fit in `max_characters`, in the order of the text.

    Where none fits, the most important one is cut.

    Source: docs/algorithm.md §extraction.3.
    """
    options = options or SummaryOptions()
    is_chinese = document.language == "zh"
    ranked = _ranked(document, options, options.sentence_count)
    kept: dict[int, str] = {}
    for row, sentence in ranked:
        if sum(map(len, kept.values())) + len(sentence) <= options.max_characters:
            kept[row] = sentence if is_chinese and sentence.endswith(_ENDS) else f"{sentence} "
    text = "".join(kept[row] for row in sorted(kept)) or "".join(sentence for _, sentence in ranked[:1])
    return Summary(document.document_id, text[: options.max_characters].strip())


def important_sentences(
    document: Document, options: SummaryOptions | None = None, *, count: int | None = None
) -> list[str]:
    """The `count` (else `options.sentence_count`) most important sentences, in the order of the text.

    Whole sentences of prose and lists are preferred; headings, tables and code are rated only if there is nothing else.
    White space inside a sentence becomes one space. Empty for a text without words.
    """
    options = options or SummaryOptions()
    return [sentence for _, sentence in sorted(_ranked(document, options, count or options.sentence_count))]


def _ranked(document: Document, options: SummaryOptions, wanted: int) -> list[tuple[int, str]]:
    """The most important sentences with their rows in the text, the first of them first."""
    candidates = _candidates(document.text, wanted)

    def best(rows: Sequence[int]) -> list[int]:
        return [rows[at] for at in by_importance([candidates[row] for row in rows], options.method)[:wanted]]

    rows = list(range(len(candidates)))
    window = max(_WINDOW, 2 * wanted)
    while len(rows) > window:
        rows = [row for at in range(0, len(rows), window) for row in sorted(best(rows[at : at + window]))]
    return [(row, candidates[row]) for row in best(rows)]


def _candidates(text: str, wanted: int) -> list[str]:
    prose = list(dict.fromkeys(_prose(text)))
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


class ExtractedSummary(AnswerShape):
    """The model's answer for one document."""

    summary: str = Field(min_length=1)


def summary_request(
    document: Document, options: SummaryOptions | None = None, *, language: str = "auto"
) -> Request[ExtractedSummary] | None:
    """The request for a document's summary; None for a short document or one without sentences, which need no model.

    Source: docs/algorithm.md §extraction.28.
    """
    options = options or SummaryOptions()
    if len(document.text) <= options.model_above:
        return None
    chosen = important_sentences(document, options, count=SENTENCES)
    if not chosen:
        return None
    prompt = load_prompt("summaries", prompt_language(document, language), PROMPTS)
    text = prompt.fill(document=as_lines([{"title": document.title, "sentences": chosen}]))
    return Request(text, ExtractedSummary, "summaries", prompt.system, document.document_id)


def summary_from_reply(document: Document, answer: ExtractedSummary, options: SummaryOptions | None = None) -> Summary:
    """The model's summary, cut to `max_characters`."""
    options = options or SummaryOptions()
    text = " ".join(answer.summary.split())
    return Summary(document.document_id, text[: options.max_characters].strip())


class DocumentTitle(AnswerShape):
    """The model's title for one document."""

    title: str = Field(description="the title alone, in the language of the document")


def title_request(document: Document, *, language: str = "auto") -> Request[DocumentTitle] | None:
    """The request for a document's title; None for a document without text."""
    start = document.text[:READ].strip()
    if not start:
        return None
    prompt = load_prompt("titles", prompt_language(document, language), PROMPTS)
    text = prompt.fill(document=as_lines([{"file_title": document.title, "start": start}]))
    return Request(text, DocumentTitle, "titles", prompt.system, document.document_id)


def title_from_reply(answer: DocumentTitle) -> str | None:
    """The title on one line, without quotes around it; None if nothing is left."""
    return " ".join(answer.title.split()).strip(_QUOTES)[:_LONGEST_TITLE].strip() or None
