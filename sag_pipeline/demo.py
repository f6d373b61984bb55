"""The command `sag demo`: ingest, search, ask and report on a small corpus, then say where the results are."""

import json
import shutil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from sag_pipeline.runs import run_ingest, run_report
from sag_retrieval.api import open_release
from sag_retrieval.cli.printing import show_answer, show_result
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.settings import load_settings

CHECKOUT = Path(__file__).parents[1] / "data" / "documents"
"""The corpus in a clone of the repository."""
PACKAGED = Path(__file__).parent / "demo_corpus"
"""The corpus as packaged in a wheel: `documents/` and `questions.jsonl`."""
_SHOWN_HITS = 3


def run_demo(console: Console) -> dict[str, Any]:
    """Run every step on the demo corpus, print the results, and return what was made.

    Raises:
        SourceError: If the corpus is missing: the package was not installed completely.

    """
    home = load_settings().home
    source = _shown(corpus(home))
    console.rule("1. Documents to a release: sag ingest " + escape(source))
    made = run_ingest([source])
    with open_release() as release:
        counts = release.manifest.counts
        listed = ", ".join(f"{counts[name]:,} {name}" for name in ("documents", "chunks", "events", "keys", "triples"))
        console.print(f"release {release.release_id}: {listed}")
        for question in _questions():
            console.rule(escape(f"2. sag search {question!r}"))
            show_result(console, release.search(question, top_k=_SHOWN_HITS), explain=False)
        console.rule("3. sag ask, without a model")
        for question in _questions():
            console.print(f"[bold]{escape(question)}[/bold]")
            show_answer(console, release.ask(question))
    console.rule("4. The report: sag report")
    report = run_report()["report"]
    console.print(escape(report["headline"]))
    console.rule("Where the results are")
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
    """The demo's documents: those of the clone, or a copy below the home of those packaged in the wheel.

    A copy, because users should be able to open and change a source, which files of an installed package are not for.

    Raises:
        SourceError: If neither exists.

    """
    if checkout.is_dir():
        return checkout
    if not (packaged / "documents").is_dir():
        raise SourceError(
            f"the demo's documents are not at {packaged}; install sag again: pip install --force-reinstall"
        )
    return Path(shutil.copytree(packaged / "documents", home / "demo-documents", dirs_exist_ok=True))


def _shown(path: Path) -> str:
    """The path as a user would type it in the working directory."""
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
