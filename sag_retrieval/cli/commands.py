"""The commands about settings, the schema, reports and releases; and the list of all commands of retrieval."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.asking import ask, evaluate, retrieve, search
from sag_retrieval.cli.choices import (
    MORE_SETTINGS,
    checked_call,
    default_options,
    of_release,
    option_names,
    weakness,
    where_of,
    with_as_of,
    with_set,
    with_sql,
    with_where,
)
from sag_retrieval.cli.documents import documents
from sag_retrieval.cli.printing import (
    Terminal,
    as_json,
    complain,
    print_json,
    say,
    show_changes,
    show_options,
    show_releases,
    show_settings,
)
from sag_retrieval.cli.serving import chat, mcp, serve
from sag_retrieval.core.errors import ReleaseError, SettingsError
from sag_retrieval.core.options import build_options, describe_options, parse_settings


@click.group(invoke_without_command=True)
@of_release
@as_json
@click.pass_context
def schema(context: click.Context, *, release_id: str | None, is_json: bool) -> None:
    """Show the key types that the next ingest extracts; with `--release` those of a release.

    \b
    sag schema                  the types of SAG_SCHEMA, of the home, or the default ones
    sag schema write            write the default ones to schema.yaml in the home, to edit
    sag schema check FILE       check a file
    """
    if context.invoked_subcommand is not None:
        return
    from sag_retrieval.core.schema_file import home_schema  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    settings = load_settings()
    if release_id is None:
        found = home_schema(settings.home, settings.schema)
    else:
        from sag_retrieval import open_release  # noqa: PLC0415
        from sag_retrieval.release.where import schema_of_release  # noqa: PLC0415

        with open_release(release=release_id) as release:
            found = schema_of_release(release.manifest.key_schema)
    if is_json:
        print_json(found.model_dump(mode="json"))
        return
    table = Table("type", "kind", "unit", "other names", "description", box=None)
    for source, types in (("", found.types), *found.sources.items()):
        if source:
            table.add_row(f"[bold]{escape(source)}[/bold]")
        for each in types:
            said = [each.said("en"), f"one of {', '.join(each.values)}" if each.values else ""]
            cells = (each.name, each.kind, each.unit or "", ", ".join(each.names[1:]), "; ".join(filter(None, said)))
            table.add_row(*map(escape, cells))
    Terminal().print(table)


@schema.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@as_json
def check(*, file: Path, is_json: bool) -> None:
    """Check a file of key types: the first faults with their lines, or the number of its types."""
    from sag_retrieval.core.schema_file import load_schema  # noqa: PLC0415

    found = load_schema(file)
    counts = {"types": len(found.types), "sources": len(found.sources)}
    if is_json:
        print_json(counts)
        return
    own = f", and types of their own for {counts['sources']} sources" if counts["sources"] else ""
    say(f"{file}: {counts['types']} key types{own}")


@schema.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
def write(*, file: Path | None) -> None:
    """Write the default key types to a file, by default `schema.yaml` in the home; an existing file stays as it is."""
    from sag_retrieval.core.schema_file import SCHEMA_FILE, default_text  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    place = file or load_settings().home / SCHEMA_FILE
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as target:
            target.write(default_text())
    except FileExistsError:
        raise SettingsError(f"{place} exists already; edit it, or name another file") from None
    say(f"{place}\nedit it, then run `sag ingest` again: only keys that it touches are extracted again")


if TYPE_CHECKING:
    from sag_retrieval.llm_writing.written import WritingPlan


def register(main: click.Group) -> None:
    """Add the commands to `sag`."""
    reading = (settings, schema, search, ask, chat, retrieve, report, changes, open_report, evaluate, releases)
    for command in (*reading, documents, serve, mcp):
        main.add_command(command)


@click.command()
@click.option("--options", "name", metavar="NAME", help="List the options of a method, or of ask, report, ingest, …")
@click.option("--check", "is_check", is_flag=True, help="Ask the model server what it can, within five seconds.")
@as_json
def settings(*, name: str | None, is_check: bool, is_json: bool) -> None:
    """Show every setting, its value and where it comes from; or the options for `--set`.

    \b
    sag settings
    SAG_HOME=elsewhere sag settings --json
    sag settings --options sag
    sag settings --options ingest
    sag settings --check
    """
    if name is not None or is_check:
        _options(name, is_json=is_json) if name is not None else _check(is_json=is_json)
        return
    from sag_retrieval.core.settings import load_settings, origins  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.models.open import shown_server  # noqa: PLC0415

    found = [*origins(), *shown_server(), *(row for more in MORE_SETTINGS for row in more())]
    print_json(found) if is_json else show_settings(Terminal(), found, option_names())
    load_settings()  # a wrong setting ends the command, but only after all are shown


def _check(*, is_json: bool) -> None:
    """What the model server can, and what that means for the documents of the current release."""
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415
    from sag_retrieval.models.check import check_server  # noqa: PLC0415
    from sag_retrieval.models.open import model_server  # noqa: PLC0415
    from sag_retrieval.models.protocols import estimate_tokens  # noqa: PLC0415

    found = load_settings()
    (provider, _, model), (kind, _, embedding) = (
        each.partition(":") for each in (found.chat_model, found.embedding_model)
    )
    if provider != "openai":
        raise SettingsError(f"SAG_CHAT_MODEL is {found.chat_model!r}, which asks no server; set openai:MODEL")
    tokens = 0
    try:
        from sag_retrieval import open_release  # noqa: PLC0415

        with open_release() as release:
            tokens = sum(map(estimate_tokens, release.table("documents")["text"]))
    except ReleaseError:
        pass  # nothing ingested yet: the server is checked all the same
    rows = check_server(model_server(), model, embedding.partition("?")[0] if kind == "openai" else "", tokens)
    if is_json:
        print_json(rows)
        return
    table = Table("server", "", box=None)
    for row in rows:
        table.add_row(*map(escape, (row["name"], row["value"])))
    Terminal().print(table)


def _options(name: str, *, is_json: bool) -> None:
    with checked_call():
        usual = default_options(name)
    rows = describe_options(usual) if usual is not None else []
    print_json(rows) if is_json else show_options(Terminal(), name, rows, weakness(name))


@click.command()
@click.option("--title", help="Title of the page.")
@with_sql
@with_where
@with_as_of
@click.option(
    "--period",
    default="",
    metavar="PERIOD",
    help="Only events of this time: 2019..2021-06, `last 7 days`, `this quarter`.",
)
@click.option(
    "--language", type=click.Choice(["auto", "zh", "en"]), help="Language of the report's headings and sentences."
)
@click.option(
    "--key-type", "key_types", multiple=True, help="Connect events by keys of this type only; may be repeated."
)
@click.option("--new", "only_new", is_flag=True, help="Only what the last report of the same kind was not about.")
@click.option("--model", default="", help="The language model that writes; `offline`: none.  [default: SAG_CHAT_MODEL]")
@click.option("--estimate", is_flag=True, help="Print what a model would take at most; write nothing.")
@with_set("report")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the files.")
@of_release
@as_json
def report(  # noqa: PLR0913  one argument an option
    *,
    title: str | None,
    sql: str | None,
    conditions: tuple[str, ...],
    as_of: str | None,
    period: str,
    language: str | None,
    key_types: tuple[str, ...],
    only_new: bool,
    model: str,
    estimate: bool,
    pairs: tuple[str, ...],
    out: Path | None,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Group events into communities and write a report: a page, Markdown and tables.

    A language model writes titles, summaries and findings; what its events do not support is left out.

    \b
    sag report --title "The first quarter"
    sag report --period 2023.. --out quarterly
    sag report --where language=zh --new
    sag report --model openai:gpt-5-mini --estimate
    sag report --set cluster.alpha=0.5 --set cluster.without_key_types=title,date
    """
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415
    from sag_retrieval.search.revised import said_by  # noqa: PLC0415

    named = {"title": title, "language": language, "cluster.key_types": key_types or None}
    given = {name: value for name, value in named.items() if value is not None}
    with checked_call():
        chosen = build_options(ReportOptions, {**parse_settings(pairs, "report"), **given}, what="report")
    where = said_by(where_of(conditions), as_of)
    with open_release(release=release_id) as release:
        about: dict[str, Any] = {"sql": sql, "where": where, "period": period, "only_new": only_new, "model": model}
        if estimate:
            _show_plan(release.report_plan(**about, options=chosen), is_json=is_json)
            return
        made = release.report(**about, out=out, options=chosen)
    if made.fault:
        complain(made.fault)
    if made.written.left_out:
        counted = ", ".join(f"{reason} {count}" for reason, count in made.written.reasons.items())
        complain(f"{counted}; {made.tables['report_left_out']} has each text", kind="left out of the model's text")
    print_json(made.to_dict()) if is_json else say(f"{made.headline}\n{made.page}\n{made.markdown}")


@click.group(invoke_without_command=True)
@click.option("--since", metavar="DATE|ID", help="What was said then or later; or what another release has not.")
@of_release
@as_json
@click.pass_context
def changes(context: click.Context, *, since: str | None, release_id: str | None, is_json: bool) -> None:
    """Show which statements later ones revised; with `--since` also new and withdrawn ones.

    \b
    sag changes
    sag changes --since 2025-06-01 --json
    sag changes --since r0123456789ab
    sag changes refuse v0123456789abcde   what is no revision, from the next ingest on
    """
    if context.invoked_subcommand is not None:
        return
    from sag_retrieval import open_release  # noqa: PLC0415

    with open_release(release=release_id) as release:
        found = release.changes(since)
    print_json(found) if is_json else show_changes(Terminal(), found)


def _show_plan(plan: "WritingPlan", *, is_json: bool) -> None:
    if is_json:
        print_json(asdict(plan))
        return
    over = f"; {plan.left_out} further themes are beyond the budget (max_calls, max_tokens)" if plan.left_out else ""
    say(f"{plan.themes} themes: at most {plan.calls} calls, {plan.cached_calls} of them answered already{over}")
    say(f"{plan.input_tokens:,} tokens sent and {plan.output_tokens:,} received, estimated")


@click.command("open")
@as_json
def open_report(*, is_json: bool) -> None:
    """Show the latest report in the browser, and print the path of its page.

    Without a browser, as on a server, the path alone is printed; `--json` adds those of the release's tables for DuckDB
    and LanceDB.
    """
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415
    from sag_retrieval.release.releases import Releases  # noqa: PLC0415
    from sag_retrieval.reports.series import pull_reports  # noqa: PLC0415

    home = load_settings().home
    pull_reports(home)
    found = (home / "reports").glob("*/*/report.html")
    pages = [page for page in found if not page.parent.name.startswith(".")]  # not of a report under way
    if not pages:
        raise ReleaseError("no report yet; write one with `sag report`")
    page = max(pages, key=lambda page: page.stat().st_mtime).resolve()
    paths = {name: str(path) for name, path in Releases(home).paths().items() if name != "parquet"}
    print_json({"page": str(page), "duckdb": None, "lance": None} | paths) if is_json else say(str(page))
    if not is_json:
        click.launch(page.as_uri())


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def releases(context: click.Context, *, is_json: bool) -> None:
    """List, promote or prune releases.

    \b
    sag releases                 the same as: sag releases list
    sag releases promote ID      make an older (or newer) release the current one
    sag releases prune --keep 3  delete old releases that no process has open
    """
    if context.invoked_subcommand is None:
        context.invoke(list_releases, is_json=is_json)


@releases.command("list")
@as_json
def list_releases(*, is_json: bool) -> None:
    """Show every release, oldest first: which one is current, and why one cannot be opened."""
    from sag_retrieval import list_releases as found  # noqa: PLC0415

    rows = [each.to_dict() for each in found()]
    print_json(rows) if is_json else show_releases(Terminal(), rows)


@releases.command()
@click.argument("release_id", metavar="ID")
@as_json
def promote(*, release_id: str, is_json: bool) -> None:
    """Make a release the current one; processes that have another one open keep it."""
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415
    from sag_retrieval.release.releases import Releases  # noqa: PLC0415

    Releases(load_settings().home).promote(release_id)
    print_json({"in_force": release_id}) if is_json else say(f"{release_id} is current")


@releases.command()
@click.option("--keep", type=click.IntRange(1), default=3, show_default=True, help="Number of newest releases to keep.")
@click.option(
    "--grace-hours",
    type=click.FloatRange(0),
    default=24.0,
    show_default=True,
    help="Also keep releases younger than this.",
)
@as_json
def prune(*, keep: int, grace_hours: float, is_json: bool) -> None:
    """Delete old releases; never the current one, nor one that a process has open."""
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415
    from sag_retrieval.release.releases import prune_releases  # noqa: PLC0415

    gone = prune_releases(load_settings().home, keep=keep, grace_hours=grace_hours)
    print_json({"pruned": gone}) if is_json else say(f"pruned {len(gone)}: {', '.join(gone) or 'none'}")
