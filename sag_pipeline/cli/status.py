"""The command `sag status`: what is stored, pending and skipped, the last run, and the room that all of it takes."""

import json
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.printing import Terminal, as_json, print_json

_TO_THE_MINUTE = len("2024-01-31T12:00")


@click.command()
@as_json
def status(*, is_json: bool) -> None:
    """Show what is stored and pending, what was skipped and why, sources, the last run, sizes, and growth.

    \b
    sag status
    sag status --json
    """
    from sag_pipeline.runs.status import status_of  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    found = status_of(load_settings())
    if is_json:
        print_json(found)
        return
    console = Terminal()
    _show_head(console, found)
    _show_sources(console, found["sources"])
    _show_tables(console, found["tables"])
    _show_names(console, found["names"])
    _show_growth(console, found)
    _show_faults(console, found)


def _show_head(console: Console, found: Mapping[str, Any]) -> None:
    age, sizes = found["release_age_hours"], found["sizes"]
    release = f"{escape(found['release'] or 'none yet')}" + ("" if age is None else f", {_hours(age)} old")
    console.print(f"home {escape(found['home'])} · {sum(sizes.values()):.1f} MB · release {release}")
    run = found["last_run"]
    if run is None:
        last = max((source["last_ingest"] for source in found["sources"]), default="")
        ingested = f"; last ingest {_minute(last)} UTC" if last else ""
        console.print(f"last run: no record of it (DAGSTER_HOME says where to keep one){ingested}", highlight=False)
    elif "run_id" in run:
        took = "" if run["seconds"] is None else f" after {run['seconds']:,.1f} s"
        console.print(f"last run: {run['outcome']}{took}, begun {_minute(run['started_at'])} UTC", highlight=False)
    else:
        console.print(f"last run: unknown, {escape(run['reason'])}", highlight=False)
    kinds = " · ".join(f"{kind} {size:.1f} MB" for kind, size in sizes.items() if size)
    if kinds:
        console.print(kinds, highlight=False)


def _hours(hours: float) -> str:
    return f"{hours / 24:.1f} days" if hours >= 48 else f"{hours:.1f} hours"  # noqa: PLR2004  two days


def _minute(moment: str) -> str:
    return moment[:_TO_THE_MINUTE].replace("T", " ")


def _show_sources(console: Console, rows: list[Mapping[str, Any]]) -> None:
    if not rows:
        return
    table = Table("source", "documents", "skipped with errors", "last ingest (UTC)", box=None)
    for row in rows:
        name = escape(row["source"]) + ("" if row["is_there"] else " [yellow](missing)[/yellow]")
        when = _minute(row["last_ingest"]) or "never completed"
        table.add_row(name, f"{row['documents']:,}", f"{row['put_aside']:,}", when)
    console.print(table)


def _show_tables(console: Console, rows: list[Mapping[str, Any]]) -> None:
    table = Table("table", "documents", "rows", "pending", "failed", box=None)
    for row in rows:
        table.add_row(row["table"], *(f"{row[name]:,}" for name in ("documents", "rows", "pending", "failed")))
    console.print(table)


def _show_names(console: Console, found: Mapping[str, Any]) -> None:
    if found["reason"]:
        console.print(f"[yellow]decisions on names are not used:[/yellow] {escape(found['reason'])}", highlight=False)
    elif found["decisions"]:
        counts = ", ".join(f"{count:,} {verb}" for verb, count in sorted(found["decisions"].items()))
        console.print(f"decisions on names: {counts}, in {escape(found['file'])}", highlight=False)
    for line in found["unused"]:
        console.print(f"[yellow]no document has these names[/yellow] {escape(line)}", highlight=False)


def _show_growth(console: Console, found: Mapping[str, Any]) -> None:
    steps = found["growth"]
    if not steps:
        return
    table = Table("release", "made (UTC)", *found["mean_growth"], box=None)
    for step in steps:
        table.add_row(
            step["release"], _minute(step["created_at"]), *(_more(step[name]) for name in found["mean_growth"])
        )
    table.add_row("mean", "", *(_more(value) for value in found["mean_growth"].values()))
    console.print(table)


def _more(value: float) -> str:
    return f"{value:+,}" if isinstance(value, int) else f"{value:+,.1f}"


def _show_faults(console: Console, found: Mapping[str, Any]) -> None:
    for row in found["put_aside"]:
        console.print(f"[yellow]{_failure(row)}[/yellow] {escape(_place_and_reason(row))}", highlight=False)
    for row in found["warnings"]:
        console.print(f"read with warnings {escape(_place_and_reason(row))}", highlight=False)
    for row in found["calls"]:
        console.print(f"calls {escape(json.dumps(row))}", highlight=False)


def _failure(row: Mapping[str, Any]) -> str:
    """What happened to a file or, in a later step, to its document."""
    return "skipped with errors" if row["step"] == "documents" else f"failed in {row['step']}"


def _place_and_reason(row: Mapping[str, Any]) -> str:
    folder = f"{row['source']}: " if row["source"] not in ("", row["file"]) else ""
    line = f":{row['line']}" if row["line"] else ""
    return " ".join(f"{folder}{row['file']}{line}: {row['reason']}".split())
