"""The one door to asking: a question and a mode in, an answer out, with events while it comes about."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pkgutil import resolve_name

from sag_retrieval.ask.answer import Answer
from sag_retrieval.ask.modes import ModeResult, to_answer
from sag_retrieval.ask.options import MODES, AskOptions, Mode, SearchFunction
from sag_retrieval.ask.session import OnEvent, Progress, Session
from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.search.method import LONGEST_QUERY, check_text


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException


def ask(
    search: SearchFunction,
    question: str,
    *,
    mode: Mode = "fast",
    chat: ChatModel | None = None,
    options: AskOptions | None = None,
    on_event: OnEvent = lambda _: None,
) -> Answer:
    """The answer to a question.

    Args:
        search: The atomic search of a release.
        question: What is asked.
        mode: `fast` (no model), `normal` (question rewritten) or `deep` (plan of sub-questions).
        chat: The language model; without one normal and deep go by rules and say so.
        options: Bounds and choices.
        on_event: Told of every step while it happens, by one thread at a time.

    Returns:
        An answer whatever a model does: failures and spent budgets are in its `notes`.

    Raises:
        QueryError: If the question is blank or the mode unknown.
        FilterError: If the restriction in the options was refused.

    """
    check_text("question", question, LONGEST_QUERY)
    if not question.strip():
        raise QueryError("the question is blank; ask something")
    if not isinstance(mode, str) or mode not in MODES:
        raise QueryError(f"mode {shown(mode)} is unknown; there are {', '.join(MODES)}")
    session = Session(question.strip(), search, chat, options or AskOptions(), on_event, time.perf_counter)
    work: Callable[[Session], ModeResult] = resolve_name(MODES[mode].target)
    return to_answer(session, mode, work(session))


def ask_events(
    search: SearchFunction,
    question: str,
    *,
    mode: Mode = "fast",
    chat: ChatModel | None = None,
    options: AskOptions | None = None,
) -> Iterator[Progress | Answer]:
    """What happens while a question is asked, as it happens, and the answer last.

    Raises:
        QueryError: If the question is blank or the mode unknown.
        FilterError: If the restriction in the options was refused.

    """
    events: queue.SimpleQueue[Progress | Answer | _Failed] = queue.SimpleQueue()

    def run() -> None:
        try:
            events.put(ask(search, question, mode=mode, chat=chat, options=options, on_event=events.put))
        except BaseException as error:  # noqa: BLE001  raised again by the reading thread
            events.put(_Failed(error))

    threading.Thread(target=run, daemon=True, name="sag-ask-events").start()
    while True:
        event = events.get()
        if isinstance(event, _Failed):
            raise event.error
        yield event
        if isinstance(event, Answer):
            return
