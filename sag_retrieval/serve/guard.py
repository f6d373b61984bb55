"""What a request must pass before it is read: the name of the host, a key, its rate, the size of its body."""

import json
from collections.abc import Collection
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sag_retrieval.serve.access import AccessKeys

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
MOST_BODY: Final = 1_000_000
"""Bytes of a request: a conversation of 200,000 words."""
_TOO_LARGE: Final = f"the request has more than {MOST_BODY:,} bytes"
_OPEN: Final = frozenset({"/health", "/ready"})


class Guard:
    """Refuses what no door should see; hands the key of a request on as `scope["state"]["sag_key"]`."""

    def __init__(
        self, app: ASGIApp, *, keys: AccessKeys | None, hosts: Collection[str], open_paths: Collection[str] = ()
    ) -> None:
        """Hold the application behind it.

        Args:
            app: What answers a request that passes.
            keys: Who may ask; None: everyone.
            hosts: Names in `Host` and `Origin`, so that no page of another site talks to it through a name that it
                points here (DNS rebinding); empty: any, as keys decide.
            open_paths: Paths without a key, besides those of health.
        """
        self._app, self._keys, self._hosts = app, keys, frozenset(hosts)
        self._open = _OPEN | frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to the application."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _refuse(send, *refused)
            return
        body = _Body(receive)
        try:
            await self._app(scope, body.receive, send)
        except HTTPException as error:  # of a body that no application took for its own
            await _refuse(send, error.status_code, error.detail)

    def _refused(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | tuple[int, str, int] | None:
        """Status, reason and seconds to wait; None where nothing is wrong."""
        origin = headers.get(b"origin", "")
        if not self._is_known(headers.get(b"host", "")) or (origin and not self._is_known(origin.partition("://")[2])):
            return 421, "this server does not answer for that host name; `sag serve --allow-host NAME` lets it"
        if (
            headers.get(b"content-length", "0").strip().isdecimal()
            and int(headers.get(b"content-length", "0")) > MOST_BODY
        ):
            return 413, _TOO_LARGE
        if self._keys is None or scope["path"] in self._open:
            return None
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        key = self._keys.named_by(token.strip() if scheme.lower() == "bearer" else headers.get(b"x-api-key", ""))
        if key is None:
            return 401, "no valid key; send it as `Authorization: Bearer KEY`"
        scope.setdefault("state", {})["sag_key"] = key
        wait = self._keys.wait(key)
        return (429, f"the rate of this key is {key.rate:g} requests a minute", 1 + int(wait)) if wait else None

    def _is_known(self, host: str) -> bool:
        if not self._hosts:
            return True
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return name.lower() in self._hosts


class _Body:
    """A body that ends where it is too large, whatever its header says."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._size = receive, 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > MOST_BODY:
            raise HTTPException(413, _TOO_LARGE)
        return message


async def _refuse(send: Send, status: int, reason: str, seconds: int = 0) -> None:
    body = json.dumps(error_body(status, reason)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", str(seconds).encode())] if seconds else []
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []  # noqa: PLR2004  no key
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_KINDS: Final = {401: "invalid_api_key", 404: "not_found", 413: "too_large", 429: "rate_limit_exceeded"}


def error_body(status: int, reason: str, code: str = "") -> dict[str, Any]:
    """An error as clients of OpenAI's interface read it; every door has this form."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004  faults of the server
    return {"error": {"message": reason, "type": kind, "code": code or _KINDS.get(status, kind), "param": None}}
