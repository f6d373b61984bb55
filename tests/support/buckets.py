"""An S3 server on this machine, and a proxy before it that refuses, delays, cuts, or ignores conditions."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen
from uuid import uuid4

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
    with urlopen(Request(f"{address}/{name}", method="PUT"), timeout=20):
        return name


def environment_of(address: str) -> dict[str, str]:
    """The variables by which a client finds the server."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }
