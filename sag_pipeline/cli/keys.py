"""`sag keys`: list keys with their other names, and decide what is one thing, what is not, its name and its type."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.choices import of_release
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say

if TYPE_CHECKING:
    from sag_pipeline.extract.name_decisions import DecisionVerb, NameDecision


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
