"""What communities cost an ingest: seconds of every step over grown documents, and their share of publishing.

    python benchmarks/communities_cost.py --events 10000,100000 [--keep FOLDER]

Passages of 2WikiMultihopQA are ingested offline by `sag ingest`; beyond their number they are repeated with other
rare names, so that common names grow frequent and rare ones stay rare. Then a tenth of the documents is changed and
ingested, and once nothing is. `publishing` is the steps event_keys, idf, vectors and release.
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

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from sets import read, write_source  # noqa: E402

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
        "events": report["steps"]["events"]["rows"] if "rows" in report["steps"]["events"] else None,
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


def main() -> None:
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="10000")
    parser.add_argument("--keep", type=Path, help="where the homes are kept")
    given = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = (given.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for events in map(int, given.events.split(",")):
            for row in measure(folder / f"home-{events}", events):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
