"""The tour of `sag demo`: ingest, search, ask and report on a small corpus, and where all of it lies."""

import json
import shutil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from sag_pipeline.runs import run_ingest, run_report
from sag_retrieval.api import open_release
from sag_retrieval.cli import printing
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.settings import load_settings

CHECKOUT = Path(__file__).parents[1] / "data" / "documents"
"""The corpus in a clone of the repository."""
PACKAGED = Path(__file__).parent / "demo_corpus"
"""The same as a wheel brings it: `documents/` and `questions.jsonl`."""
_SHOWN_HITS = 3


def run_demo(console: Console) -> dict[str, Any]:
    """Do the tour and tell it; what it made.

    Raises:
        SourceError: If the corpus is not there: the package was not installed whole.

    """
    home = load_settings().home
    source = _shown(corpus(home))
    console.rule("1. Documents to a release: sag ingest " + escape(source))
    made = run_ingest([source])
    with open_release() as release:
        counts = release.manifest.counts
        told = ", ".join(f"{counts[name]:,} {name}" for name in ("documents", "chunks", "events", "keys", "triples"))
        console.print(f"release {release.release_id}: {told}")
        for question in _questions():
            console.rule(escape(f"2. sag search {question!r}"))
            printing.result(console, release.search(question, top_k=_SHOWN_HITS), explain=False)
        console.rule("3. sag ask, without a model")
        for question in _questions():
            console.print(f"[bold]{escape(question)}[/bold]")
            printing.answer(console, release.ask(question))
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


def corpus(home: Path, checkout: Path = CHECKOUT, packaged: Path = PACKAGED) -> Path:
    """The demo's documents: those of the clone, or a copy below the home of those that the wheel brought.

    A copy, because a source should lie where its reader can open and change it, not inside an installed package.

    Raises:
        SourceError: If neither is there.

    """
    if checkout.is_dir():
        return checkout
    if not (packaged / "documents").is_dir():
        raise SourceError(
            f"the demo's documents are not at {packaged}; install sag again: pip install --force-reinstall"
        )
    return Path(shutil.copytree(packaged / "documents", home / "demo-documents", dirs_exist_ok=True))


def _shown(path: Path) -> str:
    """The path as one would type it from here."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def _questions() -> list[str]:
    """One multi-hop question in each language."""
    lines = [
        json.loads(line)
        for line in (PACKAGED / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    chosen: dict[bool, str] = {}
    for line in lines:
        chosen.setdefault(line["question"].isascii(), line["question"])
    return list(chosen.values())
