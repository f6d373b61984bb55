"""The commands about what is stored below the home: status, sources, verify, repair."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.errors import SettingsError, SourceError, StoreError

if TYPE_CHECKING:
    from sag_pipeline.integrity.repair import Price, Repaired
    from sag_pipeline.integrity.verify import Verified
    from sag_pipeline.store.source_list import Source, SourceList
    from sag_pipeline.store.store import Store

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
    if found["known_names_not_taken"]:
        console.print(f"{found['known_names_not_taken']:,} known names of a model were not taken", highlight=False)
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


def _show_sources(console: Console, rows: Sequence[Mapping[str, Any]], *, has_path: bool = False) -> None:
    """One row per source; the one column that may be long shows what is missing."""
    if not rows:
        return
    table = Table("source", "documents", "skipped with errors", "last ingest (UTC)", box=None)
    if has_path:
        table.add_column("path", overflow="fold")
    for row in rows:
        missing = "" if row["is_there"] else " [yellow](missing)[/yellow]"
        name, place = escape(row["source"]), [f"{escape(row['path'])}{missing}"] if has_path else []
        when = _minute(row["last_ingest"]) or "never completed"
        counts = (f"{row['documents']:,}", f"{row['put_aside']:,}")
        table.add_row(name if has_path else f"{name}{missing}", *counts, when, *place)
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


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def sources(context: click.Context, *, is_json: bool) -> None:
    """List, move or forget the sources that were ingested.

    \b
    sag sources                the same as: sag sources list
    sag sources move OLD NEW   after a folder was moved or renamed: nothing is read again
    sag sources forget SOURCE  remove its documents; the next ingest publishes without them
    """
    if context.invoked_subcommand is None:
        context.invoke(list_sources, is_json=is_json)


@sources.command("list")
@as_json
def list_sources(*, is_json: bool) -> None:
    """Show every source: its path, whether it exists, its documents, and when it was ingested last."""
    from sag_pipeline.runs.status import source_row  # noqa: PLC0415  keeps `sag --help` fast

    with _sources(is_changed=False) as (store, listed):
        rows = [source_row(store, listed, source) for source in listed]
    if is_json:
        print_json(rows)
        return
    if not rows:
        say("no source yet; add one with `sag ingest FOLDER`")
        return
    console = Terminal()
    _show_sources(console, rows, has_path=True)
    if any(row["put_aside"] for row in rows):
        console.print("[dim]`sag status` shows why files were skipped[/dim]", highlight=False)
    for row in rows:
        if not row["is_there"]:
            moved = f"`sag sources move {row['source']} NEW`, or `sag sources forget {row['source']}`"
            console.print(f"{escape(row['source'])} is missing: {escape(moved)}", highlight=False, soft_wrap=True)


@contextmanager
def _sources(*, is_changed: bool) -> "Iterator[tuple[Store, SourceList]]":
    """The store and its list of sources; locked against other writers if they are to be changed."""
    from sag_pipeline.store.source_list import SourceList  # noqa: PLC0415  keeps `sag --help` fast
    from sag_pipeline.store.store import Store  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    home = load_settings().home
    if not is_changed:
        store = Store(home)
        yield store, SourceList(store)
        return
    with Store.locked(home) as store:
        yield store, SourceList(store)


@sources.command()
@click.argument("old")
@click.argument("new")
@as_json
def move(*, old: str, new: str, is_json: bool) -> None:
    """Record that the source OLD was moved or renamed to NEW; its documents stay, and none is read again."""
    from sag_pipeline.runs.status import source_row  # noqa: PLC0415
    from sag_pipeline.store.source_list import Source, rename_documents  # noqa: PLC0415

    with _sources(is_changed=True) as (store, listed):
        source, target = listed.known(old), listed.find(new)
        if {target.name, new} & {other.name for other in listed} - {source.name}:
            raise SourceError(f"{new!r} is already a source; `sag sources forget` one of the two")
        spellings = listed.spellings(source)
        moved = Source(new, target.path, source.last_ingest)
        rename_documents(store, spellings, moved.name)
        listed.put(moved, instead_of=spellings)
        row = source_row(store, listed, moved)
    print_json(row) if is_json else say(
        f"{source.name} is now {moved.name}, {row['documents']:,} documents; `sag ingest {moved.name}` publishes it"
    )


@sources.command()
@click.argument("source")
@as_json
def forget(*, source: str, is_json: bool) -> None:
    """Remove the documents of SOURCE; the next ingest publishes without them and deletes their rows."""
    with _sources(is_changed=True) as (store, listed):
        known = listed.known(source)
        gone = _forget(store, listed, known)
    print_json({"forgotten": known.name, "documents": gone}) if is_json else say(
        f"removed {gone:,} documents of {known.name}; `sag ingest` publishes without them, "
        "`sag releases prune` deletes older releases"
    )


def _forget(store: "Store", listed: "SourceList", source: "Source") -> int:
    """Remove the documents of a source and its errors from the store; return the number of documents."""
    spellings = listed.spellings(source)
    entries = store.ledger.entries("step = 'documents' AND list_contains(?, source)", sorted(spellings))
    documents = [entry.unit for entry in entries if entry.kind == "document"]
    store.remove(documents, [entry for entry in entries if entry.kind == "aside"])
    listed.drop(spellings)
    return len(documents)


@click.command()
@click.option("--deep", is_flag=True, help="Compare every byte and row, not only lengths, counts and structure.")
@as_json
def verify(*, deep: bool, is_json: bool) -> None:
    """Check that everything below SAG_HOME is as it was written; exit code 1 if not. Nothing is changed.

    \b
    sag verify           seconds
    sag verify --deep    reads everything
    """
    from sag_pipeline.integrity.verify import verify_home  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    found = verify_home(Path(load_settings().home), deep=deep)
    print_json(found.as_json()) if is_json else _show_verified(Terminal(), found)
    if found.faults:
        raise StoreError(f"{len(found.faults)} faults below {found.home}; `sag repair` mends them")


@click.command()
@click.option("--yes", is_flag=True, help="Change files without asking.")
@as_json
def repair(*, yes: bool, is_json: bool) -> None:
    """Repair what `sag verify --deep` finds, without calling a model; then print the next command.

    Damaged files are removed, and the next ingest makes them again: documents are read again from their sources,
    answers of a language model are taken from answers.sqlite. Lost answers are reported before anything is changed.
    """
    from sag_pipeline.integrity.repair import price_of, repair_home  # noqa: PLC0415
    from sag_pipeline.integrity.verify import verify_home  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    if is_json and not yes:
        raise SettingsError(
            "`sag repair --json` cannot ask before it changes files, so it needs --yes; `sag verify --deep` only checks"
        )
    settings = load_settings()
    home = Path(settings.home)
    found = verify_home(home, deep=True)
    if not found.faults:
        print_json({"done": [], "next_command": ""}) if is_json else say("nothing is wrong")
        return
    price = None if found.checked[0].name == "lock" else price_of(home, settings)
    if not is_json:
        _show_verified(Terminal(), found)
        _show_price(price)
    if not yes:
        click.confirm("Repair this?", abort=True)
    done = repair_home(home)
    if is_json:
        print_json(asdict(done) | {"price": asdict(price) if price else None})
    else:
        _show_repaired(Terminal(), done)


def _show_verified(console: Terminal, found: "Verified") -> None:
    table = Table("checked", "", "", "faults", box=None)
    for each in found.checked:
        table.add_row(each.name, f"{each.count:,}", each.of, str(len(each.faults)) if each.faults else "none")
    console.print(table)
    for fault in found.faults:
        console.print(f"[red]{fault.file}[/red]: {fault.what}", highlight=False, soft_wrap=True)
        console.print(f"    {fault.mend}", highlight=False, soft_wrap=True)
    if not found.faults:
        console.print(f"nothing is wrong below {found.home}", highlight=False)


def _show_price(price: "Price | None") -> None:
    if price is None or not price.lost_answers:
        say("no answer of a model is lost: the next ingest pays nothing again for what is repaired")
    else:
        say(
            f"{price.lost_answers} paid answers are lost; the next ingest would pay for {price.calls} calls "
            f"about {price.documents} documents again (`sag ingest --estimate` shows how much)"
        )


def _show_repaired(console: Terminal, done: "Repaired") -> None:
    for each in done.done:
        console.print(f"{each.file}: {each.what}", highlight=False, soft_wrap=True)
    if done.next_command:
        console.print(f"Now run: {done.next_command}", highlight=False, soft_wrap=True)
