"""The commands demo and ingest; and the list of all commands of the pipeline."""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column, Table
from rich.text import Text

from sag_pipeline.cli.stored import aliases, confirm, keys, refuse, repair, sources, status, verify
from sag_pipeline.importers.command import export_command, import_command
from sag_pipeline.progress import Pace, listening, told_every
from sag_retrieval.cli.choices import MORE_SETTINGS, NAME_DECIDER, OPERATIONS, checked_call, with_set
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say
from sag_retrieval.core.errors import SagError, SettingsError, SourceError
from sag_retrieval.core.options import build_options, parse_settings

if TYPE_CHECKING:
    from sag_pipeline.options import RunOptions


def register(main: click.Group) -> None:
    """Add the commands to `sag`."""
    for command in (demo, ingest, watch, status, keys, aliases, sources, verify, repair):
        main.add_command(command)
    main.add_command(import_command, "import")
    main.add_command(export_command, "export")
    changes = main.commands["changes"]
    if isinstance(changes, click.Group):
        changes.add_command(confirm)
        changes.add_command(refuse)
    OPERATIONS["ingest"] = "sag_pipeline.options:RunOptions"
    MORE_SETTINGS.append(_instance_row)
    NAME_DECIDER[:] = ["sag_pipeline.runs.status:HomeDecider"]


def _instance_row() -> list[dict[str, str]]:
    """Where Dagster keeps runs, and what its instance lacks of what the shipped one has."""
    from sag_pipeline.runs.dagster_runs import is_kept, lacks, open_instance  # noqa: PLC0415  Dagster is slow to load
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    try:
        load_settings()
    except SettingsError:
        return []  # which home has the records is not known; the command ends with what is wrong
    if not is_kept():
        return []
    with open_instance() as instance:
        faults = lacks(instance)
    home = os.environ.get("DAGSTER_HOME", "")
    origin = "environment" if home else "dagster.yaml"
    meaning = "folder of the records of runs" + "".join(f"; {fault}" for fault in faults)
    return [{"name": "DAGSTER_HOME", "value": home or ".", "origin": origin, "meaning": meaning}]


_include = click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Read only such files, as `*.pdf` or `reports/*`; may be repeated.",
)
_exclude = click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Leave out such files and folders; may be repeated."
)


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]…")
@click.option("--estimate", is_flag=True, help="Only print what a run would cost in calls, tokens and money.")
@click.option(
    "--allow-removals", is_flag=True, help="Remove documents that are gone, even if that is most of a source."
)
@click.option(
    "--accept-recall", is_flag=True, help="Publish although the questions of the home are answered worse than before."
)
@click.option(
    "--reprocess",
    multiple=True,
    metavar="WHAT",
    help="Do again although nothing changed: a step such as `events`, `document:ID` or `source:NAME`; may be repeated.",
)
@click.option("--follow-links", is_flag=True, help="Read symbolic links that lead out of a source.")
@_include
@_exclude
@with_set("ingest")
@as_json
def ingest(*, sources: tuple[str, ...], estimate: bool, pairs: tuple[str, ...], is_json: bool, **which: Any) -> None:  # noqa: ANN401  flags, and tuples of patterns
    """Bring the release up to date with each SOURCE: a folder, a file, or a .jsonl file of documents.

    Without SOURCE, SAG_SOURCE is read. Only new and changed documents are processed. A source that does not exist
    does not stop the others; the exit code is then 1, as it is when a step failed for a document.

    \b
    sag ingest my-documents
    sag ingest reports/ notes.jsonl
    sag ingest my-documents --include "*.pdf" --exclude "drafts/*"
    sag ingest my-documents --estimate
    sag ingest --reprocess events --estimate
    sag ingest my-documents --set en_size=500 --set header=full
    sag ingest my-documents --set max_cost=5 --set prices=0.25/2

    `sag settings --options ingest` lists the options of `--set`.
    """
    with checked_call():
        given: dict[str, Any] = {**parse_settings(pairs, "ingest")}
    given |= {name: which[name] for name in ("include", "exclude", "reprocess", "accept_recall") if which[name]}
    if estimate:
        planned = _estimate(sources, given, follow_links=which["follow_links"])
        print_json(planned) if is_json else _show_rows(Terminal(), planned["steps"])
        if planned["unread_sources"]:
            raise SourceError("; ".join(planned["unread_sources"]))
        return
    console = Terminal()
    with told_progress() if is_json else shown_progress(console):
        report = _ingest(sources, given, {_FOLLOW[name]: which[name] for name in _FOLLOW})
    print_json(report) if is_json else _show_run(console, report)
    _refuse_incomplete(report)


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option("--every", type=click.FloatRange(min=1), help="Seconds without a change after which it ingests too.")
@_include
@_exclude
@with_set("ingest")
@as_json
def watch(
    *, sources: tuple[str, ...], every: float | None, pairs: tuple[str, ...], is_json: bool, **which: tuple[str, ...]
) -> None:
    """Ingest each SOURCE now and whenever its files change, until Ctrl-C or SIGTERM.

    A run starts once the files rest for a second; one runs at a time, and one that fails ends nothing.
    With --json each run is a line.

    \b
    sag watch my-documents
    sag watch my-documents https://example.org/feed.xml --every 3600
    """
    from sag_pipeline.sources.folders import watch_sources  # noqa: PLC0415

    with checked_call():
        given: dict[str, Any] = {**parse_settings(pairs, "ingest")}
    chosen = _run_options(given | {name: patterns for name, patterns in which.items() if patterns})

    def run() -> None:
        from sag_pipeline.jobs import run_ingest  # noqa: PLC0415  Dagster takes seconds to import

        with told_progress():
            report = run_ingest(list(sources), chosen)
        say(json.dumps(report, ensure_ascii=False) if is_json else _in_a_line(report))
        _refuse_incomplete(report)

    try:
        watch_sources(sources, run, lambda fault: complain(fault, kind="Failed"), every=every)
    except KeyboardInterrupt:
        complain(f"{' '.join(sources)} is watched no longer", kind="stopped")


def _in_a_line(report: Mapping[str, Any]) -> str:
    read = report["steps"]["documents"]
    counts = ", ".join(f"{read[name]:,} {name}" for name in ("new", "changed", "removed", "failed") if read[name])
    release = f"release {report['release']} {'is new' if report['is_new'] else 'stays'}"
    return f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {counts or 'nothing changed'}; {release}"


def _estimate(sources: Sequence[str], given: Mapping[str, Any], *, follow_links: bool) -> dict[str, Any]:
    from sag_pipeline.runs.estimate import estimate_run  # noqa: PLC0415

    chosen = _run_options(given)
    links = chosen.source.follow_links_outside or follow_links
    return estimate_run(sources, replace(chosen, source=replace(chosen.source, follow_links_outside=links)))


def _ingest(sources: Sequence[str], given: Mapping[str, Any], follow: Mapping[str, bool]) -> dict[str, Any]:
    from sag_pipeline.runs.unchanged import Inputs  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    try:
        inputs = Inputs(load_settings(), sources, {**given, **follow})
        report = inputs.report()
        if report is None:
            chosen = _run_options(given)
            from sag_pipeline.jobs import run_ingest  # noqa: PLC0415  Dagster takes seconds to import

            report = run_ingest(list(sources), chosen, follow)
            inputs.keep(report, chosen.keep.keep_releases)
    except KeyboardInterrupt:
        raise SagError(_stopped("ingest", *sources)) from None
    return report


def _run_options(given: Mapping[str, Any]) -> "RunOptions":
    from sag_pipeline.options import RunOptions  # noqa: PLC0415

    with checked_call():
        return build_options(RunOptions, given, what="ingest")


def _stopped(*command: str) -> str:
    from sag_pipeline.store.store import Store  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415
    from sag_retrieval.release.releases import Releases  # noqa: PLC0415

    home = load_settings().home
    current, documents = Releases(home).current(), Store(home).ledger.document_count("documents")
    release = f"release {current} is still current" if current else "no release is published yet"
    again = shlex.join(["sag", *command])
    return f"stopped; {documents:,} documents are read and kept, {release}; `{again}` continues where it stopped"


def _refuse_incomplete(report: Mapping[str, Any]) -> None:
    """End the command with exit code 1 where the release lacks what the run was asked to put into it."""
    faults = list(report["unread_sources"])
    read = report["steps"]["documents"]
    if read["failed"] and not read["new"] + read["changed"] + read["skipped"]:
        files = "the only file was" if read["failed"] == 1 else f"all {read['failed']:,} files were"
        faults.append(f"{files} skipped with errors; `sag status` shows why")
    faults += [
        f"{step} of {count:,} {'document' if count == 1 else 'documents'} are missing or incomplete in the release; "
        "`sag status` shows why"
        for step, count in report["failed_documents"].items()
    ]
    if faults:
        raise SourceError("; ".join(faults))


_FOLLOW = {"allow_removals": "allow_removals", "follow_links": "follow_links_outside"}


@click.command()
@click.option(
    "--recorded", "is_recorded", is_flag=True, help="Use recorded answers of a language model: no key needed."
)
@as_json
def demo(*, is_recorded: bool, is_json: bool) -> None:
    """Try everything on a small corpus: ingest, search, ask and report; then print where the results are."""
    from sag_pipeline.cli.demo import run_demo  # noqa: PLC0415

    console = Terminal(stderr=is_json)
    try:
        working = nullcontext if is_json else partial(shown_progress, console)
        made = run_demo(console, working, is_recorded=is_recorded)
    except KeyboardInterrupt:
        raise SagError(_stopped("demo")) from None
    if is_json:
        print_json(made)


@contextmanager
def shown_progress(console: Console) -> Iterator[None]:
    """Show one line about the work under way, on the console that results are printed to; the line is gone afterwards.

    Nothing else may be printed meanwhile. Without a terminal on either output stream, a line a minute tells of it.
    """
    if not console.is_terminal:
        console = Terminal(stderr=True)
    if not console.is_terminal:
        with told_progress():
            yield
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR_WIDTH),
        _Counts(),
        TextColumn("{task.fields[item]}", markup=False, style="dim", table_column=_ITEM_COLUMN),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        task, shown_at = bar.add_task("starting", total=None, item=""), 0.0

        def progress(step: str, done: int, total: int, item: str = "") -> None:
            nonlocal task, shown_at
            is_new = bar.tasks[0].description != step
            if not is_new and done != total and time.monotonic() - shown_at < _SECONDS_BETWEEN:
                return  # of a hundred thousand documents, not each is drawn
            shown_at = time.monotonic()
            if is_new or bar.tasks[0].total != (total or None):
                bar.remove_task(task)  # a task that has a total cannot be without one again
                task = bar.add_task(step, total=total or None, item="")
            bar.update(task, completed=done, item=item)
            if is_new or not total:
                bar.refresh()  # what takes less than the time between two drawings is still seen once

        with listening(progress):
            yield


@contextmanager
def told_progress(seconds: float = 60.0) -> Iterator[None]:
    """Write a line about the work under way to the error output at a steady pace, for logs."""

    def tell(pace: Pace, gauges: Mapping[str, Callable[[], float]]) -> None:
        step, done, total, item = pace.at
        whole = f"{done:,} of {total:,} documents" if total else ""
        figures = (f"{name.replace('_', ' ')} {read():,}" for name, read in [*gauges.items()] if read())
        since = timedelta(seconds=int(pace.seconds))
        complain(", ".join(filter(None, (whole, item, *figures, f"running for {since}"))), kind=step or "starting")

    with told_every(seconds, tell):
        yield


class _Counts(ProgressColumn):
    """Documents done and in all, per second, and the time left; of what is not counted, the time taken."""

    def render(self, task: Task) -> Text:
        """One phrase about a task."""
        seconds = timedelta(seconds=int(task.elapsed or 0))
        if task.total is None:
            return Text(f"{int(task.completed):,} found {seconds}" if task.completed else str(seconds))
        rate = f" {task.speed:,.0f}/s" if task.speed else ""
        left = "" if task.time_remaining is None else f" {timedelta(seconds=int(task.time_remaining))} left"
        return Text(f"{int(task.completed):,}/{int(task.total):,}{rate}{left}")


_BAR_WIDTH = 12
_SECONDS_BETWEEN = 0.05
_ITEM_COLUMN = Column(ratio=1, no_wrap=True, overflow="ellipsis")


def _show_run(console: Console, report: Mapping[str, Any]) -> None:
    table = Table("step", "new", "changed", "removed", "unchanged", "failed", "rows", "seconds", box=None)
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
