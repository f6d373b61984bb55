"""The scripted server of the tests in a separate process, so that its work is not counted as ours."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


class Served:
    """A running server: its address, and after it has stopped what it saw."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.seen: dict[str, Any] = {}


@contextmanager
def served(
    *, delay: float = 0.0, faulty: float = 0.0, dimension: int = 64, ignores_base64: bool = False
) -> Iterator[Served]:
    """A server that reads well (`tests/support/scripted_answers.py`): `delay` seconds per reply, some faulty."""
    ignores = ["base64"] if ignores_base64 else []
    given = {"delay": delay, "faulty": faulty, "dimension": dimension, "ignores": ignores}
    command = [sys.executable, str(Path(__file__)), json.dumps(given)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found = Served(process.stdout.readline().strip())
        try:
            yield found
        finally:
            process.stdin.close()
            found.seen = json.loads(process.stdout.read())


def _main() -> None:
    from tests.support import chat_server as fake  # noqa: PLC0415  after the path is set
    from tests.support.scripted_answers import read_well  # noqa: PLC0415

    given = json.loads(sys.argv[1])
    faulty = given.pop("faulty")
    faults = [
        fake.fenced,
        fake.with_trailing_commas,
        fake.full_width,
        fake.wrong_shape,
        fake.truncated,
        fake.over_long,
        fake.cut,
        lambda _: fake.broken(),
        lambda _: fake.rate_limited(0.2),
    ]

    def script(request: dict[str, Any]) -> fake.Answer:
        answer, number = fake.Answer(read_well(request)), request["_n"]
        is_faulty = (number * 0.618034) % 1 < faulty
        return faults[number % len(faults)](answer) if is_faulty else answer

    with fake.ChatServer(script, **given) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
        calls = server.calls
    by_step: dict[str, Counter[str]] = {}
    for call in calls:
        count = by_step.setdefault(fake.schema_of(call.request), Counter())
        count.update(calls=1, input=call.input_tokens, output=call.output_tokens, ok=call.status == 200)
    seconds = max((c.ended for c in calls), default=0) - min((c.started for c in calls), default=0)
    seen = {
        "calls": len(calls),
        "status": Counter(call.status for call in calls),
        "input": server.input_tokens,
        "output": server.output_tokens,
        "peak": server.peak,
        "seconds": seconds,
        "steps": by_step,
        "cut_input": sum(call.input_tokens for call in calls if not call.is_finished),
        "repeated": len(server.finished) - len({json.dumps(c.request["messages"]) for c in server.finished}),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    _main()
