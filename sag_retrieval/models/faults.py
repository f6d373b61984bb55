"""What went wrong with a call: which faults pass, which are the request's own, which stop a run."""

from dataclasses import dataclass
from enum import Enum

from sag_retrieval.core.errors import AnswerError
from sag_retrieval.models.protocols import Usage
from sag_retrieval.models.rate_limits import retry_after_seconds


class FaultKind(Enum):
    """What to do about a fault."""

    BUSY = "the server asks for patience: wait, and hold the other calls back too"
    BROKEN = "the server or the line failed: try again"
    REFUSED = "the request is at fault: the same again is refused again"
    BARRED = "no request will pass: wrong key, wrong model, no credit"


@dataclass(frozen=True, slots=True)
class CallFault:
    """A failed try: what kind, in whose words, and how long the server asked to wait."""

    kind: FaultKind
    message: str
    retry_after: float | None = None


class Refused(Exception):  # noqa: N818  always caught: the request is put another way, or the error renamed
    """The server refused the request as it was put."""


class UnusableAnswer(AnswerError):  # noqa: N818  an AnswerError with its cost
    """An answer that could not be read, and what it cost all the same."""

    def __init__(self, message: str, usage: Usage) -> None:
        """Keep the cost for the ledger."""
        super().__init__(message)
        self.usage = usage


_BARRED = {401, 402, 403, 404}
_BROKEN = {408, 409, 425}


def fault_of(error: Exception) -> CallFault:
    """The fault behind an exception of the `openai` package or a timeout."""
    status = getattr(error, "status_code", None)
    message = f"{status or type(error).__name__}: {_words(error)}"
    if status is None:
        return CallFault(FaultKind.BROKEN, message)
    wait = retry_after_seconds(error.response.headers.get("retry-after"))  # type: ignore[attr-defined]
    if status in _BARRED or getattr(error, "code", None) == "insufficient_quota":
        return CallFault(FaultKind.BARRED, message)
    if status == 429 or (status == 503 and wait is not None):  # noqa: PLR2004  HTTP's own numbers
        return CallFault(FaultKind.BUSY, message, wait)
    if status >= 500 or status in _BROKEN:  # noqa: PLR2004
        return CallFault(FaultKind.BROKEN, message, wait)
    return CallFault(FaultKind.REFUSED, message)


def _words(error: Exception) -> str:
    """What the server said, in its own words and short."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(said or error or "no answer in time").split())[:300]
