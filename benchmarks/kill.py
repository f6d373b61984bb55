"""`sag ingest` killed (`kill -9`) at random moments: is any finished call paid twice, and is the release the same?

python benchmarks/kill.py [KILLS] [DOCUMENTS]
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.chat_server import ChatServer
from tests.scripted_answers import read_well

NAMES = ("Ada Lovelace", "Charles Babbage", "Mary Somerville", "Grace Hopper", "Alan Turing")


def write_source(folder: Path, count: int) -> Path:
    """Documents in both languages that share names."""
    source = folder / "documents.jsonl"
    lines = []
    for n in range(count):
        one, other = NAMES[n % 5], NAMES[(n // 5 + 1) % 5]
        english = (
            f"{one} met {other} in {1800 + n}. {other} wrote a report for Company Number {n}. It was {n} pages long."
        )
        chinese = f"《第{n}号报告》写于{1800 + n}年。“第{n}项工程”由北方公司承担。南山大学参与了“第{n}项工程”。"
        lines.append(json.dumps({"id": f"d{n}", "title": f"Report {n}", "text": chinese if n % 3 == 0 else english}))
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source


def start(home: Path, source: Path, base_url: str) -> "subprocess.Popen[str]":
    """One `sag ingest` in a process of its own."""
    environment = os.environ | {
        "SAG_HOME": str(home),
        "SAG_CHAT_MODEL": "openai:scripted",
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
    }
    command = [sys.executable, "-m", "sag_retrieval.cli", "ingest", str(source), "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(home: Path, source: Path, base_url: str) -> tuple[dict[str, Any], float]:
    """What an undisturbed run reports, and its seconds."""
    started = time.perf_counter()
    process = start(home, source, base_url)
    out, err = process.communicate()
    if process.returncode:
        sys.exit(f"ingest failed: {err[-2000:]}")
    return json.loads(out), time.perf_counter() - started


def run(kills: int, documents: int) -> dict[str, Any]:
    """The figures."""
    draw = random.Random(7)
    with TemporaryDirectory() as folder, ChatServer(read_well, delay=0.05) as server:
        source = write_source(Path(folder), documents)
        undisturbed, seconds = finish(Path(folder) / "undisturbed", source, server.base_url)
        needed = len(server.calls)
        server.calls.clear()
        first_call = seconds
        for _ in range(kills):
            process = start(Path(folder) / "killed", source, server.base_url)
            time.sleep(draw.uniform(0.3, 1.0) * first_call)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        last, _ = finish(Path(folder) / "killed", source, server.base_url)
        seen = Counter(json.dumps(call.request["messages"]) for call in server.finished)
        paid = len(server.calls)
        server.calls.clear()
        again, _ = finish(Path(folder) / "killed", source, server.base_url)
        return {
            "kills": kills,
            "calls_needed": needed,
            "calls_seen": paid,
            "finished_calls_seen_twice": sum(count - 1 for count in seen.values()),
            "release_undisturbed": undisturbed["release"],
            "release_after_kills": last["release"],
            "is_equal": undisturbed["release"] == last["release"],
            "calls_of_another_ingest": len(server.calls),
            "release_of_another_ingest": again["release"],
            "seconds_undisturbed": seconds,
        }


if __name__ == "__main__":
    numbers = [int(value) for value in sys.argv[1:3]]
    print(json.dumps(run(*(numbers + [20, 60][len(numbers) :])), indent=1))
