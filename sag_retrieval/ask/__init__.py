"""Answer questions from a release: fast without a model, normal with a rewritten question, deep by sub-questions."""

from sag_retrieval.ask.answer import Answer, Citation
from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.options import MODES, AskOptions, Mode, SearchFunction
from sag_retrieval.ask.question import TermWeights, release_weights
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.ask.session import Progress

__all__ = [
    "MODES",
    "Answer",
    "AskOptions",
    "Citation",
    "Mode",
    "Progress",
    "ReleaseContext",
    "SearchFunction",
    "TermWeights",
    "ask",
    "release_weights",
]
