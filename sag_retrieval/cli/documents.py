"""The commands that take documents out of a home and back: documents list, disable, delete, enable."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.choices import confirm_first, where_of, with_sql, with_where
from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.errors import FilterError, SettingsError

if TYPE_CHECKING:
    from sag_retrieval.release.taken_out import DocumentDecision, DocumentVerb

_SHOWN: Final = 20
_DONE: Final = {
    "disable": "disabled {}: nobody finds them any more, and the next `sag ingest` publishes without them",
    "delete": "deleted {}: nobody finds them any more, and the next `sag ingest` removes them, whatever the source has",
    "enable": "enabled {}: what the release still has is found again, the next `sag ingest` publishes all of them",
}


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def documents(context: click.Context, *, is_json: bool) -> None:
    """List, disable, delete or enable documents by the filters of search.

    Decisions are lines of `documents.csv` in the home: readers of the running release follow at once, through every
    door, and each ingest from then on.

    \b
    sag documents                                     what is away
    sag documents list --where language=zh            what a filter names
    sag documents disable --where metadata.status=draft
    sag documents delete --sql "document_id LIKE 'old/%'"
    sag documents enable --where document_id=old/plan.md
    """
    if context.invoked_subcommand is None:
        context.invoke(list_documents, sql=None, conditions=(), is_json=is_json)


@documents.command("list")
@with_sql
@with_where
@as_json
def list_documents(*, sql: str | None, conditions: tuple[str, ...], is_json: bool) -> None:
    """Show the documents that are disabled or deleted; with a filter those that it names, and whether they are away."""
    from sag_retrieval.documents import decide_documents, documents_away  # noqa: PLC0415  keeps `sag --help` fast

    named: dict[str, Any] = {"where": where_of(conditions), "sql": sql, "is_dry": True}
    if sql is None and not conditions:
        away, here = documents_away(), []
    else:
        here, away = decide_documents("disable", **named), []
        with suppress(FilterError):  # it asks what only a release knows
            away = decide_documents("enable", **named)
    rows = [{**asdict(one), "verb": ""} for one in here] + [asdict(one) for one in away]
    if is_json:
        names = ("document_id", "title", "source")
        print_json([{name: each[name] for name in names} | {"state": _state(each)} for each in rows])
    elif not rows:
        say("no document is away" if not (sql or conditions) else "no document is named")
    else:
        _show(rows, len(rows), has_state=True)


def _state(one: Mapping[str, Any]) -> str:
    return {"disable": "disabled", "delete": "deleted"}.get(one["verb"], "found")


def _show(rows: Sequence[Mapping[str, Any]], most: int, *, has_state: bool = False) -> None:
    table = Table("document", "title", *(["state"] if has_state else []), box=None)
    for one in rows[:most]:
        table.add_row(escape(one["document_id"]), escape(one["title"]), *([_state(one)] if has_state else []))
    console = Terminal()
    console.print(table, highlight=False)
    if len(rows) > most:
        console.print(f"and {len(rows) - most:,} more; `sag documents list` shows all of a filter", highlight=False)


def _deciding(verb: "DocumentVerb | Literal['enable']", told: str) -> Callable[..., None]:
    """A command that decides about what a filter names, after it has shown it."""

    @documents.command(verb, help=told)
    @with_sql
    @with_where
    @click.option("--yes", is_flag=True, help="Do it without asking.")
    @as_json
    def decide(*, sql: str | None, conditions: tuple[str, ...], yes: bool, is_json: bool) -> None:
        from sag_retrieval.documents import decide_documents  # noqa: PLC0415

        unasked = SettingsError(f"`sag documents {verb}` cannot ask, so it needs --yes; `list` shows what is named")
        if is_json and not yes:
            raise unasked
        named: dict[str, Any] = {"where": where_of(conditions), "sql": sql}
        found = decide_documents(verb, **named, is_dry=True)
        if not found:
            raise FilterError(f"no document to {verb} is named; nothing was changed; see `sag documents list`")
        if not is_json:
            _show([asdict(one) for one in found], _SHOWN)
        if not yes:
            confirm_first(f"{verb.capitalize()} {_counted(found)}?", unasked)
        found = decide_documents(verb, **named)
        if is_json:
            print_json({"decision": verb, "documents": [one.document_id for one in found]})
        else:
            say(_DONE[verb].format(_counted(found)))

    return decide


def _counted(found: "Sequence[DocumentDecision]") -> str:
    return f"{len(found):,} document{'' if len(found) == 1 else 's'}"


disable = _deciding(
    "disable", "Hide documents at once and publish without them from the next ingest on; they stay stored."
)
delete = _deciding(
    "delete",
    "Hide documents at once, and let the next ingest remove them; they stay away even if a source has them.",
)
enable = _deciding(
    "enable", "Take `disable` and `delete` back; a filter is about document_id, source, title, metadata."
)
