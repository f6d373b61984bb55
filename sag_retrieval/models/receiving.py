"""Receive the answer of a chat server while it is written: server-sent events, or one body where it does not stream."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

LEAST_REPEATED: Final = 1_200
"""Characters at the end of an answer that repeat one passage, from which on it counts as a loop: some 300 tokens."""
_LEAST_TIMES: Final = 5
_SUFFIX: Final = 24
"""Characters whose last occurrence gives the length of the passage."""
_THOUGHTS: Final = ("reasoning_content", "reasoning")


class BrokenOff(ValueError):  # noqa: N818  always caught: the request is sent again
    """The connection, or the server, failed before the answer was whole."""


@dataclass(slots=True)
class Received:
    """What came of an answer."""

    pieces: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    """As the server counts it; empty where it does not."""
    finish_reason: str = ""
    is_thinking: bool = False
    """The model was seen to think before it answers."""
    repeated: str = ""
    """The passage that the answer repeats at its end; receiving stopped there."""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.pieces)

    def take(self, body: dict[str, Any], name: str) -> None:
        """Add an event, or the whole body; `name` is `delta` or `message`."""
        if body.get("error"):
            said = body["error"]
            raise BrokenOff(str(said.get("message") if isinstance(said, dict) else said))
        choice: dict[str, Any] = next(iter(body.get("choices") or ()), {})
        message = choice.get(name) or {}
        self.pieces.append(message.get("content") or message.get("refusal") or "")
        self.usage = body.get("usage") or self.usage
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        details = self.usage.get("completion_tokens_details") or {}
        self.is_thinking |= any(message.get(one) for one in _THOUGHTS) or bool(details.get("reasoning_tokens"))


async def receive(opened: Any, heard: Callable[[], None]) -> Received:  # noqa: ANN401  a response of the client's own library
    """The answer in an opened response, which is closed afterwards: that also stops a server which still writes.

    Args:
        opened: The response, its status seen.
        heard: Called whenever something came.

    Raises:
        BrokenOff: If the connection breaks, or the answer ends before the server says that it is whole.

    """
    found, rest, unchecked, is_whole = Received(), list[bytes](), 0, False
    try:
        async for line in _lines(opened, heard):
            if not line.startswith(b"data:"):
                rest.append(line)
            elif line[5:].strip() == b"[DONE]":
                is_whole = True
                break
            else:
                found.take(json.loads(line[5:]), "delta")
                unchecked += len(found.pieces[-1])
            if unchecked >= LEAST_REPEATED // 4:
                unchecked, found.repeated = 0, repeated_passage(found.text)
                if found.repeated:
                    return found
    finally:
        await opened.aclose()
    if not found.pieces and not is_whole:
        found.take(_object(b"\n".join(rest)), "message")
    elif not is_whole and not found.finish_reason:
        raise BrokenOff("the answer broke off")
    return found


async def _lines(opened: Any, heard: Callable[[], None]) -> AsyncIterator[bytes]:  # noqa: ANN401
    """Lines of the body; only line feeds end them, as an answer may hold other line breaks of Unicode."""
    began = b""
    pieces = aiter(opened.aiter_bytes())
    while True:
        try:
            piece = await anext(pieces)
        except StopAsyncIteration:
            break
        except Exception as error:  # the client has one library of connections or another, with errors of its own
            raise BrokenOff(f"{type(error).__name__}: {error}") from error
        heard()
        *whole, began = (began + piece).split(b"\n")
        for line in whole:
            yield line
    yield began


def _object(body: bytes) -> dict[str, Any]:
    """A body of JSON; empty where it is something else than an object."""
    read = json.loads(body)
    return read if isinstance(read, dict) else {}


def repeated_passage(text: str) -> str:
    """The passage that a text repeats at its end, five times and over 1,200 characters at least; else empty.

    Examples:
        >>> repeated_passage("The bees " + "dance and " * 200)
        'dance and '
        >>> repeated_passage("".join(f"{n} bees, " for n in range(1_000)))
        ''

    """
    ends_at = len(text) - _SUFFIX
    before = text.rfind(text[ends_at:], 0, len(text) - 1) if ends_at > 0 else -1
    if before < 0:
        return ""
    length = ends_at - before
    tail = text[-max(LEAST_REPEATED, _LEAST_TIMES * length) :]
    is_loop = len(tail) >= max(LEAST_REPEATED, _LEAST_TIMES * length) and tail[length:] == tail[:-length]
    return tail[-length:] if is_loop else ""
