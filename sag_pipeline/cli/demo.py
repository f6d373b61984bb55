"""The command `sag demo`: ingest, search, ask and report on a small corpus, then say where the results are."""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from sag_retrieval.api import Release, open_release
from sag_retrieval.ask.options import Mode
from sag_retrieval.cli.printing import show_answer, show_result
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.settings import OFFLINE, load_settings
from sag_retrieval.models.recording import UNANSWERED

CHECKOUT = Path(__file__).parents[2] / "data" / "documents"
PACKAGED = Path(__file__).parents[1] / "demo_corpus"
"""The corpus as packaged in a wheel: `documents/` and `questions.jsonl`."""
QUESTIONS = ("q01", "q08")
"""Ids of the questions: one in each language, each of two parts, and both parts are answered without a model."""
RECORDED = PACKAGED / "answers.jsonl.gz"
"""Answers to every prompt of this demo, as a careful reader of each wrote them."""
_OVER_ALL = "What are the main risks?"
_SHOWN_HITS = 3


def run_demo(
    console: Console, working: Callable[[], AbstractContextManager[None]] = nullcontext, *, is_recorded: bool = False
) -> dict[str, Any]:
    """Run every step on the demo corpus, print the results, and return what was made."""
    if is_recorded:
        os.environ["SAG_CHAT_MODEL"] = f"recorded:{RECORDED}"
    settings = load_settings()
    home, model = settings.home.resolve(), settings.chat_model
    shutil.rmtree(home / UNANSWERED, ignore_errors=True)
    source = _shown(corpus(home))
    _head(console, "1. Read documents and publish a release", f"sag ingest {source}")
    with working():
        from sag_pipeline.jobs import run_ingest, run_report  # noqa: PLC0415  Dagster takes seconds to import

        made = run_ingest([source])
    with open_release() as release:
        counts = release.manifest.counts
        listed = ", ".join(f"{counts[name]:,} {name}" for name in ("documents", "chunks", "events", "keys", "triples"))
        console.print(f"release {release.release_id}: {listed}")
        for question in _questions():
            _head(console, "2. Search", f'sag search "{question}" --top-k {_SHOWN_HITS}')
            show_result(console, release.search(question, top_k=_SHOWN_HITS), explain=False)
        _answer(console, release, model, is_recorded=is_recorded)
    _head(console, "4. Write a report", "sag report")
    with working():
        report = run_report()["report"]
    console.print(escape(report["headline"]))
    places = {
        "report": str(report["page"]),
        "release": str(home / "releases" / made["release"]),
        "tables": str(home / "tables"),
    }
    _head(console, "Where the results are", "sag open")
    for name, path in places.items():
        console.print(f"{name:>8}  {escape(path)}", highlight=False, soft_wrap=True)
    if changed := len(list((home / UNANSWERED).glob("*.md"))):
        console.print(f"{changed} prompts changed since they were answered and have no answer now; they are in")
        console.print(str(home / UNANSWERED), highlight=False, soft_wrap=True)
    console.print('Next: `sag search "…" --explain`, `sag ingest my-documents`, `dagster dev` for the asset graph.')
    return {
        "release": made["release"],
        "counts": dict(counts),
        "headline": report["headline"],
        "places": places,
    }


def _answer(console: Console, release: Release, model: str, *, is_recorded: bool) -> None:
    by = "from recorded answers of one" if is_recorded else f"by {model}"
    mode: Mode = "normal"
    if model == OFFLINE:
        mode, by = "fast", "without a language model"
    asked: list[tuple[str, Mode]] = [(each, mode) for each in _questions()]
    if is_recorded:
        asked.append((_OVER_ALL, "global"))
    for question, how in asked:
        _head(console, f"3. Answer with citations, {by}", f'sag ask "{question}" --mode {how}')
        show_answer(console, release.ask(question, mode=how))


def _head(console: Console, title: str, command: str) -> None:
    console.print(f"\n[bold]{escape(title)}[/bold]", highlight=False)
    console.print(f"[dim]$ {escape(command)}[/dim]", highlight=False, soft_wrap=True)


def corpus(home: Path, checkout: Path = CHECKOUT, packaged: Path = PACKAGED) -> Path:
    """The demo's documents: those of the clone, or a copy below the home of those packaged in the wheel.

    A copy, because users should be able to open and change a source, which files of an installed package are not for.
    """
    if checkout.is_dir():
        return checkout
    if not (packaged / "documents").is_dir():
        raise SourceError(
            f"the demo's documents are not at {packaged}; install sag again: pip install --force-reinstall"
        )
    return Path(shutil.copytree(packaged / "documents", home / "demo-documents", dirs_exist_ok=True))


def _shown(path: Path) -> str:
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def _questions() -> list[str]:
    lines = map(json.loads, (PACKAGED / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    asked = {line["id"]: line["question"] for line in lines}
    return [asked[name] for name in QUESTIONS]
