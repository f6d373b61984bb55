"""An S3 server on this machine, and a proxy before it that refuses, delays, cuts, or ignores conditions."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen
from uuid import uuid4

from aiohttp import ClientResponse, ClientSession, web
from yarl import URL

KEY_ID, SECRET = "AKIAEXAMPLEKEYID0001", "example-secret-that-must-not-be-shown"
_SERVER = """
import logging
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""


@contextmanager
def s3_server() -> Iterator[str]:
    """The address of a server in a process of its own; it ends with the context."""
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def new_bucket(address: str) -> str:
    """Make a bucket and return its name."""
    name = f"b{uuid4().hex[:12]}"
    with urlopen(Request(f"{address}/{name}", method="PUT"), timeout=300):
        return name


def environment_of(address: str) -> dict[str, str]:
    """The variables by which a client finds the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }


def _nothing(_: str, __: str) -> bool:
    """Most requests go further."""
    return False


class Proxy:
    """What a proxy before an S3 server does with requests, until the test says otherwise."""

    def __init__(self) -> None:
        self.address = ""
        self.failed = 0
        self.received = 0
        """Bytes of bodies sent through it."""
        self.sent = 0
        """Bytes of bodies answered through it."""
        self.requests = 0
        self.written: list[tuple[str, bytes]] = []
        """Key and body of every successful write of a file that is replaced: `HEAD` and `CURRENT`."""
        self.before: Callable[[str, str], bool] = _nothing
        """Called with the method and path of each request; whether it is to go no further."""
        self._ignored: set[str] = set()
        self._answers: dict[str, tuple[int, str]] = {}
        self._left = 0
        self._fault = ""

    def ignore(self, *headers: str) -> None:
        """Leave out headers, as a server does that does not know them."""
        self._ignored |= {header.lower() for header in headers}

    def refuse(self, method: str, status: int, body: str) -> None:
        """Answer requests of one method in place of the server."""
        self._answers[method] = status, body

    def answer_all(self, status: int, body: str) -> None:
        """Answer every request in place of the server."""
        for method in ("GET", "PUT", "HEAD", "POST", "DELETE"):
            self.refuse(method, status, body)

    def fail_times(self, times: int, fault: str) -> None:
        """Let the next requests to read fail: `503`, `cut` in the middle of the body, or `slow`."""
        self._left, self._fault = times, fault

    async def handle(self, request: web.Request, session: ClientSession, target: str) -> web.StreamResponse:
        """Answer one request."""
        body = await request.read()
        self.received, self.requests = self.received + len(body), self.requests + 1
        if self.before(request.method, request.path):
            return web.Response(status=503)
        if request.method in self._answers:
            status, text = self._answers[request.method]
            return web.Response(status=status, text=text, content_type="application/xml")
        fault = self._fault if request.method == "GET" and self._left > 0 else ""
        if fault:
            self._left, self.failed = self._left - 1, self.failed + 1
        if fault == "503":
            return web.Response(status=503, text="<Error><Code>SlowDown</Code></Error>")
        if fault == "slow":
            await asyncio.sleep(30)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in {*self._ignored, "expect"}}
        url = URL(target + request.raw_path, encoded=True)
        async with session.request(request.method, url, headers=headers, data=body, allow_redirects=False) as answer:
            return await self._pass_on(request, answer, is_cut=fault == "cut")

    async def _pass_on(self, request: web.Request, answer: ClientResponse, *, is_cut: bool) -> web.StreamResponse:
        body = await answer.read()
        self.sent += len(body)
        name = request.path.rpartition("/")[2]
        if request.method == "PUT" and name in ("HEAD", "CURRENT") and answer.status < 300:
            self.written.append((name, await request.read()))
        passed = web.StreamResponse(status=answer.status, headers={**answer.headers})
        if not is_cut:
            return web.Response(status=answer.status, headers={**answer.headers}, body=body)
        await passed.prepare(request)
        await passed.write(body[: len(body) // 2])
        assert request.transport is not None
        request.transport.abort()
        return passed


@contextmanager
def s3_proxy(target: str) -> Iterator[Proxy]:
    """A proxy before a server, in a thread of this process."""
    proxy, loop, is_up = Proxy(), asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        async with ClientSession(auto_decompress=False, skip_auto_headers=("Accept-Encoding",)) as session:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await proxy.handle(request, session, target)

            app = web.Application(client_max_size=1 << 30)
            app.router.add_route("*", "/{path:.*}", handle)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            proxy.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
            is_up.set()
            await stop.wait()
            await runner.cleanup()
            slow = asyncio.all_tasks() - {asyncio.current_task()}
            for task in slow:  # answers that nobody waits for any more
                task.cancel()
            await asyncio.gather(*slow, return_exceptions=True)

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert is_up.wait(300), "the proxy starts"
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(300)
        loop.close()
