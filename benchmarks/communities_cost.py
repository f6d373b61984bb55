"""What communities cost a release: processor seconds of publishing and of communities, and their ratio.

    python benchmarks/communities_cost.py --events 10000,100000       a store of made rows with dense vectors
    python benchmarks/communities_cost.py --nights 100000             the same store after changed nights
    python benchmarks/communities_cost.py --documents 10000           passages through `sag ingest`, with its steps

Made rows are those of benchmarks/publishing.py; publishing is what the assets event_keys, idf and release do, and
communities what the asset of that name does. Processor seconds of all threads are counted, so that a busy machine does
not matter.

Nights are of the same store: 1 % of the documents come, .3 % change and .1 % go; then four and ten times as many.
Communities are carried over, and made again for comparison: printed are the processor seconds of publishing, of
carrying over (with opening the release) and of grouping all events; how much of the quality that Leiden seeks (the
constant Potts model) carried communities have of those of a new grouping; the adjusted Rand index between both, and
between two groupings by other random numbers, which is what can be expected.

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
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import igraph
import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from publishing import RandomEmbedder, VectorStore, derive, fill  # noqa: E402
from sets import read, write_source  # noqa: E402

from sag_pipeline.publish.build import Embedding  # noqa: E402
from sag_pipeline.publish.publish import publish  # noqa: E402
from sag_pipeline.store.store import Store  # noqa: E402
from sag_retrieval.communities.clustering import build_communities  # noqa: E402
from sag_retrieval.communities.edges import Edges, weigh_edges  # noqa: E402
from sag_retrieval.communities.events import Rows, event_table  # noqa: E402
from sag_retrieval.communities.groups import Communities  # noqa: E402
from sag_retrieval.communities.naming import name_communities  # noqa: E402
from sag_retrieval.communities.of_release import MADE_FOR, release_communities  # noqa: E402
from sag_retrieval.communities.options import ClusterOptions  # noqa: E402
from sag_retrieval.communities.storage import COMMUNITIES  # noqa: E402
from sag_retrieval.release.reader import Reader, open_reader  # noqa: E402

DIMENSION, EVENTS_A_DOCUMENT = 384, 100
EVENTS_A_PASSAGE = 3.4
"""Statements that the rules read from one passage, to know how many passages make the wanted number."""
PUBLISHING = ("event_keys", "idf", "vectors", "release")
RARE = 3
NIGHTS = (0.01, 0.04, 0.1)
"""Shares of documents that come in the nights that are measured."""
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


@dataclass
class Made:
    """A store of made rows."""

    home: Path
    events: int

    def __post_init__(self) -> None:
        """Fill the store."""
        rank = np.arange(1, self.events // 6 + 1)
        self.pool = np.repeat(rank, np.maximum(1, self.events / rank**0.75 / 200).astype(int))
        self.store, embedder = Store(self.home), RandomEmbedder(DIMENSION)
        vectors = VectorStore(self.home, embedder.fingerprint, DIMENSION)
        self.embedding = Embedding("random", embedder, vectors, lambda folder: folder.mkdir(parents=True))
        self.first, self.last = 0, self.events // EVENTS_A_DOCUMENT
        self.fill(range(self.last), 0)

    def fill(self, numbers: range, edition: int) -> None:
        """Write some documents."""
        fill(self.store, numbers, self.pool, edition, self.embedding)

    def publish(self) -> float:
        """Publish; the processor seconds."""
        started = time.process_time()
        derive(self.store)
        publish(self.store, self.embedding, "2026-01-01T00:00:00+00:00")
        return time.process_time() - started

    def open(self) -> Reader:
        """The current release."""
        return open_reader(self.home, None, lambda _model, _folder: self.embedding.embedder)

    def night(self, share: float, edition: int) -> None:
        """Of the documents, `share` come, .3 of it change and .1 of it go."""
        documents = self.last - self.first
        added, changed, gone = (max(1, round(part * share * documents)) for part in (1, 0.3, 0.1))
        self.store.remove([f"document-{number:07d}" for number in range(self.first, self.first + gone)])
        self.first += gone
        self.fill(range(self.first, self.first + changed), edition)
        self.fill(range(self.last, self.last + added), edition)
        self.last += added


def on_made_rows(home: Path, events: int) -> dict[str, Any]:
    """Processor seconds of a publish of this many events and of the communities of its release."""
    made = Made(home, events)
    publishing, started = made.publish(), time.process_time()
    found = release_communities(made.open(), ClusterOptions())
    communities = time.process_time() - started
    return {
        "events": events,
        "publishing_cpu_s": round(publishing, 2),
        "communities_cpu_s": round(communities, 2),
        "of_publishing": f"{100 * communities / publishing:.0f} %",
        "communities": [len(found.at(level)) for level in range(found.levels)],
    }


def on_nights(home: Path, events: int) -> Iterator[dict[str, Any]]:
    """What the communities of a changed release cost, and how good they are, for two sizes of the change."""
    for number, share in enumerate(NIGHTS):
        made = Made(home / str(number), events)
        whole = made.publish()
        with closing(made.open()) as reader:
            release_communities(reader, ClusterOptions())
            earlier = reader.folder
        made.night(share, number + 1)
        publishing, started = made.publish(), time.process_time()
        with closing(made.open()) as reader:
            carried = release_communities(reader, ClusterOptions(), earlier=earlier, is_carried=True)
            told = json.loads((reader.folder / COMMUNITIES / MADE_FOR).read_text())
            middle = time.process_time()
            table = event_table(reader.index)
            edges = weigh_edges(table, ClusterOptions())
            again = name_communities(table, build_communities(table, ClusterOptions(), edges)).communities
            ended = time.process_time()
            other = build_communities(table, ClusterOptions(seed=1), edges)
        quality = [potts(edges, each, ClusterOptions()) for each in (carried, again)]
        yield {
            "events": events,
            "came_or_went": told["moved"],
            "is_carried": told["grouped"] != told["content_hash"],
            "whole_publish_cpu_s": round(whole, 2),
            "publish_cpu_s": round(publishing, 2),
            "carried_cpu_s": round(middle - started, 2),
            "again_cpu_s": round(ended - middle, 2),
            "quality": round(quality[0] / quality[1], 4),
            "rand_index": round(rand_index(carried, again), 3),
            "rand_index_of_two_groupings": round(rand_index(again, other), 3),
        }


def groups_of(found: Communities) -> Rows:
    """Number of the finest community of each event."""
    number = np.zeros(sum(len(each.members) for each in found.at(0)), np.int32)
    for place, each in enumerate(found.at(0)):
        number[each.members] = place
    return number


def potts(edges: Edges, found: Communities, options: ClusterOptions) -> float:
    """What the constant Potts model makes of the finest communities."""
    group = groups_of(found)
    size = np.bincount(group).astype(np.float64)
    inside = edges.strength[group[edges.left] == group[edges.right]].sum()
    return float(inside - options.resolution_for(len(group)) * (size * (size - 1) / 2).sum())


def rand_index(one: Communities, other: Communities) -> float:
    """The adjusted Rand index of the finest communities of two groupings."""
    return float(
        igraph.compare_communities(*(groups_of(each).tolist() for each in (one, other)), method="adjusted_rand")
    )


def main() -> None:
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="")
    parser.add_argument("--nights", default="")
    parser.add_argument("--documents", default="")
    parser.add_argument("--keep", type=Path, help="where the homes are kept")
    given = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = (given.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for events in map(int, filter(None, given.events.split(","))):
            print(json.dumps(on_made_rows(folder / f"made-{events}", events)), flush=True)
        for events in map(int, filter(None, given.nights.split(","))):
            for row in on_nights(folder / f"nights-{events}", events):
                print(json.dumps(row), flush=True)
        for events in map(int, filter(None, given.documents.split(","))):
            for row in measure(folder / f"home-{events}", events):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
