"""Many threads of many processes search while releases are published and pruned: is any answer wrong or mixed?

    python benchmarks/readers.py            8 processes × 8 threads, 20 releases
    python benchmarks/readers.py --small    2 processes × 2 threads,  4 releases
    python benchmarks/readers.py 4 8 10     4 processes × 8 threads, 10 releases

In each release every document says the same edition, so that an answer with two editions came from two releases.
"""

# ruff: noqa: PLC0415  the readers load retrieval alone

import json
import multiprocessing
import os
import re
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["OMP_NUM_THREADS"] = "1"

DOCUMENTS = 40
PAUSE = 0.1
"""Seconds between two openings of a thread: a few readers leave the writer its share of the machine."""
QUESTIONS = ("Who sold buoys?", "谁售出浮标？", "Fleet Number 7 sails")
EDITION = re.compile(r"edition (\d+)|第(\d+)版")


def write_edition(inbox: Path, edition: int) -> None:
    inbox.mkdir(exist_ok=True)
    for number in range(DOCUMENTS):
        text = (
            f"第{number}号公司售出浮标，见第{edition}版。\n"
            if number % 2
            else f"Firm {number} sold buoys in edition {edition}. Fleet Number {number} sails in edition {edition}.\n"
        )
        (inbox / f"{number}.md").write_text(text, encoding="utf-8")


class Searcher:
    """One process: its threads open and search until they receive the word to stop."""

    def __init__(self, home: str, threads: int) -> None:
        self.home, self.threads = home, threads
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.searches, self.errors = 0, list[str]()
        self.editions: dict[str, set[str]] = {}

    def work(self) -> None:
        from sag_retrieval import open_release

        while not self.stop.is_set():
            try:
                with open_release(self.home) as release:
                    for question in QUESTIONS:
                        hits = release.search(question).hits
                        said = {a or b for hit in hits for a, b in EDITION.findall(hit.text)}
                        with self.lock:
                            self.searches += 1
                            self.editions.setdefault(release.release_id, set()).update(said or {"none"})
            except Exception as error:  # noqa: BLE001  counted
                with self.lock:
                    self.errors.append(f"{type(error).__name__}: {error}")
            time.sleep(PAUSE)

    def run(self, pipe: Connection) -> None:
        threads = [threading.Thread(target=self.work) for _ in range(self.threads)]
        for thread in threads:
            thread.start()
        pipe.recv()
        self.stop.set()
        for thread in threads:
            thread.join()
        pipe.send((self.searches, self.errors, self.editions))


def search_in_process(home: str, threads: int, pipe: Connection) -> None:
    Searcher(home, threads).run(pipe)


def run(processes: int, threads: int, releases: int) -> dict[str, Any]:
    from tests.support.bare_ingest import bare_ingest  # so that readers, not Dagster's records, take the time

    context = multiprocessing.get_context("spawn")
    started = time.perf_counter()
    with TemporaryDirectory() as name:
        os.chdir(name)
        os.environ["SAG_HOME"] = str(Path(name) / "home")
        keep = {"keep_releases": 1, "grace_hours": 0}
        write_edition(Path("inbox"), 0)
        expected = {bare_ingest(["inbox"], keep)["release"]: {"0"}}
        pipes, running = [], []
        for _ in range(processes):
            near, far = context.Pipe()
            running.append(context.Process(target=search_in_process, args=(os.environ["SAG_HOME"], threads, far)))
            running[-1].start()
            pipes.append(near)
        for edition in range(1, releases):
            write_edition(Path("inbox"), edition)
            expected[bare_ingest(["inbox"], keep)["release"]] = {str(edition)}
        for pipe in pipes:
            pipe.send("stop")
        found: list[tuple[int, list[str], dict[str, set[str]]]] = [pipe.recv() for pipe in pipes]
        for process in running:
            process.join()
        left = len(list((Path(name) / "home" / "releases").iterdir()))
        os.chdir("/")
    mixed = [
        (release, sorted(said)) for _, _, seen in found for release, said in seen.items() if said != expected[release]
    ]
    errors = [error for _, faults, _ in found for error in faults]
    return {
        "processes": processes,
        "threads": threads,
        "releases": releases,
        "searches": sum(count for count, _, _ in found),
        "releases_searched": len({release for _, _, seen in found for release in seen}),
        "errors": len(errors),
        "first_errors": errors[:3],
        "answers_of_no_or_two_releases": mixed,
        "releases_left": left,
        "seconds": round(time.perf_counter() - started),
    }


def main() -> None:
    given = [int(value) for value in sys.argv[1:4] if value.isdigit()]
    figures = run(*(given if len(given) == 3 else (2, 2, 4) if "--small" in sys.argv else (8, 8, 20)))
    print(json.dumps(figures, ensure_ascii=False, indent=1))
    if figures["errors"] or figures["answers_of_no_or_two_releases"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
