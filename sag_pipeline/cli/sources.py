"""The command `sag sources`: list, move and forget what is followed."""

from typing import Any

import click
from rich.table import Table

from sag_pipeline.store.source_list import Source, SourceList, rename_documents
from sag_pipeline.store.store import Store
from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.settings import load_settings


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def sources(context: click.Context, *, is_json: bool) -> None:
    r"""List, move or forget the sources that were ingested.

    \b
    sag sources                the same as: sag sources list
    sag sources move OLD NEW   after a folder was moved or renamed: nothing is read again
    sag sources forget SOURCE  remove its documents; the next ingest publishes without them
    """
    if context.invoked_subcommand is None:
        _list(is_json=is_json)


@sources.command("list")
@as_json
def list_sources(*, is_json: bool) -> None:
    """Show every source: where it lies, whether it is there, its documents, and when it was ingested last."""
    _list(is_json=is_json)


def _list(*, is_json: bool) -> None:
    store = Store(load_settings().home)
    listed = SourceList(store)
    rows = [_row(store, listed, source) for source in listed]
    if is_json:
        print_json(rows)
        return
    table = Table("source", "documents", "put aside", "there", "last ingest", "path", box=None)
    for row in rows:
        told = (f"{row['documents']:,}", f"{row['put_aside']:,}", "yes" if row["is_there"] else "no")
        table.add_row(row["source"], *told, row["last_ingest"], row["path"])
    Terminal().print(table)


def _row(store: Store, listed: SourceList, source: Source) -> dict[str, Any]:
    documents, skipped = store.ledger.source_counts(listed.spellings(source))
    return {
        "source": source.name,
        "path": source.path,
        "is_there": source.is_there,
        "documents": documents,
        "put_aside": skipped,
        "last_ingest": source.last_ingest,
    }


@sources.command()
@click.argument("old")
@click.argument("new")
@as_json
def move(*, old: str, new: str, is_json: bool) -> None:
    """Say that the source OLD lies at NEW now and is called so; its documents stay, and none is read again."""
    with Store.locked(load_settings().home) as store:
        listed = SourceList(store)
        source, target = listed.known(old), listed.find(new)
        if {target.name, new} & {other.name for other in listed} - {source.name}:
            raise SourceError(f"{new!r} is a source already; `sag sources forget` one of the two")
        spellings = listed.spellings(source)
        moved = Source(new, target.path, source.last_ingest)
        rename_documents(store, spellings, moved.name)
        listed.put(moved, instead_of=spellings)
        row = _row(store, listed, moved)
    print_json(row) if is_json else say(
        f"{source.name} is {moved.name} now, {row['documents']:,} documents; `sag ingest {moved.name}` publishes it"
    )


@sources.command()
@click.argument("source")
@as_json
def forget(*, source: str, is_json: bool) -> None:
    """Remove the documents of SOURCE; the next ingest publishes without them and purges their rows."""
    with Store.locked(load_settings().home) as store:
        listed = SourceList(store)
        known = listed.known(source)
        gone = forget_source(store, listed, known)
    print_json({"forgotten": known.name, "documents": gone}) if is_json else say(
        f"{gone:,} documents of {known.name} are forgotten; `sag ingest` publishes without them, "
        "`sag releases prune` deletes older releases"
    )


def forget_source(store: Store, listed: SourceList, source: Source) -> int:
    """Take the documents of a source, and what was put aside of it, out of the store; how many documents."""
    spellings = listed.spellings(source)
    entries = store.ledger.entries("step = 'documents' AND list_contains(?, source)", sorted(spellings))
    documents = [entry.unit for entry in entries if entry.kind == "document"]
    store.remove(documents, [entry for entry in entries if entry.kind == "aside"])
    listed.drop(spellings)
    return len(documents)
