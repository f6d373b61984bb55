"""One question being answered: its searches and model calls, their cost, and the progress events it reports."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from textwrap import shorten
from typing import Any

from sag_retrieval.ask.options import AskOptions, FoundPassage, FoundPassages, SearchFunction
from sag_retrieval.ask.passages import join_passages, merge_hits
from sag_retrieval.ask.question import TermWeights
from sag_retrieval.ask.release_context import ReleaseContext
from sag_retrieval.core.errors import BudgetExceeded, FilterError, ModelError
from sag_retrieval.core.public import public
from sag_retrieval.language.words import language_of
from sag_retrieval.models.protocols import AnswerT, ChatModel, Reply, Request, Usage
from sag_retrieval.prompts import load_prompt
from sag_retrieval.search.segments import CANDIDATES, SegmentOptions

_SHOWN_KEYS = 5
_SEGMENT_CHARACTERS = 3_000
"""With segments: most characters of joined passages, a third of them in one; chunks follow."""
EVIDENCE_CHARACTERS = 24_000
"""Most characters of passages in one prompt."""


@public
@dataclass(frozen=True, slots=True)
class Progress:
    """A progress event.

    Kinds: `background`, `rewrite`, `plan`, `started`, `answered`, `enough`, `note`, `done`.
    """

    kind: str
    data: Mapping[str, Any]

    def __str__(self) -> str:
        """One line for a terminal."""
        line = _LINES.get(self.kind)
        return line(self.data) if line else f"{self.kind}: {dict(self.data)}"


OnEvent = Callable[[Progress], None]


def _plan(data: Mapping[str, Any]) -> str:
    steps = [
        f"  {step['id']}  {step['question']}" + (f"  (after {', '.join(step['needs'])})" if step["needs"] else "")
        for step in data["steps"]
    ]
    return "\n".join([f"plan {data['round']}:", *steps])


def _answered(data: Mapping[str, Any]) -> str:
    if data.get("fault"):
        return f"{data['id']}  failed: {data['fault']}"
    if not data["is_found"]:
        return f"{data['id']}  nothing found"
    return f"{data['id']}  → {data['answer']}  [{', '.join(data['cited'])}]"


_LINES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "background": lambda data: f"searched for {', '.join(data['keys'][:_SHOWN_KEYS])}" if data["keys"] else "searched",
    "rewrite": lambda data: f"rewritten: {data['question']}",
    "plan": _plan,
    "started": lambda data: f"{data['id']}  … {data['question']}",
    "answered": _answered,
    "enough": lambda data: "enough to answer" if data["is_enough"] else f"not enough yet: {data['missing']}",
    "note": lambda data: f"note: {data['text']}",
    "done": lambda data: "answered" if data["is_found"] else "no answer in the documents",
}

_SHOWN = 160
"""Characters of a restriction that a note repeats."""


@dataclass(frozen=True, slots=True)
class Found:
    """The passages of one search: `hits` as an answer uses them, `ranked` as the search returned them."""

    hits: Sequence[FoundPassage]
    keys: Sequence[Any] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    ranked: Sequence[FoundPassage] = ()
    restriction: str = ""
    """The model's restriction that holds for them; empty if it wrote none or it was dropped."""


@dataclass
class Session:
    """State shared by the steps of one question; safe to use from the threads that execute a plan."""

    question: str
    search: SearchFunction
    chat: ChatModel | None
    options: AskOptions
    on_event: OnEvent = lambda _: None
    context: ReleaseContext | None = None
    segments: SegmentOptions | None = None
    notes: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    filters: list[dict[str, Any]] = field(default_factory=list)
    """What became of each restriction that the model wrote."""
    usage: Usage = field(default_factory=Usage)
    _begun: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _started: float = field(default_factory=time.perf_counter)

    @property
    def language(self) -> str:
        """Language of the prompts."""
        return language_of(self.question) if self.options.language == "auto" else self.options.language

    @property
    def is_chinese(self) -> bool:
        """Whether it is Chinese."""
        return self.language.startswith("zh")

    @property
    def weigh(self) -> TermWeights | None:
        """The idf of index terms; None where no release is known."""
        return self.context.weigh if self.context else None

    @property
    def seconds(self) -> float:
        """Seconds since the question was asked."""
        return time.perf_counter() - self._started

    def tell(self, kind: str, **data: Any) -> None:  # noqa: ANN401  shown as it is
        """Report a progress event; one at a time, from any thread."""
        with self._lock:
            self.on_event(Progress(kind, data))

    def note(self, text: str) -> None:
        """Keep a note for the answer, and report it."""
        with self._lock:
            self.notes.append(text)
        self.tell("note", text=text)

    def find(self, text: str, keys: Sequence[str] = (), sql: str = "", top_k: int | None = None) -> Found:
        """Hits under the caller's restriction, or under the model's `sql` where the caller gave none.

        A model's restriction that is refused, or matches nothing, is noted and dropped; the caller's raises
        FilterError. With segments, the hits are joined passages.
        """
        count = top_k or self.options.top_k
        wanted = count if self.segments is None else max(count, CANDIDATES)
        named = tuple(dict.fromkeys([*self.options.keys, *keys]))
        restricted = self._restricted(text, named, sql, wanted) if sql else None
        result = restricted or self.search(text, named, self.options.sql, wanted)
        hits = self.joined([result.hits])[:count]
        return Found(hits, result.keys, result.trace, result.hits, sql if restricted else "")

    def joined(self, rankings: Sequence[Sequence[FoundPassage]]) -> tuple[FoundPassage, ...]:
        """The passages of several searches: with segments joined as those of one extraction, else in turn by rank."""
        if self.segments is None or self.context is None:
            return merge_hits((), *rankings)
        return join_passages(self.context.index, rankings, self.segments, _SEGMENT_CHARACTERS)  # type: ignore[arg-type]

    @property
    def vocabulary(self) -> str:
        """What prompts tell of the release for writing filters; a dash where nothing is known."""
        return (self.context.vocabulary(self.options.vocabulary) if self.context else "") or "-"

    def _restricted(self, text: str, keys: tuple[str, ...], sql: str, count: int) -> FoundPassages | None:
        result, fault = self._tried(text, keys, sql, count)
        if result is not None:
            outcome: dict[str, Any] = {"documents": documents_of(result.hits)}
        else:
            outcome = {"reason": f"the model's restriction {_short(sql)} {fault}"}
            self.note(outcome["reason"])
        with self._lock:
            self.filters.append({"sql": sql, "is_kept": result is not None} | outcome)
        return result

    def _tried(self, text: str, keys: tuple[str, ...], sql: str, count: int) -> tuple[FoundPassages | None, str]:
        if self.options.sql:
            return None, "was replaced by the caller's"
        try:
            result = self.search(text, keys, sql, count)
        except FilterError as error:
            return None, f"was refused: {_short(error)}; searched without it"
        return (result, "") if result.hits else (None, "matches nothing: searched without it")

    def ask(self, name: str, answer: type[AnswerT], values: Mapping[str, object], *, is_last: bool = False) -> AnswerT:
        """The model's answer to the prompt `name`.

        Raises:
            BudgetExceeded: If calls, tokens or seconds are used up; the last call may be made while seconds are left.
            ModelError: If the model gave no usable answer.
        """
        assert self.chat is not None
        prompt = load_prompt(name, self.language)
        request = Request(prompt.fill(**values), answer, name, prompt.system)
        self._begin(is_last)
        started = self.seconds
        usage, fault = Usage(calls=1), ""
        try:
            reply = _within(self.options.max_seconds - self.seconds, partial(self.chat.ask, request))
            usage = reply.usage
        except ModelError as error:
            usage, fault = getattr(error, "usage", usage), str(error)
            raise
        finally:
            self._book(name, prompt.version, usage, self.seconds - started, fault)
        return reply.value

    def tried(
        self, name: str, answer: type[AnswerT], values: Mapping[str, object], fault: str, *, is_last: bool = False
    ) -> AnswerT | None:
        """The model's answer to a prompt; None, with a note that begins with the fault, where it gave none."""
        try:
            return self.ask(name, answer, values, is_last=is_last)
        except ModelError as error:
            self.note(f"{fault}: {error}")
            return None

    def _begin(self, is_last: bool) -> None:  # noqa: FBT001  internal
        options = self.options
        with self._lock:
            tokens = self.usage.input_tokens + self.usage.output_tokens
            if self.seconds >= options.max_seconds:
                raise BudgetExceeded(f"{options.max_seconds:g} seconds have passed; raise max_seconds for more")
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
    """The result of a call within at most `seconds`; its thread never delays the end of the program."""
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
