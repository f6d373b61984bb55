"""Summaries of documents: their most important sentences, or a language model's summary of these."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Bounds, Internal, check_options
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.language.layout import LineKind, logical_lines, marker_length
from sag_retrieval.language.sentences import one_line, sentences, spans_within
from sag_retrieval.language.words import tokens
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import as_lines, load_prompt, quoted

SENTENCES = 12
"""Sentences of a document that a model summarises."""
SHORT = 1_500
"""A document of at most this many characters is summarised without a model."""
_LONGEST_SENTENCE = 600
_WEIGHED = 60
"""Words of a sentence that are rated: longer sentences would win by length alone."""
_SHORTEST_SENTENCE = 5
_SHORTEST_WORD = 2
_OFTEN = 2
_GAP = 4
_ENDS = tuple('.!?。！？…"”’」』)）')


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How long summaries are, and how many sentences are rated together."""

    sentence_count: Annotated[int, Bounds(1), Internal()] = 3
    """Sentences of a summary."""
    max_characters: Annotated[int, Bounds(1)] = 500
    """Longest summary."""
    window: Annotated[int, Bounds(2), Internal()] = 200
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
    if len(rows) <= count:
        return list(rows)
    words = [_weighed(candidates[row]) for row in rows]
    counts = Counter(word for own in words for word in own)
    rated = {row: _rating(own, counts) for row, own in zip(rows, words, strict=True)}
    return sorted(sorted(rows, key=lambda row: -rated[row])[:count])


def _weighed(sentence: str) -> list[str]:
    """The first folded stems of a sentence that have two characters or more."""
    return list(islice((term for term in tokens(sentence) if len(term) >= _SHORTEST_WORD), _WEIGHED))


def _rating(words: Sequence[str], counts: Mapping[str, int]) -> float:
    """Luhn's rating of a sentence: that of its best cluster of words that occur again in the text.

    Between two words of a cluster stand fewer than `_GAP` others; its rating is the square of their number by the
    number of all words from the first to the last.
    """
    places = [place for place, word in enumerate(words) if counts[word] >= _OFTEN]
    ends = [row for row, (place, after) in enumerate(pairwise(places), 1) if after - place > _GAP]
    clusters = [places[start:end] for start, end in pairwise([0, *ends, len(places)])]
    return max((len(one) ** 2 / (one[-1] - one[0] + 1) for one in clusters if len(one) > 1), default=0)


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
    text = prompt.fill(document=as_lines([{"title": document.title, "sentences": chosen}]))
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
    """The line above a document's passages in a prompt: its title and summary as data, if there are any."""
    said = {"title": document.title, "summary": summary}
    return " ".join(f"{name} {quoted(text)}" for name, text in said.items() if text)
