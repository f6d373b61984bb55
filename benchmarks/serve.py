"""Requests a second, latency and memory of `sag serve`, beside `Release.search` in the same run.

    python benchmarks/serve.py [--seconds 60] [--clients 32] [--requests 10000] [--releases 10] [--home HOME]

MuSiQue passages with recorded keys are ingested into a home that is kept (`--home`). Then one client at a time asks by
HTTP and directly, in turn; many clients ask at once; requests are counted against memory; releases are published
meanwhile, by processes of their own, and each answer must be of one of them.
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
from itertools import cycle, product, takewhile
from pathlib import Path
from time import perf_counter, process_time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import psutil  # noqa: E402
from sets import musique_recorded, write_source  # noqa: E402

from sag_retrieval import Release, open_release  # noqa: E402

SAG = [sys.executable, "-m", "sag_retrieval.cli.main"]
ROUNDS = 5


def search(connection: http.client.HTTPConnection, question: str) -> tuple[int, str, float]:
    """Status, release and seconds of a request; the connection is kept."""
    body, began = json.dumps({"query": question}).encode(), perf_counter()
    connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told, took = answer.read(), perf_counter() - began
    return answer.status, json.loads(told).get("release", "") if answer.status == 200 else "", took


def at_once(port: int, questions: list[str], clients: int, is_done: Callable[[list], bool]) -> list:
    """What many clients at once got until it is done."""
    told: list[tuple[int, str, float]] = []

    def ask(seed: int) -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for question in takewhile(lambda _: not is_done(told), cycle(questions[seed:] + questions[:seed])):
            told.append(search(client, question))  # noqa: PERF401  the others see it

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))
    return told


def milliseconds(seconds: list[float]) -> str:
    """p50 and p95."""
    p50, p95 = (1000 * statistics.quantiles(seconds, n=20)[place] for place in (9, 18))
    return f"p50 {p50:.1f} ms, p95 {p95:.1f} ms"


def one_by_one(release: Release, port: int, pid: int, questions: list[str]) -> None:
    """Print what a request takes more than a search: waiting, and of the processor as its least of some rounds."""
    client, tasks = http.client.HTTPConnection("127.0.0.1", port), Path(f"/proc/{pid}/task")
    cpu, wall, ways = defaultdict(list), ([], []), (release.search, lambda question: search(client, question))
    clocks = process_time, lambda: sum(int(each.read_text().split()[0]) for each in tasks.glob("*/schedstat")) / 1e9
    for number, question in product(range(ROUNDS), questions):
        for place in random.Random(f"{number} {question}").sample((0, 1), 2):
            began, before = perf_counter(), clocks[place]()
            ways[place](question)
            cpu[place, question].append(clocks[place]() - before)
            wall[place].append(perf_counter() - began)
    more = 1000 * statistics.median(longer - short for short, longer in zip(*wall, strict=True))
    here, there = (1000 * statistics.mean(min(cpu[place, each]) for each in questions) for place in (0, 1))
    print(f"one client: {milliseconds(wall[1])}; Release.search {milliseconds(wall[0])}; overhead {more:.1f} ms")
    print(f"processor, least of {ROUNDS}: {there:.1f} - {here:.1f} = {there - here:.1f} ms")


def main() -> None:
    """Make the home, serve it, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("seconds", 60), ("clients", 32), ("requests", 10_000), ("releases", 10)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--home", type=Path, default=Path(tempfile.gettempdir()) / "sag-serve")
    chosen = parser.parse_args()
    found = musique_recorded()
    questions, source = [each.text for each in found.questions], chosen.home / "documents.jsonl"
    environment = os.environ | {"SAG_HOME": str(chosen.home / "home"), "PYTHONUNBUFFERED": "1"}
    chosen.home.mkdir(parents=True, exist_ok=True)
    write_source(found.lines, source)
    subprocess.run([*SAG, "ingest", str(source)], env=environment, check=True, capture_output=True)
    with subprocess.Popen([*SAG, "serve", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline().rpartition(":")[2])
            measure(chosen, port, psutil.Process(server.pid), questions, found.lines, source, environment)
        finally:
            server.terminate()


def measure(chosen, port, server, questions, lines, source, environment) -> None:  # noqa: ANN001, PLR0913, PLR0917
    """Print each figure."""
    with open_release(chosen.home / "home") as release:
        print(f"{release.tables['events']:,} events, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        one_by_one(release, port, server.pid, questions)
    end = perf_counter() + chosen.seconds
    told = at_once(port, questions, chosen.clients, lambda _: perf_counter() > end)
    wrong = sum(status != 200 for status, _, _ in told)
    each = milliseconds([took for _, _, took in told])
    print(f"{chosen.clients} clients: {len(told) / chosen.seconds:.0f} requests/s, {each}, {wrong} errors")
    before = server.memory_info().rss
    at_once(port, questions, 8, lambda told: len(told) >= chosen.requests)
    after = server.memory_info().rss
    print(f"{chosen.requests:,} requests: {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB ({after / before - 1:+.1%})")
    published = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(at_once, port, questions, 4, lambda _: published.is_set())
        for number in range(chosen.releases):
            write_source([*lines, {"id": f"new-{number}", "text": f"Lumen Optics sold {number + 2} buoys."}], source)
            subprocess.run([*SAG, "ingest", str(source)], env=environment, check=True, capture_output=True)
        published.set()
    made = asking.result()
    wrong, seen = sum(status != 200 for status, _, _ in made), {name for _, name, _ in made}
    print(f"{chosen.releases} releases published: {len(made):,} requests, {wrong} errors, {len(seen)} releases seen")


if __name__ == "__main__":
    main()
