"""The commands that open a release to other programs: serve, mcp, and chat in a terminal."""

import gc
import json
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final

import click

from sag_retrieval.cli.choices import MODE_NAMES, NAME_DECIDER, WrongCall
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say, show_answer, show_progress

if TYPE_CHECKING:
    from sag_retrieval.ask.options import Mode


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; any other needs --keys.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="0: any.")
@click.option("--keys", "keys_file", type=click.Path(path_type=Path, dir_okay=False), help="YAML file of API keys.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A host name to answer for; may be repeated."
)
@click.option(
    "--heavy", type=click.IntRange(1, 1000), default=4, show_default=True, help="Long questions at the same time."
)
@click.option("--new-key", metavar="NAME", help="Print a new key and its entry for the file of keys; serve nothing.")
@as_json
def serve(  # noqa: PLR0913  one argument an option
    *,
    host: str,
    port: int,
    keys_file: Path | None,
    hosts: tuple[str, ...],
    heavy: int,
    new_key: str | None,
    is_json: bool,
) -> None:
    """Answer over HTTP, until it is stopped: a page, REST, OpenAI's interface and MCP.

    \b
    sag serve                                       http://127.0.0.1:8321, this machine alone
    sag serve --new-key sales >> keys.yaml          then give the key a `where`, `sql` or `rate`
    sag serve --host 0.0.0.0 --keys keys.yaml       others too, each with a key
    """
    from sag_retrieval.serve.access import CurrentRelease, Service, read_keys  # noqa: PLC0415

    if new_key is not None:
        _show_new_key(new_key, is_json=is_json)
        return
    if host not in {"127.0.0.1", "localhost", "::1"} and keys_file is None:
        raise WrongCall(f"--host {host} lets others ask; give --keys FILE (`sag serve --new-key NAME` makes an entry)")
    import uvicorn  # noqa: PLC0415  an extra

    from sag_retrieval.serve.access import LOOPBACK  # noqa: PLC0415
    from sag_retrieval.serve.http import build_app  # noqa: PLC0415

    keys = read_keys(keys_file) if keys_file else None
    known = [*LOOPBACK, *map(str.lower, hosts)] if hosts or keys is None else []
    decider = resolve_name(NAME_DECIDER[0])() if NAME_DECIDER else None
    app = build_app(Service(CurrentRelease(), keys, heavy=heavy, decider=decider), known)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        limit_concurrency=_CONNECTIONS,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        base = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        at = {"url": base, "openai": f"{base}/v1", "mcp": f"{base}/mcp"}
        print_json(at) if is_json else say("\n".join(f"{name:7}{url}" for name, url in at.items()))
        gc.freeze()  # modules stay: to look through them again took .2 s of one request in 300
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
        gc.unfreeze()  # at the end they go


_CONNECTIONS: Final = 512
"""Connections at the same time; more get 503."""
_GRACE: Final = 10
"""Seconds that answers under way have when the server is stopped."""


def _show_new_key(name: str, *, is_json: bool) -> None:
    """A key on standard error, which is shown once, and its entry on standard output."""
    from sag_retrieval.serve.access import hash_of  # noqa: PLC0415

    key = f"sag-{secrets.token_urlsafe(24)}"  # 192 random bits
    entry = {"name": name, "hash": hash_of(key)}
    if is_json:
        print_json(entry | {"key": key})
        return
    complain(f"{key} (keep it now: the file holds its hash alone)", kind="key")
    say(f"- name: {json.dumps(name, ensure_ascii=False)}\n  hash: {entry['hash']}")


@click.command()
def mcp() -> None:
    """Answer a language model over MCP, on standard input and output; clients start it themselves.

    \b
    claude mcp add sag -- sag mcp
    """
    from sag_retrieval.serve.access import CurrentRelease, Service  # noqa: PLC0415
    from sag_retrieval.serve.agents import build_server  # noqa: PLC0415

    build_server(Service(CurrentRelease())).run("stdio")


@click.command()
@click.option("--mode", type=MODE_NAMES, default="fast", show_default=True)
@as_json
def chat(*, mode: "Mode", is_json: bool) -> None:
    """Ask one question after another; each may refer to what was said before. An empty line ends it.

    \b
    sag chat
    sag chat --mode deep
    """
    from sag_retrieval import open_release  # noqa: PLC0415  keeps `sag --help` fast

    console, turns = Terminal(stderr=is_json), list[dict[str, str]]()

    def show(event: Any) -> None:  # noqa: ANN401  an event of asking
        show_progress(console, event)

    with open_release() as release, suppress(click.Abort):  # Ctrl-D and Ctrl-C end it too
        while question := click.prompt("", default="", show_default=False, prompt_suffix="> ", err=True).strip():
            turns.append({"role": "user", "content": question})
            found = release.ask(messages=turns, mode=mode, on_event=show)
            print_json(found.to_dict()) if is_json else show_answer(Terminal(), found)
            turns.append({"role": "assistant", "content": found.text})
