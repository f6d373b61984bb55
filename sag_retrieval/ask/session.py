"""One asking under way: its searches and model calls, what they cost, and what is told of them."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from textwrap import shorten
from typing import Any

from sag_retrieval.ask.options import AskOptions, FoundPassage, FoundPassages, SearchFunction
from sag_retrieval.ask.session import OnEvent, Progress
from sag_retrieval.core.errors import BudgetExceeded, FilterError, ModelError
from sag_retrieval.models.protocols import AnswerT, ChatModel, Reply, Request, Usage
from sag_retrieval.prompts import load_prompt
from sag_retrieval.text.words import language_of

_SHOWN = 160
"""Characters of a restriction that a note repeats."""


@dataclass
class Session:
    """What the steps of one asking share. Safe between the threads that work off a plan."""

    question: str
    search: SearchFunction
    chat: ChatModel | None
    options: AskOptions
    on_event: OnEvent = lambda _: None
    clock: Callable[[], float] = time.perf_counter
    notes: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    _begun: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the watch."""
        self._started = self.clock()

    @property
    def language(self) -> str:
        """Language of the prompts."""
        return language_of(self.question) if self.options.language == "auto" else self.options.language

    @property
    def seconds(self) -> float:
        """Since the asking began."""
        return self.clock() - self._started

    def tell(self, kind: str, **data: Any) -> None:  # noqa: ANN401  shown as it is
        """Pass on that something happened; one event at a time, whatever thread it comes from."""
        with self._lock:
            self.on_event(Progress(kind, data))

    def note(self, text: str) -> None:
        """Keep a remark for the answer, and pass it on."""
        with self._lock:
            self.notes.append(text)
        self.tell("note", text=text)

    def find(self, text: str, keys: Sequence[str] = (), sql: str = "", top_k: int | None = None) -> FoundPassages:
        """Hits under the caller's restriction, or under the model's `sql` where the caller gave none.

        A model's restriction that is refused, or leaves nothing to be found, is noted and dropped.

        Raises:
            FilterError: If the caller's own restriction was refused.

        """
        wanted, count = tuple(dict.fromkeys([*self.options.keys, *keys])), top_k or self.options.top_k
        named = f"the model's restriction {_short(sql)}"
        if sql and self.options.sql:
            self.note(f"{named} gave way to the caller's")
        elif sql:
            try:
                result = self.search(text, wanted, sql, count)
                if result.hits:
                    return result
                self.note(f"{named} left nothing to be found: searched without it")
            except FilterError as error:
                self.note(f"{named} was refused: {_short(error)}; searched without it")
        return self.search(text, wanted, self.options.sql, count)

    def ask(self, name: str, answer: type[AnswerT], values: Mapping[str, object], *, is_last: bool = False) -> AnswerT:
        """The model's answer to the prompt `name`.

        Raises:
            BudgetExceeded: If calls, tokens or seconds of the options are used up; the last call may always be
                made while seconds are left.
            ModelError: If the model gave no usable answer.

        """
        assert self.chat is not None
        prompt = load_prompt(name, self.language)
        request = Request(prompt.fill(**values), answer, name, prompt.system)
        self._begin(is_last)
        started = self.clock()
        usage, fault = Usage(calls=1), ""
        try:
            reply = _within(self.options.max_seconds - self.seconds, partial(self.chat.ask, request))
            usage = reply.usage
        except ModelError as error:
            usage, fault = getattr(error, "usage", usage), str(error)
            raise
        finally:
            self._book(name, prompt.version, usage, self.clock() - started, fault)
        return reply.value

    def _begin(self, is_last: bool) -> None:  # noqa: FBT001  internal
        options = self.options
        with self._lock:
            tokens = self.usage.input_tokens + self.usage.output_tokens
            if self.seconds >= options.max_seconds:
                raise BudgetExceeded(f"{options.max_seconds:g} seconds are over; raise max_seconds for more")
            if not is_last and self._begun >= options.max_calls - 1:
                raise BudgetExceeded(f"{self._begun} of {options.max_calls} calls are made; raise max_calls for more")
            if not is_last and tokens >= options.max_tokens:
                raise BudgetExceeded(f"{tokens} of {options.max_tokens} tokens are used; raise max_tokens for more")
            if is_last and options.max_calls == 0:
                raise BudgetExceeded("max_calls is 0; raise it to let the model answer")
            self._begun += 1

    def _book(self, name: str, version: str, usage: Usage, seconds: float, fault: str) -> None:
        call = {
            "step": name,
            "prompt": version,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "seconds": seconds,
        }
        with self._lock:
            self.usage += usage
            self.calls.append(call | ({"fault": fault} if fault else {}))


def documents_of(hits: Sequence[FoundPassage]) -> list[str]:
    """Document ids, each once, in order."""
    return list(dict.fromkeys(hit.document_id for hit in hits))


def _short(text: object) -> str:
    return shorten(str(text), _SHOWN, placeholder="…")


def _within(seconds: float, call: Callable[[], Reply[AnswerT]]) -> Reply[AnswerT]:
    """What a call gives, waited for so long at the most; its thread never holds up the program's end."""
    future: Future[Reply[AnswerT]] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001  handed to the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="sag-ask").start()
    try:
        return future.result(timeout=max(seconds, 0.0))
    except TimeoutError:
        raise BudgetExceeded(f"no answer within the {seconds:.1f} seconds that were left") from None
