"""Who may ask a server, of what part of the release, and how often; and the release that is current."""

import hashlib
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Protocol, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sag_retrieval.api import Release, open_release
from sag_retrieval.core.errors import ReleaseError, SagError, SettingsError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.releases import Releases


class AccessKey(BaseModel):
    """Someone who may ask: a name, the hash of a key, what part of the release is seen, and a rate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    hash: Annotated[str, Field(pattern=r"sha256:[0-9a-f]{64}")]
    where: dict[str, Any] | None = None
    sql: str | None = None
    rate: Annotated[float, Field(ge=0, description="requests a minute; 0: as many as you like")] = 0
    decides: Annotated[bool, Field(description="whether it may merge and split keys")] = False

    @model_validator(mode="after")
    def _sees_what_it_decides(self) -> Self:
        if self.decides and self.is_restricted:
            raise ValueError("a key that decides sees everything; leave out where and sql, or decides")
        return self

    @property
    def is_restricted(self) -> bool:
        """Whether it sees a part of the release."""
        return bool(self.where) or self.sql is not None


def key_of(request: HTTPConnection | None) -> AccessKey | None:
    """The key that the guard found; None on standard input, and of a server without keys."""
    found = request.scope.get("state", {}).get("sag_key") if request is not None else None
    return found if isinstance(found, AccessKey) else None


def hash_of(key: str) -> str:
    """What the file of keys holds of a key: keys are drawn at random, so that no slow hash is needed."""
    return f"sha256:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


class AccessKeys:
    """The keys of a file, and what each has left of its rate; safe to share between threads."""

    def __init__(self, keys: list[AccessKey]) -> None:
        self._by_hash = {key.hash: key for key in keys}
        if len({key.name for key in keys}) < len(keys) or len(self._by_hash) < len(keys):
            raise SettingsError("the file of keys has a name or a hash twice; give each key its own")
        self._left = {key.name: (key.rate, 0.0) for key in keys}
        self._lock = threading.Lock()

    def named_by(self, token: str) -> AccessKey | None:
        """The key of a token; None for none. Finding a hash tells nothing of a key that is as long."""
        return self._by_hash.get(hash_of(token)) if token else None

    def wait(self, key: AccessKey, now: float | None = None) -> float:
        """Count a request; the seconds to wait where the rate is used up, else 0."""
        if not key.rate:
            return 0.0
        now = time.monotonic() if now is None else now
        with self._lock:
            left, since = self._left[key.name]
            left = min(key.rate, left + (now - since) * key.rate / 60)
            if left < 1:
                return (1 - left) * 60 / key.rate
            self._left[key.name] = left - 1, now
        return 0.0


def read_keys(path: Path) -> AccessKeys:
    """The keys of a YAML file: `keys:`, a list of name, hash, and if wanted where, sql and rate."""
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        given = read["keys"] if isinstance(read, Mapping) else read
        return AccessKeys([AccessKey(**each) for each in given])
    except (OSError, UnicodeError, yaml.YAMLError, TypeError, KeyError) as error:
        raise SettingsError(
            f"{path} holds no keys ({type(error).__name__}); `sag serve --new-key NAME` shows one"
        ) from None
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise SettingsError(f"{path}: {told}; `sag serve --new-key NAME` shows an entry") from None


_LOOK: Final = 5.0
"""Seconds between two looks for a newer release in a bucket; a pointer on disk is read for each request."""


class _Held:
    """An open release, who uses it, and what each key sees of it."""

    def __init__(self, release: Release) -> None:
        self.release, self.users, self.seen = release, 0, dict[str, tuple[tuple[str, str], Release]]()


class CurrentRelease:
    """The current release of a home: a new request takes the newest, one under way keeps its own."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = load_settings(home=home).home
        self._releases = Releases(self.home)
        self._held: _Held | None = None
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._looked = -_LOOK

    @contextmanager
    def open(self, key: AccessKey | None = None) -> Iterator[Release]:
        """The release as a key sees it, kept open for as long as it is used."""
        held = self._take()
        try:
            yield self._as_seen(held, key)
        finally:
            self._give_back(held)

    def close(self) -> None:
        """Close the release; for the end of the program."""
        with self._lock:
            held, self._held = self._held, None
        if held and not held.users:
            held.release.close()

    def _take(self) -> _Held:
        with self._lock:
            held = self._held
            if held is not None and not self._is_old(held):
                held.users += 1
                return held
        if held is None or self._opening.acquire(blocking=False):
            self._swap(is_first=held is None)
        with self._lock:
            if self._held is None:
                raise ReleaseError("there is no release yet; `sag ingest` makes one")
            self._held.users += 1
            return self._held

    def _is_old(self, held: _Held) -> bool:
        """Whether another release is current; where the pointer says nothing, the one at hand stays."""
        if self._releases.remote:
            if time.monotonic() - self._looked < _LOOK:
                return False
            self._looked = time.monotonic()
        current = self._releases.current()
        return current is not None and current != held.release.release_id

    def _swap(self, *, is_first: bool) -> None:
        """Open the current release in place of the one at hand; other threads go on with that one meanwhile."""
        if is_first:
            self._opening.acquire()
        try:
            with self._lock:
                if self._held is not None and not self._is_old(self._held):
                    return
            try:
                opened = _Held(open_release(self.home))
                opened.release.index  # noqa: B018  mapped before anyone waits for it
            except SagError:
                if is_first:
                    raise
                return  # it is being written or was damaged; the one at hand answers
            with self._lock:
                before, self._held = self._held, opened
            if before is not None and not before.users:
                before.release.close()
        finally:
            self._opening.release()

    def _give_back(self, held: _Held) -> None:
        with self._lock:
            held.users -= 1
            is_last = held is not self._held and not held.users
        if is_last:
            held.release.close()

    @staticmethod
    def _as_seen(held: _Held, key: AccessKey | None) -> Release:
        if key is None or not key.is_restricted:
            return held.release
        state = held.release.seen_as  # SQL of a key is asked again where documents were taken out, or came back
        if key.name not in held.seen or held.seen[key.name][0] != state:
            try:
                held.seen[key.name] = state, held.release.restricted(sql=key.sql, where=key.where)
            except SagError:
                raise ReleaseError(f"the restriction of the key {key.name!r} does not fit this release") from None
        return held.seen[key.name][1]


class NameDecider(Protocol):
    """Who writes down what people decide about names: the pipeline, where it is installed."""

    def decide(self, verb: Literal["merge", "apart"], name: str, other: str) -> None:
        """Make two names one key (`merge`), or never one (`apart`), from the next ingest on."""

    def undo(self, line: int) -> None:
        """Take the decision in a line back."""

    def decided(self) -> list[dict[str, Any]]:
        """Every decision: `line`, `decision`, `name` and `other`."""

    def close(self, most: int) -> list[dict[str, Any]]:
        """Close names that are two keys, the closest first: `closeness`, `name` and `other`."""


_AT_ONCE: Final = 2
"""Searches at the same time: they share the interpreter's lock, and 32 threads on it answered 25 requests a second, two
answered 38, one 42 (`benchmarks/serve.py`); two, so that a slow search does not stop every other one."""


class Busy(SagError):  # noqa: N818  reads better where it is caught
    """As many questions as may ask a model at the same time are being answered."""


class Service:
    """What the doors share: the release, who may ask, and how many long questions are answered at the same time."""

    def __init__(
        self,
        current: CurrentRelease,
        keys: AccessKeys | None = None,
        *,
        heavy: int = 4,
        decider: NameDecider | None = None,
    ) -> None:
        """Without keys everyone who reaches the server sees everything; without a decider nobody decides on names.

        `heavy` questions that may ask a model, and reports, are under way at the same time.
        """
        self.current, self.keys = current, keys
        self._decider = decider
        self._heavy = threading.BoundedSemaphore(heavy)
        self._most_heavy = heavy
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self.threads = ThreadPoolExecutor(40, "door")  # as many as anyio's, whose hand-over takes twice as long
        home = current.home
        self.homes = {str(each) for each in (home, home.absolute(), home.resolve(), home.expanduser())} - {".", "/"}

    def decider(self, key: AccessKey | None) -> NameDecider | None:
        """Who decides on names for this key; None where it may not: without keys the server answers this machine."""
        return self._decider if self.keys is None or (key is not None and key.decides) else None

    @contextmanager
    def use(
        self, key: AccessKey | None = None, *, is_heavy: bool = False, is_search: bool = False
    ) -> Iterator[Release]:
        """The release as a key sees it, for one request; a search waits for its turn."""
        if is_heavy and not self._heavy.acquire(blocking=False):
            raise Busy(f"{self._most_heavy} long questions are being answered; ask again in a while, or in mode fast")
        try:
            with self.current.open(key) as release, self._turns if is_search and not is_heavy else nullcontext():
                yield release
        finally:
            if is_heavy:
                self._heavy.release()


LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
MOST_BODY: Final = 1_000_000
"""Bytes of a request: a conversation of 200,000 words."""
_OPEN: Final = frozenset({"/health", "/ready"})


class Guard:
    """Refuses what no door should see; hands the key of a request on as `scope["state"]["sag_key"]`."""

    def __init__(
        self, app: ASGIApp, *, keys: AccessKeys | None, hosts: Collection[str], open_paths: Collection[str] = ()
    ) -> None:
        """Hold the application, who may ask (None: everyone), and what needs no key besides the paths of health.

        `hosts` are names in `Host` and `Origin`, so that no page of another site talks to it through a name that it
        points here (DNS rebinding); empty: any, as keys decide.
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
            await _refuse(scope, receive, send, refused)
            return
        size = 0

        async def bounded() -> Message:  # a body ends where it is too large, whatever its header says
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_BODY:
                raise HTTPException(413, f"the request has more than {MOST_BODY:,} bytes")
            return message

        try:
            await self._app(scope, bounded, send)
        except HTTPException as error:  # of a body that no application took for its own
            await _refuse(scope, receive, send, (error.status_code, error.detail, 0))

    def _refused(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str, int] | None:
        origin = headers.get(b"origin", "")
        if not self._is_known(headers.get(b"host", "")) or (origin and not self._is_known(origin.partition("://")[2])):
            return 421, "this server does not answer for that host name; `sag serve --allow-host NAME` lets it", 0
        if self._keys is None or scope["path"] in self._open:
            return None
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        key = self._keys.named_by(token.strip() if scheme.lower() == "bearer" else headers.get(b"x-api-key", ""))
        if key is None:
            return 401, "no valid key; send it as `Authorization: Bearer KEY`", 0
        scope.setdefault("state", {})["sag_key"] = key
        wait = self._keys.wait(key)
        return (429, f"the rate of this key is {key.rate:g} requests a minute", 1 + int(wait)) if wait else None

    def _is_known(self, host: str) -> bool:
        if not self._hosts:
            return True
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return name.lower() in self._hosts


async def _refuse(scope: Scope, receive: Receive, send: Send, told: tuple[int, str, int]) -> None:
    status, reason, seconds = told
    headers = {"retry-after": str(seconds)} if seconds else {}
    headers |= {"www-authenticate": "Bearer"} if status == 401 else {}  # noqa: PLR2004  no key
    await JSONResponse(error_body(status, reason), status, headers)(scope, receive, send)


_KINDS: Final = {401: "invalid_api_key", 404: "not_found", 413: "too_large", 429: "rate_limit_exceeded"}


def error_body(status: int, reason: str, code: str = "") -> dict[str, Any]:
    """An error as clients of OpenAI's interface read it; every door has this form."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004  faults of the server
    return {"error": {"message": reason, "type": kind, "code": code or _KINDS.get(status, kind), "param": None}}
