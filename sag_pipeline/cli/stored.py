"""The commands about what is stored below the home: status, sources, verify, repair, keys."""

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

from sag_retrieval.cli.choices import confirm_first, of_release
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say
from sag_retrieval.core.errors import SettingsError, SourceError, StoreError

if TYPE_CHECKING:
    from sag_pipeline.extract.name_decisions import DecisionVerb, NameDecision
    from sag_pipeline.extract.revision_decisions import RevisionVerb
    from sag_pipeline.integrity.repair import Price, Repaired
    from sag_pipeline.integrity.verify import Verified
    from sag_pipeline.store.source_list import Source, SourceList
    from sag_pipeline.store.store import Store

_TO_THE_MINUTE = len("2024-01-31T12:00")


@click.command()
@click.option(
    "--sizes", "has_sizes", is_flag=True, help="Show what takes the space, and how many times the text that is."
)
@as_json
def status(*, has_sizes: bool, is_json: bool) -> None:
    """Show what is stored and pending, what was skipped and why, sources, the last run, sizes, and growth.

    \b
    sag status
    sag status --sizes
    sag status --json
    """
    from sag_pipeline.runs.status import parts_of, status_of  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    found = status_of(load_settings())
    if has_sizes:
        found["space"] = parts_of(load_settings().home)
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
    if has_sizes:
        _show_space(console, found["space"])
    _show_faults(console, found)


def _show_head(console: Console, found: Mapping[str, Any]) -> None:
    age, sizes = found["release_age_hours"], found["sizes"]
    release = f"{escape(found['release'] or 'none yet')}" + ("" if age is None else f", {_hours(age)} old")
    console.print(f"home {escape(found['home'])} · {sum(sizes.values()):.1f} MB · release {release}")
    for name, path in (("tables", found["duckdb"]), ("vectors", found["lance"])):
        if path:
            console.print(f"{name}: {escape(path)}", highlight=False, soft_wrap=True)
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


def _show_space(console: Console, found: Mapping[str, Any]) -> None:
    table = Table("part", "MB", "times the text", box=None)
    for row in found["parts"]:
        table.add_row(row["part"], f"{row['megabytes']:.2f}", f"{row['times']:.1f}")
    total = sum(row["megabytes"] for row in found["parts"])
    table.add_row(f"all, of {found['text_megabytes']:.2f} MB of text", f"{total:.2f}", f"{found['times']:.1f}")
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
    of_source = "step = 'documents' AND list_contains(?, source)"
    entries = store.ledger.entries(of_source, sorted(spellings), view="stored")
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

    unasked = SettingsError(
        "`sag repair` cannot ask before it changes files, so it needs --yes; `sag verify --deep` only checks"
    )
    if is_json and not yes:
        raise unasked
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
        confirm_first("Repair this?", unasked)
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


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def keys(context: click.Context, *, is_json: bool) -> None:
    """List keys; merge, split, rename and retype them by hand.

    Decisions are lines of `aliases.csv` in the home (or of the file SAG_ALIASES). They hold from the next `sag ingest`
    on, through every further one, and read no document again.

    \b
    sag keys                              the same as: sag keys list
    sag keys list Lumen --type organisation
    sag keys close                        close names that are two keys
    sag keys merge NHL "National Hockey League"
    sag keys retype Heron product
    sag keys undo                         take the last decision back
    """
    if context.invoked_subcommand is None:
        context.invoke(list_keys, text="", key_type=None, most=40, release_id=None, is_json=is_json)


@keys.command("list")
@click.argument("text", default="", required=False)
@click.option("--type", "key_type", metavar="TYPE", help="Only keys of this type, such as person.")
@click.option("--most", type=click.IntRange(1), default=40, show_default=True, help="Most keys to show.")
@of_release
@as_json
def list_keys(*, text: str, key_type: str | None, most: int, release_id: str | None, is_json: bool) -> None:
    """Show keys called TEXT, or whose name has it, with type, events, documents and other names; then all decisions."""
    from sag_pipeline.extract.name_decisions import decisions_file, read_decisions  # noqa: PLC0415  `sag --help` is fast
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    path = decisions_file(load_settings())
    decided = read_decisions(path).lines
    with open_release(release=release_id) as release:
        rows = release.find_keys(text, type=key_type, most=most).rows
        meant = "" if rows or not text.strip() else release.index.did_you_mean(text)
    if is_json:
        print_json({"keys": rows, "file": str(path), "decisions": [_row(one) for one in decided]})
        return
    console = Terminal()
    table = Table("key", "type", "events", "documents", "other names", box=None)
    for row in rows:
        others = escape(" · ".join(row["aliases"]))
        table.add_row(escape(row["value"]), row["type"], f"{row['events']:,}", f"{row['documents']:,}", others)
    console.print(table if rows else f"no key is called so{escape(meant)}", highlight=False)
    for one in decided:
        said = f"{one.verb} {one.name} / {one.other}"
        console.print(f"[dim]{escape(str(path))}, line {one.line}: {escape(said)}[/dim]", highlight=False)


def _row(one: "NameDecision") -> dict[str, Any]:
    return {"line": one.line, "decision": one.verb, "name": one.name, "other": one.other}


@keys.command()
@click.option("--most", type=click.IntRange(1), default=40, show_default=True, help="Most pairs to show.")
@as_json
def close(*, most: int, is_json: bool) -> None:
    """Show pairs of close names that are two keys, the closest first; `merge` or `split` decides them."""
    from sag_pipeline.runs.status import undecided_pairs  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    path, found = undecided_pairs(load_settings(), most)
    if is_json:
        print_json({"file": str(path), "pairs": found})
        return
    console = Terminal()
    if not found:
        console.print("no close names are two keys")
        return
    table = Table("close", "events", "name", "events", "other", box=None)
    for row in found:
        table.add_row(f"{row['closeness']:.2f}", *_cells(row["name"]), *_cells(row["other"]))
    console.print(table)
    console.print("decide them: `sag keys merge NAME OTHER` or `sag keys split NAME OTHER`", highlight=False)


def _cells(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"{row['events']:,}", f"{escape(row['name'])} [dim]{escape(row['type'])}[/dim]"


@click.command(hidden=True)
@click.option("--most", type=click.IntRange(1), default=40, help="The same as there.")
@click.pass_context
@as_json
def aliases(context: click.Context, *, most: int, is_json: bool) -> None:
    """Do what `sag keys close` does; goes with the next version."""
    complain("`sag aliases` is now `sag keys close`", kind="Warning")
    context.invoke(close, most=most, is_json=is_json)


@keys.command()
@click.argument("name")
@click.argument("other")
@as_json
def merge(*, name: str, other: str, is_json: bool) -> None:
    """Make NAME and OTHER one key, whatever their types, called by the name that more events have."""
    _decide("merge", name, other, is_json=is_json)


@keys.command()
@click.argument("name")
@click.argument("other")
@as_json
def split(*, name: str, other: str, is_json: bool) -> None:
    """Keep NAME and OTHER two keys, whatever rules and models say, and not one over a third name."""
    _decide("apart", name, other, is_json=is_json)


@keys.command()
@click.argument("name")
@click.argument("new")
@as_json
def rename(*, name: str, new: str, is_json: bool) -> None:
    """Call the key NAME by NEW: another name of it, that of a key, which joins it, or one that no document has."""
    _decide("rename", name, new, is_json=is_json)


@keys.command()
@click.argument("name")
@click.argument("key_type", metavar="TYPE")
@as_json
def retype(*, name: str, key_type: str, is_json: bool) -> None:
    """Give the key NAME another TYPE of the schema; keys of this name and type become one."""
    _decide("retype", name, key_type, is_json=is_json)


@keys.command()
@click.argument("line", type=click.IntRange(1), required=False)
@as_json
def undo(*, line: int | None, is_json: bool) -> None:
    """Take the decision in LINE of the file back, or the last one."""
    from sag_pipeline import undo_decision  # noqa: PLC0415

    gone = undo_decision(line)
    print_json(_row(gone)) if is_json else say(
        f"undone: {gone.verb} {gone.name} / {gone.other}; `sag ingest` applies it"
    )


def _decide(verb: "DecisionVerb", name: str, other: str, *, is_json: bool) -> None:
    from sag_pipeline import decide_name  # noqa: PLC0415

    made = decide_name(verb, name, other)
    print_json(_row(made)) if is_json else say(
        f"line {made.line}: {made.verb} {made.name} / {made.other}; `sag ingest` applies it, "
        f"`sag keys undo {made.line}` takes it back"
    )


@click.command()
@click.argument("revision_id", metavar="ID")
@as_json
def confirm(*, revision_id: str, is_json: bool) -> None:
    """Confirm the revision ID of `sag changes`: a line of `revisions.csv` in the home, followed by every ingest."""
    _decide_revision("confirm", revision_id, is_json=is_json)


@click.command()
@click.argument("revision_id", metavar="ID")
@as_json
def refuse(*, revision_id: str, is_json: bool) -> None:
    """Say that ID of `sag changes` is no revision: a line of `revisions.csv` in the home, followed by every ingest."""
    _decide_revision("refuse", revision_id, is_json=is_json)


def _decide_revision(verb: "RevisionVerb", revision_id: str, *, is_json: bool) -> None:
    from sag_pipeline import decide_revision  # noqa: PLC0415

    made = decide_revision(verb, revision_id)
    print_json(asdict(made)) if is_json else say(
        f"{made.verb} {made.revision_id}: {made.earlier} / {made.later}; `sag ingest` applies it"
    )
