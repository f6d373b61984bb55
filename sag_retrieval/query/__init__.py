"""Asking a release: fast without a model, normal with a rewritten question, deep by sub-questions."""

from sag_retrieval.query.answer import Answer, Citation
from sag_retrieval.query.asking import ask, ask_events
from sag_retrieval.query.options import MODES, AskOptions, Mode
from sag_retrieval.query.progress import Progress
from sag_retrieval.query.protocols import Search

__all__ = ["MODES", "Answer", "AskOptions", "Citation", "Mode", "Progress", "Search", "ask", "ask_events"]
