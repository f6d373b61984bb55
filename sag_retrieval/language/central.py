"""The most important sentences of a text, by the methods of sumy over this project's own words."""

import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any, Final, Literal
from warnings import catch_warnings

import numpy as np

from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import tokens

CentralMethod = Literal["lexrank", "textrank", "luhn", "lsa"]
_SUMMARIZERS: Final = {
    "lexrank": "lex_rank.LexRankSummarizer",
    "textrank": "text_rank.TextRankSummarizer",
    "luhn": "luhn.LuhnSummarizer",
    "lsa": "lsa.LsaSummarizer",
}
_UNUSED: Final = ("nltk", "nltk.stem", "nltk.stem.snowball", "requests")
"""Imported by sumy for its stemmers and its reader of web pages: 2 s of CPU where scikit-learn is installed."""
_WEIGHED: Final = 60
"""Words of a sentence that are compared: longer sentences would win by length alone."""
_SHORTEST_WORD: Final = 2


class _Tokenizer:
    """What sumy asks of a tokenizer: no download, Chinese as all other languages."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        return tuple(sentences(text))

    def to_words(self, sentence: str) -> tuple[str, ...]:
        return tuple(islice((term for term in tokens(sentence) if len(term) >= _SHORTEST_WORD), _WEIGHED))


def by_importance(texts: Sequence[str], method: CentralMethod) -> list[int]:
    """The rows of some sentences, the most important first; equals in their order.

    Examples:
        >>> by_importance(["The tide turns the mill.", "Cats sleep.", "The mill stands in the tide."], "luhn")
        [0, 2, 1]
    """
    if not texts:
        return []
    summarizer, dom = _summarizer(method)
    document = dom.ObjectDocumentModel([dom.Paragraph([dom.Sentence(text, _Tokenizer()) for text in texts])])
    found: list[int] = []

    def keep(rated: Iterable[Any]) -> tuple[()]:
        found.extend(each.order for each in rated)
        return ()

    with np.errstate(all="ignore"):  # of sentences that share no word, which all weigh the same
        summarizer(document, keep)
    return found or list(range(len(texts)))


@cache
def _summarizer(method: CentralMethod) -> tuple[Any, Any]:
    later = {name: _Later(name) for name in _UNUSED if name not in sys.modules}
    sys.modules.update(later)
    for name, module in later.items():
        above, _, last = name.rpartition(".")
        if above in later:
            setattr(later[above], last, module)
    place, _, name = _SUMMARIZERS[method].partition(".")
    try:
        found = getattr(import_module(f"sumy.summarizers.{place}"), name)
        dom = import_module("sumy.models.dom")
    finally:
        for unused in later:
            sys.modules.pop(unused, None)
    return (_in_order(found) if method == "lsa" else found)(), dom


class _Later(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever it has
        return getattr(import_module(self.__name__), name)


def _in_order(summarizer: Any) -> Any:  # noqa: ANN401  sumy has no types
    """LSA with the words in their own order: that of a set differs from process to process, and so would rounding."""

    class Ordered(summarizer):  # type: ignore[misc]  # sumy has no types
        def _create_dictionary(self, document: Any) -> dict[str, int]:  # noqa: ANN401
            return {word: row for row, word in enumerate(sorted(super()._create_dictionary(document)))}

        def _create_matrix(self, document: Any, dictionary: dict[str, int]) -> Any:  # noqa: ANN401
            with catch_warnings(action="ignore"):  # that there are fewer words than sentences
                return super()._create_matrix(document, dictionary)

    return Ordered
