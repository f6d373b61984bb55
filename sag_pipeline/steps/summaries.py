"""The sentences of a document that matter most, chosen without a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Annotated, Any

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Bounds, check_options
from sag_retrieval.core.records import Document, Summary
from sag_retrieval.text.layout import LineKind, logical_lines, marker_length
from sag_retrieval.text.sentences import one_line, sentences, spans_within
from sag_retrieval.text.words import tokens

_LONGEST_SENTENCE = 600
_WEIGHED = 60
"""Words of a sentence that are weighed: longer ones would win by length alone."""
_SHORTEST_SENTENCE = 5
_ENDS = tuple('.!?。！？…"”’」』)）')


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How long summaries are, and how much text is weighed at once."""

    sentence_count: Annotated[int, Bounds(1)] = 3
    """Sentences of a summary."""
    max_characters: Annotated[int, Bounds(1)] = 500
    """Longest summary."""
    window: Annotated[int, Bounds(2)] = 200
    """Sentences weighed together; the winners of all windows are weighed again."""

    def __post_init__(self) -> None:
        """Refuse what leaves no summary or never ends."""
        check_options(self)
        if self.window <= self.sentence_count:
            raise SettingsError(f"window={self.window} must be more than sentence_count={self.sentence_count}")


def summarise(document: Document, options: SummaryOptions | None = None) -> Summary:
    """The most important sentences in the order of the text, joined; never longer than `max_characters`.

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

    Whole sentences of prose and lists come first; headings, tables and code are weighed only if there is nothing else.
    White space inside a sentence is one space. Empty for a text without words.
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
    reader = _Tokenizer()
    parts = [Sentence(candidates[row], reader) for row in rows]
    chosen = _summarizer()(ObjectDocumentModel([Paragraph(parts)]), count)
    wanted = {id(part) for part in chosen}
    return [row for row, part in zip(rows, parts, strict=True) if id(part) in wanted]


@cache
def _summarizer() -> Any:  # noqa: ANN401  sumy has no types
    from sumy.summarizers.luhn import LuhnSummarizer  # noqa: PLC0415

    class Luhn(LuhnSummarizer):  # type: ignore[misc]
        """Luhn's method over folded stems; significant words in a set, for sumy scans a tuple for each word."""

        def stem_word(self, word: str) -> str:
            return word

        def _get_significant_words(self, words: Sequence[str]) -> frozenset[str]:
            return frozenset(super()._get_significant_words(words))

    return Luhn()


class _Tokenizer:
    """What sumy asks of a tokenizer, by this project's own reading of text: no download, both languages."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return tuple(sentences(text))

    def to_words(self, sentence: str) -> tuple[str, ...]:
        return tuple(islice((term for term in tokens(sentence) if len(term) > 1), _WEIGHED))
