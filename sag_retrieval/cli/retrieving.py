"""The command `sag retrieve`: categories, events and documents for a question or a conversation."""

import json
from dataclasses import asdict
from typing import IO, Any, Literal

import click
from rich.markup import escape

from sag_retrieval.cli.choices import checked_call, of_release, where_of, with_set, with_sql, with_where
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_below, print_json, show_steps
from sag_retrieval.core.errors import QueryError, RecordError
from sag_retrieval.core.options import build_options, parse_settings
from sag_retrieval.notebook import snippet

_TIERS = {"category": "Categories", "item": "Events", "resource": "Documents"}


@click.command()
@click.argument("query", required=False)
@click.option(
    "--messages",
    type=click.File(encoding="utf-8"),
    help='The conversation, a JSON list of {"role", "content"}; `-` reads it from standard input.',
)
@click.option("--method", type=click.Choice(["rag", "llm"]), help="Who chooses rows: vectors, or the language model.")
@click.option(
    "--categories", metavar="SOURCE", help="`communities`, or `key:TYPE` for one category per key, as key:person."
)
@with_sql
@with_where
@with_set("tiers")
@of_release
@click.option("--explain", is_flag=True, help="Also show each step: its query, what it found or decided.")
@as_json
def retrieve(  # noqa: PLR0913  one argument per option
    *,
    query: str | None,
    messages: IO[str] | None,
    method: Literal["rag", "llm"] | None,
    categories: str | None,
    sql: str | None,
    conditions: tuple[str, ...],
    pairs: tuple[str, ...],
    release_id: str | None,
    explain: bool,
    is_json: bool,
) -> None:
    """Find categories, events and documents in turn, until they suffice, for QUERY or the end of a conversation.

    With both, QUERY is the next question of the conversation.

    \b
    sag retrieve "Who supplies the sensors of the Heron buoy?"
    sag retrieve "它由哪家公司制造？" --messages talk.json
    sag retrieve "fines" --categories key:organisation --where date__gte=2020
    sag retrieve "fines" --set item.top_k=20 --set resource.enabled=false --explain
    """
    from sag_retrieval import open_release  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.search.methods.tiers.options import TiersOptions  # noqa: PLC0415

    if query is None and messages is None:
        raise click.UsageError("give QUERY, or a conversation with --messages")
    where = where_of(conditions)
    named = {"categories": categories} if categories else {}
    with checked_call():
        options = build_options(TiersOptions, {**parse_settings(pairs, "tiers"), **named}, what="tiers")
    turns = [*(_turns(messages) if messages else []), *([query] if query is not None else [])]
    with open_release(release=release_id) as release:
        found = release.retrieve(turns, sql=sql, where=where, method=method, options=options)
    if method == "llm" and found.method != method:
        complain("no language model is set, vectors chose the rows; SAG_CHAT_MODEL names one", kind="Warning")
    print_json(found.to_dict()) if is_json else _show(Terminal(), found, explain=explain)


def _turns(messages: IO[str]) -> list[Any]:
    """The conversation of a file: a list of messages, or an object that has it as `messages`.

    Raises:
        QueryError: If the file is not text or not JSON.
        RecordError: If it holds something else.

    """
    try:
        read = json.load(messages)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"--messages {messages.name} is not JSON: {error}") from error
    found = read.get("messages") if isinstance(read, dict) else read
    if not isinstance(found, list):
        raise RecordError(f'--messages {messages.name} holds no list of {{"role": …, "content": …}}')
    return found


def _show(console: Terminal, found: Any, *, explain: bool) -> None:  # noqa: ANN401  a TiersResult
    """The rows by tier; with `explain` the steps that found them."""
    if found.rewritten_query != found.query:
        console.print(f"[dim]searched as[/dim] {escape(found.rewritten_query)}", highlight=False)
    if not found.needs_retrieval:
        console.print("nothing has to be looked up for this")
    for tier, rows in zip(_TIERS, (found.categories, found.items, found.resources), strict=True):
        if rows:
            console.print(f"[bold]{_TIERS[tier]}[/bold]")
        for row in rows:
            score = "" if row.score is None else f"{row.score:.2f} "
            place = " ".join(filter(None, (row.document_id, row.date, f"{row.size} events" if row.size else "")))
            console.print(
                f"  {row.rank} [dim]{score}[/dim][bold]{escape(row.title)}[/bold] [dim]{escape(place)}[/dim]",
                highlight=False,
            )
            print_below(console, snippet(row.text, row.title), indent=4)
    if explain:
        titles = {row.row_id: row.text if row.tier == "item" else row.title for row in found.rows}
        show_steps(console, [asdict(step) for step in found.steps], titles, found.stopped_at)
    console.print(f"[dim]{len(found.rows)} rows by {found.method} from {escape(found.release)}[/dim]", highlight=False)
