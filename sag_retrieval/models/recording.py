"""Keep the answers of a model in one small file, and answer from it alone: no server, no key."""

import gzip
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from sag_retrieval.core.errors import AnswerError, ModelError, SourceError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.answer_cache import Answered, call_id
from sag_retrieval.models.openai import request_tokens
from sag_retrieval.models.protocols import AnswerT, ChatModel, Reply, Request, Usage, estimate_tokens

UNANSWERED: Final = "unanswered"
"""Folder below the home with each prompt that a replay had no answer to."""


class RecordingChat:
    """Passes requests on and, when closed, writes the answers to a file by call id: equal runs give equal bytes."""

    def __init__(self, inner: ChatModel, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._lock = threading.Lock()
        self._answered: dict[str, Answered] = {}

    @property
    def model_id(self) -> str:
        """The inner model's."""
        return self._inner.model_id

    @property
    def fingerprint(self) -> str:
        """The inner model's."""
        return str(getattr(self._inner, "fingerprint", self._inner.model_id))

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The inner model's answer (see `ChatModel`)."""
        reply = self._inner.ask(request)
        self._note(request, reply)
        return reply

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """The inner model's answers (see `ChatModel`)."""
        asked: list[Request[AnswerT]] = []

        def noted() -> Iterator[Request[AnswerT]]:
            for request in requests:
                asked.append(request)
                yield request

        for place, reply in enumerate(self._inner.ask_all(noted())):
            if isinstance(reply, Reply):
                self._note(asked[place], reply)
            yield reply

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        write_recording(self._path, self.fingerprint, self._answered.values())

    def _note(self, request: Request[AnswerT], reply: Reply[AnswerT]) -> None:
        answered = answered_by(self.fingerprint, request, reply.value.model_dump_json())
        with self._lock:
            self._answered[answered.call_id] = answered


def answered_by(fingerprint: str, request: Request[Any], answer: str) -> Answered:
    """The answer to a request as the file keeps it: tokens are estimated, and it took no time."""
    sent, received = request_tokens(request), estimate_tokens(answer)
    key = call_id(fingerprint, request)
    return Answered(key, answer, request.document_id, request.step, fingerprint, sent, received, 0.0)


def write_recording(path: Path, fingerprint: str, answers: Iterable[Answered]) -> None:
    """Write answers as JSON Lines, compressed where the name ends in `.gz`: who answered, then one each by call id."""
    rows: list[Mapping[str, object]] = [{"fingerprint": fingerprint}]
    for each in sorted(answers, key=lambda each: each.call_id):
        tokens = [each.input_tokens, each.output_tokens]
        told = {"call_id": each.call_id, "step": each.step, "document_id": each.document_id, "tokens": tokens}
        rows.append(told | {"answer": json.loads(each.answer)})
    text = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows).encode("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


class ReplayChat:
    """Answers from a recording only; other requests are refused, and lie below `unanswered` in the home."""

    def __init__(self, name: str) -> None:
        path = Path(name)
        try:
            data = path.read_bytes()
            text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            head, *lines = map(json.loads, text.decode("utf-8").splitlines())
            self.fingerprint = str(head["fingerprint"])
            self.model_id = f"recorded:{self.fingerprint}"
            self._answers = {each.call_id: each for each in map(self._read, lines)}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path} is not a recording: {error!r}; record one with RecordingChat") from error

    def _read(self, line: Mapping[str, Any]) -> Answered:
        sent, received = line["tokens"]
        answer = json.dumps(line["answer"], ensure_ascii=False)
        whose = line["document_id"], line["step"], self.fingerprint
        return Answered(line["call_id"], answer, *whose, sent, received, 0.0)

    @cached_property
    def answers(self) -> tuple[Answered, ...]:
        """All answers, which a cache takes over: what is asked together was recorded one by one."""
        return tuple(self._answers.values())

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The recorded answer."""
        key = call_id(self.fingerprint, request)
        if found := self._answers.get(key):
            usage = Usage(1, 0, found.input_tokens, found.output_tokens)
            return Reply(request.answer.model_validate_json(found.answer), usage)
        folder = load_settings().home / UNANSWERED
        folder.mkdir(parents=True, exist_ok=True)
        schema = json.dumps(request.answer.model_json_schema(), ensure_ascii=False)
        file = folder / f"{request.step}-{key}.md"
        file.write_text(f"{request.system}\n---\n{request.prompt}\n---\n{schema}\n", encoding="utf-8")
        raise AnswerError(
            f"{self.model_id!r} has no answer for a request of step {request.step!r}: prompt, text or ranking changed "
            f"since it was recorded; {file} shows what is asked; record the run again"
        )

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """The recorded answers, in order; an error where one was not recorded."""
        for request in requests:
            try:
                yield self.ask(request)
            except AnswerError as error:
                yield error
