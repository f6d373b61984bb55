"""Record the answers of a run in one file, and replay them as a chat model."""

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from sag_retrieval.core.errors import ModelError, ModelUnavailable, SourceError
from sag_retrieval.models.answer_cache import call_id
from sag_retrieval.models.protocols import AnswerT, ChatModel, Reply, Request, Usage


class RecordingChat:
    """Passes requests on and, when closed, writes the answers to a file by call id: equal runs give equal bytes.

    Seconds are left out, because they differ from run to run.
    """

    def __init__(self, inner: ChatModel, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._lock = threading.Lock()
        self._lines: dict[str, dict[str, Any]] = {}

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
        self.save()

    def save(self) -> None:
        """Write the file."""
        head = {"model": self.model_id, "fingerprint": self.fingerprint}
        lines = [head, *(self._lines[key] for key in sorted(self._lines))]
        text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(text, encoding="utf-8")

    def _note(self, request: Request[AnswerT], reply: Reply[AnswerT]) -> None:
        usage = {name: value for name, value in asdict(reply.usage).items() if name != "seconds"}
        key = call_id(self.fingerprint, request)
        line = {"call_id": key, "step": request.step, "document_id": request.document_id, "usage": usage}
        with self._lock:
            self._lines[key] = line | {"answer": reply.value.model_dump(mode="json")}


class ReplayChat:
    """Answers from a recording only.

    A request without a recorded answer stops the run: a replay with gaps would differ from the recorded run.
    """

    def __init__(self, path: Path) -> None:
        """Read a recording.

        Raises:
            SourceError: If the file is not a recording.

        """
        self._path = path
        try:
            head, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            self._model, self.fingerprint = str(head["model"]), str(head["fingerprint"])
            self._lines: dict[str, dict[str, Any]] = {line["call_id"]: line for line in lines}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path} is not a recording: {error!r}; record one with RecordingChat") from error

    @property
    def model_id(self) -> str:
        """The recorded model's."""
        return self._model

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The recorded answer.

        Raises:
            ModelUnavailable: If it was not recorded.

        """
        line = self._lines.get(call_id(self.fingerprint, request))
        if line is None:
            raise ModelUnavailable(
                f"{self._path} has no answer for this request of step {request.step!r}, document "
                f"{request.document_id!r}: prompt, text or model changed since; record the run again"
            )
        return Reply(request.answer.model_validate(line["answer"]), Usage(**line["usage"]))

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """The recorded answers, in order.

        Raises:
            ModelUnavailable: If one was not recorded.

        """
        return map(self.ask, requests)
