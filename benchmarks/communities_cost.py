"""What communities cost a release: processor seconds of publishing and of communities, and their ratio.

    python benchmarks/communities_cost.py --events 10000,100000       a store of made rows with dense vectors
    python benchmarks/communities_cost.py --documents 10000           passages through `sag ingest`, with its steps

Made rows are those of benchmarks/publishing.py; publishing is what the assets event_keys, idf and release do, and
communities what the asset of that name does. Processor seconds of all threads are counted, so that a busy machine does
not matter.

Passages are those of 2WikiMultihopQA; beyond their number they are repeated with other rare names, so that common names
grow frequent and rare ones stay rare. They are ingested, then a tenth of them is changed, then nothing is. Here seconds
are those on the clock: of the steps event_keys, idf, vectors and release, of communities, and of the whole command.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from publishing import RandomEmbedder, VectorStore, derive, fill  # noqa: E402
from sets import read, write_source  # noqa: E402

from sag_pipeline.publish.build import Embedding  # noqa: E402
from sag_pipeline.publish.publish import publish  # noqa: E402
from sag_pipeline.store.store import Store  # noqa: E402
from sag_retrieval.communities.of_release import release_communities  # noqa: E402
from sag_retrieval.communities.options import ClusterOptions  # noqa: E402
from sag_retrieval.release.reader import open_reader  # noqa: E402

DIMENSION, EVENTS_A_DOCUMENT = 384, 100
EVENTS_A_PASSAGE = 3.4
"""Statements that the rules read from one passage, to know how many passages make the wanted number."""
PUBLISHING = ("event_keys", "idf", "vectors", "release")
RARE = 3
NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")


def grown_passages(count: int) -> Iterator[dict[str, Any]]:
    """This many passages; each copy of them has rare names of its own."""
    rows = [(row.doc_id, row.title, row.text) for row in read("twowiki.docs").itertuples()]
    frequency = Counter(name for _, title, text in rows for name in set(NAME.findall(f"{title} {text}")))
    for number in range(count):
        copy, place = divmod(number, len(rows))
        name, title, text = (renamed(part, copy, frequency) for part in rows[place])
        yield {"id": f"{name}-{copy}", "title": title, "text": text}


def renamed(text: str, copy: int, frequency: Counter[str]) -> str:
    """The text with another ending of every rare name."""
    ending = "".join(chr(ord("a") + (copy // 26**place + 7 * place) % 26) for place in range(2)) if copy else ""
    return NAME.sub(lambda found: found[0] + (ending if frequency[found[0]] <= RARE else ""), text)


def ingest(home: Path, source: Path) -> dict[str, Any]:
    """Run `sag ingest`; what it reports."""
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(source), "--json"]
    environment = os.environ | {"SAG_HOME": str(home), "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=home.parent, check=True, capture_output=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report | {"seconds": time.perf_counter() - started}


def shares(label: str, report: dict[str, Any]) -> dict[str, Any]:
    """Seconds of publishing and of communities, and what communities add to it and to the whole ingest."""
    seconds = {name: step["seconds"] for name, step in report["steps"].items()}
    publishing = sum(seconds[name] for name in PUBLISHING)
    communities = seconds.get("communities", 0.0)
    return {
        "run": label,
        "events": report["steps"]["events"].get("rows"),
        "ingest_s": round(report["seconds"], 1),
        "publishing_s": round(publishing, 2),
        "communities_s": round(communities, 2),
        "of_publishing": f"{100 * communities / publishing:.0f} %" if publishing else "",
        "of_ingest": f"{100 * communities / report['seconds']:.0f} %",
    }


def measure(home: Path, events: int) -> Iterator[dict[str, Any]]:
    """A first ingest, one after a tenth of the documents changed, and one of nothing new."""
    lines = list(grown_passages(round(events / EVENTS_A_PASSAGE)))
    source = home.parent / f"{home.name}.jsonl"
    write_source(lines, source)
    yield shares("first", ingest(home, source))
    changed = [line | {"text": f"{line['text']} Checked."} if n % 10 == 0 else line for n, line in enumerate(lines)]
    write_source(changed, source)
    yield shares("a tenth changed", ingest(home, source))
    yield shares("nothing changed", ingest(home, source))


def on_made_rows(home: Path, events: int) -> dict[str, Any]:
    """Processor seconds of a publish of this many events and of the communities of its release."""
    rank = np.arange(1, events // 6 + 1)
    pool = np.repeat(rank, np.maximum(1, events / rank**0.75 / 200).astype(int))
    store, embedder = Store(home), RandomEmbedder(DIMENSION)
    vectors = VectorStore(home, embedder.fingerprint, DIMENSION)
    embedding = Embedding("random", embedder, vectors, lambda folder: folder.mkdir(parents=True))
    fill(store, range(events // EVENTS_A_DOCUMENT), pool, 0, embedding)
    started = time.process_time()
    derive(store)
    publish(store, embedding, "2026-01-01T00:00:00+00:00")
    published = time.process_time()
    found = release_communities(open_reader(home, None, lambda _model, _folder: embedder), ClusterOptions())
    publishing, communities = published - started, time.process_time() - published
    return {
        "events": events,
        "publishing_cpu_s": round(publishing, 2),
        "communities_cpu_s": round(communities, 2),
        "of_publishing": f"{100 * communities / publishing:.0f} %",
        "communities": [len(found.at(level)) for level in range(found.levels)],
    }


def main() -> None:
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="")
    parser.add_argument("--documents", default="")
    parser.add_argument("--keep", type=Path, help="where the homes are kept")
    given = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = (given.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for events in map(int, filter(None, given.events.split(","))):
            print(json.dumps(on_made_rows(folder / f"made-{events}", events)), flush=True)
        for events in map(int, filter(None, given.documents.split(","))):
            for row in measure(folder / f"home-{events}", events):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
