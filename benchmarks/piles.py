"""What becomes of a pile of files, and is the sentence that answers a question found in it?

    python benchmarks/piles.py FOLDER …                             files read, CPU, events, share of rows and fragments
    python benchmarks/piles.py FOLDER --questions QUESTIONS.jsonl   recall by the chunk that holds the evidence
    PYTHONPATH=OTHER_CHECKOUT python benchmarks/piles.py …          the same with other code

A fragment is an event of at most three words. Evidence counts as held where a chunk has it, white space and punctuation
aside.
"""

# ruff: noqa: PLC0415  retrieval is loaded only for questions

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
if "PYTHONPATH" not in os.environ:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.reading.bounded import BoundedReader
from sag_pipeline.rules.events import offline_events
from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.steps.chunks import split_chunks
from sag_pipeline.steps.sources import RawDocument, list_source
from sag_retrieval.core.records import Document, Quarantined

FRAGMENT = 3
CUTS = (1, 5, 10)
WORD = re.compile(r"[\u3040-\u9fff]|[^\W_]+")


def read(folders: list[str]) -> dict[str, Any]:
    """Figures of reading all files below the folders, without a model."""
    from sag_pipeline.steps import sources

    counts = Counter[str]()
    reasons = Counter[str]()
    options = getattr(sources, "SourceOptions", None)
    with BoundedReader((options or __import__("sag_pipeline.steps.folders").steps.folders.SourceOptions)()) as reader:
        started, clock = sum(os.times()[:4]), time.perf_counter()
        for folder in folders:
            for found in list_source(folder):
                document = reader.read(found) if isinstance(found, RawDocument) else found
                if isinstance(document, Quarantined):
                    counts["skipped"] += 1
                    reasons[document.reason.split(":")[0][:60]] += 1
                else:
                    counts.update(figures(document))
    counts["seconds"] = round(sum(os.times()[:4]) - started)
    counts["clock"] = round(time.perf_counter() - clock)
    events = max(counts["events"], 1)
    return {
        **counts,
        "rows_share": round(100 * counts["rows"] / events, 1),
        "fragments_share": round(100 * counts["fragments"] / events, 1),
        "reasons": dict(reasons.most_common(12)),
    }


def figures(document: Document) -> dict[str, int]:
    """Characters, chunks and events of a document."""
    chunks = split_chunks(document, offline_sections(document))
    events = [event.content for part in offline_events(document, chunks) for event in part]
    return {
        "read": 1,
        "characters": len(document.text),
        "chunks": len(chunks),
        "events": len(events),
        "rows": sum(" | " in event for event in events),
        "fragments": sum(len(WORD.findall(event)) <= FRAGMENT for event in events),
        "nan": sum("NaN" in event for event in events),
    }


def bare(text: str) -> str:
    """Letters and digits alone."""
    return "".join(filter(str.isalnum, text)).lower()


def recall(folder: str, questions: Path, methods: list[str]) -> dict[str, Any]:
    """Share of questions for which one of the first k chunks holds a piece of evidence."""
    from sag_pipeline.runs import run_ingest
    from sag_retrieval import open_release

    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    asked = [each for each in asked if each.get("evidence")]
    with TemporaryDirectory() as name:
        os.environ["SAG_HOME"] = str(Path(name) / "home")
        run_ingest([folder])
        found: dict[str, Any] = {"questions": len(asked)}
        with open_release(os.environ["SAG_HOME"]) as release:
            for method in methods:
                ranks = []
                for each in asked:
                    wanted = [pieces(evidence["text"]) for evidence in each["evidence"]]
                    hits = [bare(hit.text) for hit in release.search(each["question"], method=method, top_k=10).hits]
                    held = (n for n, text in enumerate(hits, 1) if any(all(p in text for p in w) for w in wanted))
                    ranks.append(next(held, 99))
                found[method] = {f"R@{cut}": round(100 * sum(r <= cut for r in ranks) / len(ranks), 1) for cut in CUTS}
    return found


def pieces(text: str | list[str]) -> list[str]:
    """The letters of a sentence, or of each cell of a row."""
    return [bare(each) for each in ([text] if isinstance(text, str) else text) if bare(each)]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--methods", default="bm25,sag")
    given = parser.parse_args()
    folders = [str(Path(folder).absolute()) for folder in given.folders]
    found = (
        recall(folders[0], given.questions.absolute(), given.methods.split(",")) if given.questions else read(folders)
    )
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
