"""Requests a second, latency and memory of `sag serve`, beside `Release.search` in the same run.

    python benchmarks/serve.py [--seconds 60] [--clients 32] [--requests 10000] [--releases 10] [--home HOME]

MuSiQue passages with recorded keys and a third of 2Wiki's are ingested into a home that is kept. One client asks by
HTTP and directly, in turn; many search at once; requests to five doors are counted against memory; releases are
published meanwhile, and each answer must be of one of them.
"""

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, cycle, product, takewhile
from pathlib import Path
from time import perf_counter, process_time
from urllib.parse import quote

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil  # noqa: E402

from benchmarks.sets import SETS, write_source  # noqa: E402
from sag_retrieval import Release, open_release  # noqa: E402

SAG = [sys.executable, "-m", "sag_retrieval.cli.main"]
ROUNDS = 5


def five_doors(question: str) -> list[tuple[str, dict | None]]:
    """Eighteen requests: five searches, a question, and twelve that read."""
    document, keys = ("/v1/documents/mt0000", None), (f"/v1/keys?text={quote(question[-6:])}", None)
    asked, sql = {"query": question}, ("/v1/sql", {"query": "SELECT count(*) AS n FROM documents"})
    return [("/v1/search", asked)] * 5 + [("/v1/ask", asked), *(document, sql, document, keys) * 3]


def request(client: http.client.HTTPConnection, path: str, body: dict | None = None) -> tuple[int, str, float]:
    """Status, release and seconds of a request, without the JSON of this side; the connection is kept."""
    sent, began = body and json.dumps(body).encode(), perf_counter()
    client.request("POST" if body else "GET", path, sent, {"Content-Type": "application/json"})
    answer = client.getresponse()
    told, took = answer.read(), perf_counter() - began
    return answer.status, json.loads(told).get("release", "") if answer.status == 200 else "", took


def at_once(port: int, questions: list[str], clients: int, is_done: Callable[[list], bool], most: int = 1) -> list:
    """What many clients at once got until it is done, of the first requests of `five_doors`."""
    told: list[tuple[int, str, float]] = []

    def ask(seed: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        asked = chain.from_iterable(five_doors(each)[:most] for each in cycle(questions[seed:] + questions))
        for path, body in takewhile(lambda _: not is_done(told), asked):
            told.append(request(client, path, body))

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))
    return told


def milliseconds(seconds: list[float]) -> str:
    p50, p95 = (1000 * statistics.quantiles(seconds, n=20)[place] for place in (9, 18))
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms"


def one_by_one(release: Release, port: int, pid: int, questions: list[str]) -> None:
    """Print what a request takes more than a search: waiting, and of the processor as its least of some rounds."""
    client, tasks = http.client.HTTPConnection("127.0.0.1", port), Path(f"/proc/{pid}/task")
    ways = release.search, lambda question: request(client, "/v1/search", {"query": question})[2]
    clocks = process_time, lambda: sum(int(each.read_text().split()[0]) for each in tasks.glob("*/schedstat")) / 1e9
    cpu, wall, empty = defaultdict(list), ([], []), []
    for number, question in product(range(ROUNDS), questions):
        for place in random.Random(f"{number} {question}").sample((0, 1), 2):
            before, began = clocks[place](), perf_counter()
            took = ways[place](question)
            wall[place].append(took if place else perf_counter() - began)
            cpu[place, question].append(clocks[place]() - before)
        empty.append(request(client, "/health")[2])
    more, none = (1000 * statistics.median(each) for each in (map(float.__sub__, *reversed(wall)), empty))
    here, there = (1000 * statistics.mean(min(cpu[place, each]) for each in questions) for place in (0, 1))
    print(f"one client: {milliseconds(wall[1])}; Release.search {milliseconds(wall[0])}")
    print(f"overhead p50 {more:.1f} ms, in it {none:.1f} ms that a request to /health takes from client to client")
    print(f"processor, least of {ROUNDS}: {there:.1f} - {here:.1f} = {there - here:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("seconds", 60), ("clients", 32), ("requests", 10_000), ("releases", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--home", type=Path, default=Path(tempfile.gettempdir()) / "sag-serve")
    chosen = parser.parse_args()
    recorded, read, source = SETS["musique"](), SETS["2wiki"](), chosen.home / "documents.jsonl"
    questions = [each.text for each in recorded.questions + read.questions]
    environment = os.environ | {"SAG_HOME": str(chosen.home / "home"), "PYTHONUNBUFFERED": "1"}

    def publish(*more: dict) -> None:
        write_source([*recorded.lines, *read.lines[::3], *more], source)
        subprocess.run([*SAG, "ingest", str(source)], env=environment, check=True, capture_output=True)

    chosen.home.mkdir(parents=True, exist_ok=True)
    publish()
    with subprocess.Popen([*SAG, "serve", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            measure(chosen, int(server.stdout.readline().rpartition(":")[2]), server.pid, questions, publish)
        finally:
            server.terminate()


def measure(chosen, port, pid, questions, publish) -> None:  # noqa: ANN001
    with open_release(chosen.home / "home") as release:
        print(f"{release.tables['events']:,} events, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        one_by_one(release, port, pid, questions)
    end = perf_counter() + chosen.seconds
    told = at_once(port, questions, chosen.clients, lambda _: perf_counter() > end)
    wrong, each = sum(status != 200 for status, _, _ in told), milliseconds([took for _, _, took in told])
    print(f"{chosen.clients} clients: {len(told) / chosen.seconds:.0f} requests/s, {each}, {wrong} errors")
    at_once(port, questions, 8, lambda told: len(told) >= chosen.requests / 5, 18)
    before = (memory := psutil.Process(pid).memory_info)().rss
    told = at_once(port, questions, 8, lambda told: len(told) >= chosen.requests, 18)
    wrong, after = sum(status != 200 for status, _, _ in told), memory().rss
    grown = f"{before / 1e6:.0f} MB, then {after / 1e6:.0f} MB ({after / before - 1:+.1%})"
    print(f"{len(told):,} requests to five doors: {wrong} errors, {grown}")
    published = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(at_once, port, questions, 4, lambda _: published.is_set())
        for number in range(chosen.releases):
            publish({"id": f"new-{number}", "text": f"Lumen Optics sold {number + 2} buoys."})
        published.set()
    made = asking.result()
    wrong, seen = sum(status != 200 for status, _, _ in made), {name for _, name, _ in made}
    print(f"{chosen.releases} releases published: {len(made):,} searches, {wrong} errors, {len(seen)} releases seen")


if __name__ == "__main__":
    main()
