"""Central sentences by sumy's TextRank, on our own sentences and words, Chinese as well as English."""

from collections.abc import Sequence
from importlib import import_module
from itertools import islice

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.text.sentences import sentences
from sag_retrieval.text.words import tokens

_WINDOW, _WEIGHED = 200, 200
"""Sentences compared with one another, and terms of each: all of a long text would take the square of them."""


class _Tokenizer:
    """What sumy asks of a tokenizer."""

    def to_sentences(self, text: str) -> Sequence[str]:
        return tuple(sentences(text))

    def to_words(self, text: str) -> Sequence[str]:
        return tuple(islice(tokens(text), _WEIGHED))


def important_sentences(text: str, budget: int) -> str:
    """The most central sentences within so many characters, in their order; at least one if there is any.

    Raises:
        SettingsError: If sumy is not installed.

    """
    try:
        plaintext = import_module("sumy.parsers.plaintext")
        text_rank = import_module("sumy.summarizers.text_rank")
    except ImportError as error:
        raise SettingsError('SummaryRefiner needs sumy: pip install "sag[pipeline]"') from error
    parser, summarizer = plaintext.PlaintextParser, text_rank.TextRankSummarizer()
    spans = sentences(text)
    windows = ["\n\n".join(spans[at : at + _WINDOW]) for at in range(0, len(spans), _WINDOW)]
    documents = [parser.from_string(part, _Tokenizer()).document for part in (windows if len(windows) > 1 else [text])]
    everything = [sentence for document in documents for sentence in document.sentences]
    rated = {s: rate for d in documents if d.sentences for s, rate in summarizer.rate_sentences(d).items()}
    kept: set[int] = set()
    used = 0
    for at in sorted(range(len(everything)), key=lambda i: (-rated[everything[i]], i)):
        length = len(str(everything[at]))
        if not kept or used + length <= budget:
            kept.add(at)
            used += length
    return " ".join(str(everything[at]) for at in sorted(kept))
