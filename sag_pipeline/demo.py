"""The tour of `sag demo`: ingest, search, ask and report on a small corpus, and where all of it lies."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from sag_pipeline.runs import run_ingest, run_report
from sag_retrieval.api import open_release
from sag_retrieval.cli import show
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.settings import load_settings

CORPUS = Path(__file__).parents[1] / "data" / "documents"
QUESTIONS = CORPUS.parent / "questions.jsonl"
_SHOWN_HITS = 3


def run_demo(console: Console) -> dict[str, Any]:
    """Do the tour and tell it; what it made.

    Raises:
        SourceError: If the corpus is not there: it comes with the repository, not with the package.

    """
    if not CORPUS.is_dir():
        raise SourceError(f"the demo's documents are not at {CORPUS}; run it from a clone of the repository")
    home, source = load_settings().home, _shown(CORPUS)
    console.rule("1. Documents to a release: sag ingest " + escape(source))
    made = run_ingest([source])
    with open_release() as release:
        counts = release.manifest.counts
        told = ", ".join(f"{counts[name]:,} {name}" for name in ("documents", "chunks", "events", "keys", "triples"))
        console.print(f"release {release.release_id}: {told}")
        for question in _questions():
            console.rule(escape(f"2. sag search {question!r}"))
            show.result(console, release.search(question, top_k=_SHOWN_HITS), explain=False)
        console.rule("3. sag ask, without a model")
        for question in _questions():
            console.print(f"[bold]{escape(question)}[/bold]")
            show.answer(console, release.ask(question))
    console.rule("4. The report: sag report")
    report = run_report()["report"]
    console.print(escape(report["headline"]))
    console.rule("Where it lies")
    places = {
        "report": str(report["page"]),
        "release": str(home / "releases" / made["release"]),
        "tables": str(home / "tables"),
    }
    for name, path in places.items():
        console.print(f"{name:>8}  {escape(path)}", highlight=False, soft_wrap=True)
    console.print('Next: `sag search "…" --explain`, `sag ingest my-documents`, `dagster dev` for the asset graph.')
    return {
        "release": made["release"],
        "counts": dict(counts),
        "headline": report["headline"],
        "places": places,
    }


def _shown(path: Path) -> str:
    """The path as one would type it from here."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def _questions() -> list[str]:
    """One multi-hop question in each language."""
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines() if line.strip()]
    chosen: dict[bool, str] = {}
    for line in lines:
        chosen.setdefault(line["question"].isascii(), line["question"])
    return list(chosen.values())
