"""The commands demo, ingest and status; and the list of all commands of the pipeline."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from sag_pipeline.cli.stored import repair, sources, verify
from sag_pipeline.importers.command import import_command
from sag_pipeline.progress import listening
from sag_retrieval.cli.choices import OPERATIONS, with_set
from sag_retrieval.cli.printing import Terminal, as_json, print_json
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.options import build_options, parse_settings
from sag_retrieval.core.settings import load_settings


def register(main: click.Group) -> None:
    """Add the commands to `sag`."""
    for command in (demo, ingest, status, sources, verify, repair):
        main.add_command(command)
    main.add_command(import_command, "import")
    OPERATIONS["ingest"] = _ingest_options


def _ingest_options() -> object:
    from sag_pipeline.options import RunOptions  # noqa: PLC0415  keeps `sag --help` fast

    return RunOptions()


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]…")
@click.option("--estimate", is_flag=True, help="Only print what a run would cost in calls, tokens and money.")
@click.option(
    "--allow-removals", is_flag=True, help="Remove documents that are gone, even if that is most of a source."
)
@click.option("--follow-links", is_flag=True, help="Read symbolic links that lead out of a source.")
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Read only such files, as `*.pdf` or `reports/*`; may be repeated.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out such files and folders; may be repeated.")
@with_set("ingest")
@as_json
def ingest(*, sources: tuple[str, ...], estimate: bool, pairs: tuple[str, ...], is_json: bool, **which: Any) -> None:  # noqa: ANN401  flags, and tuples of patterns
    """Bring the release up to date with each SOURCE: a folder, a file, or a .jsonl file of documents.

    Without SOURCE, SAG_SOURCE is read. Only new and changed documents are processed. A source that does not exist
    does not stop the others; the exit code is then 1.

    \b
    sag ingest my-documents
    sag ingest reports/ notes.jsonl
    sag ingest my-documents --include "*.pdf" --exclude "drafts/*"
    sag ingest my-documents --estimate
    sag ingest my-documents --set en_size=500 --set header=full
    sag ingest my-documents --set max_cost=5 --set prices=0.25/2

    `sag settings --options ingest` lists the options of `--set`.
    """
    from sag_pipeline.options import RunOptions  # noqa: PLC0415

    chosen = build_options(RunOptions, parse_settings(pairs, "ingest"), what="ingest")
    patterns = {name: which[name] for name in ("include", "exclude") if which[name]}
    chosen = replace(chosen, source=replace(chosen.source, **patterns))
    if estimate:
        from sag_pipeline.llm.estimate import estimate_run  # noqa: PLC0415

        links = chosen.source.follow_links_outside or which["follow_links"]
        planned = estimate_run(sources, replace(chosen, source=replace(chosen.source, follow_links_outside=links)))
        print_json(planned) if is_json else _show_rows(Terminal(), planned["steps"])
        if planned["unread_sources"]:
            raise SourceError("; ".join(planned["unread_sources"]))
        return
    from sag_pipeline.runs import run_ingest  # noqa: PLC0415  Dagster takes seconds to import

    with _bars(is_visible=not is_json):
        report = run_ingest(list(sources), chosen, {_FOLLOW[name]: which[name] for name in _FOLLOW})
    print_json(report) if is_json else _show_run(Terminal(), report)
    if report["unread_sources"]:
        raise SourceError("; ".join(report["unread_sources"]))


_FOLLOW = {"allow_removals": "allow_removals", "follow_links": "follow_links_outside"}


@click.command()
@as_json
def status(*, is_json: bool) -> None:
    """Show what is stored, what was skipped and why, what is pending, and the current release.

    \b
    sag status
    sag status --json
    """
    from sag_pipeline.status import status_of  # noqa: PLC0415

    found = status_of(load_settings())
    print_json(found) if is_json else _show_status(Terminal(), found)


@click.command()
@as_json
def demo(*, is_json: bool) -> None:
    """Try everything on a small corpus: ingest, search, ask and report; then print where the results are."""
    from sag_pipeline.demo import run_demo  # noqa: PLC0415

    with _bars(is_visible=not is_json):
        made = run_demo(Terminal(stderr=is_json))
    if is_json:
        print_json(made)


@contextmanager
def _bars(*, is_visible: bool) -> Iterator[None]:
    """Show a progress bar for each step that has pending documents."""
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Terminal(stderr=True)
    with Progress(*columns, console=console, disable=not (is_visible and console.is_terminal)) as bars:
        tasks: dict[str, Any] = {}

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        with listening(progress):
            yield


def _show_run(console: Console, report: Mapping[str, Any]) -> None:
    table = Table("step", "new", "changed", "removed", "skipped", "failed", "rows", "seconds", box=None)
    for step, row in report["steps"].items():
        table.add_row(step, *(f"{row[name]:,}" if name in row else "" for name in _COUNTS), f"{row['seconds']:.2f}")
    console.print(table)
    if report["put_aside"]:
        console.print(f"[yellow]{report['put_aside']} skipped with errors; `sag status` shows why[/yellow]")
    console.print(f"release {report['release']} is current ({'new' if report['is_new'] else 'nothing changed'})")


_COUNTS = ("new", "changed", "removed", "skipped", "failed", "rows")


def _show_rows(console: Console, rows: list[Mapping[str, Any]]) -> None:
    if not rows:
        console.print("no cost: no step uses a language model")
        return
    table = Table(*rows[0], box=None)
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else escape(str(value)) for value in row.values()))
    console.print(table)


def _show_status(console: Console, found: Mapping[str, Any]) -> None:
    home, release = escape(found["home"]), escape(found["release"] or "none yet")
    console.print(f"home {home} · {found['megabytes']:.1f} MB of tables · release {release}")
    table = Table("table", "documents", "rows", "pending", "failed", box=None)
    for row in found["tables"]:
        numbers = (f"{row[name]:,}" for name in ("documents", "rows", "pending", "failed"))
        table.add_row(row["table"], *numbers)
    console.print(table)
    for row in found["put_aside"]:
        place = row["file"] + (f":{row['line']}" if row["line"] else "")
        line = " ".join(f"{place}: {row['reason']}".split())
        console.print(f"[yellow]skipped with errors[/yellow] {row['step']} {escape(line)}", highlight=False)
    for row in found["calls"]:
        console.print(f"calls {escape(json.dumps(row))}", highlight=False)
