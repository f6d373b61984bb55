"""The commands of retrieval: settings, search, ask, report."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sag_retrieval.ask.options import MODES, Mode
from sag_retrieval.cli import printing
from sag_retrieval.cli.asking import evaluate
from sag_retrieval.cli.choices import (
    ask_settings,
    default_options,
    of_release,
    option_names,
    search_settings,
    where_of,
    with_method,
    with_set,
    with_sql,
    with_where,
)
from sag_retrieval.cli.commands import releases
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say
from sag_retrieval.core.errors import shown
from sag_retrieval.core.options import build_options, describe_options, parse_settings
from sag_retrieval.core.settings import load_settings, origins
from sag_retrieval.models.open import shown_server

if TYPE_CHECKING:
    pass


def register(main: click.Group) -> None:
    """Add the commands to `sag`."""
    for command in (settings, search, ask, report, evaluate, releases):
        main.add_command(command)


@click.command()
@click.option("--options", "name", metavar="NAME", help="List the options of a method, or of ask, report, ingest, ….")
@as_json
def settings(*, name: str | None, is_json: bool) -> None:
    """Show every setting, its value and where it comes from; or the options that `--set` takes.

    \b
    sag settings
    SAG_HOME=elsewhere sag settings --json
    sag settings --options sag
    sag settings --options ingest
    """
    if name is not None:
        _options(name, is_json=is_json)
        return
    found = [*origins(), *shown_server()]
    print_json(found) if is_json else printing.settings(Terminal(), found, option_names())
    load_settings()  # what is wrong with them ends the command, after they were shown


def _options(name: str, *, is_json: bool) -> None:
    if name not in option_names():
        near = get_close_matches(name, option_names(), 1)
        meant = f"the nearest is {near[0]!r}; " if near else ""
        raise click.BadParameter(f"{shown(name)} has no options; {meant}there are {', '.join(option_names())}")
    usual = default_options(name)
    rows = describe_options(usual) if usual is not None else []
    print_json(rows) if is_json else printing.options(Terminal(), name, rows)


@click.command()
@click.argument("query")
@click.option("--key", "keys", multiple=True, metavar="TEXT", help="A name the answer has to do with; may be repeated.")
@with_sql
@with_where
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Hits at the most.")
@with_method
@with_set("METHOD")
@of_release
@click.option("--explain", is_flag=True, help="Also show how each hit was found.")
@click.option("--segments", metavar="PRESET", help="Join neighbouring hits: balanced, precision or find_all.")
@as_json
def search(  # noqa: PLR0913  one argument an option
    *,
    query: str,
    keys: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    top_k: int,
    method: str,
    pairs: tuple[str, ...],
    release_id: str | None,
    explain: bool,
    segments: str | None,
    is_json: bool,
) -> None:
    """Find the passages that answer QUERY.

    \b
    sag search "Who supplies the sensors of the Heron buoy?"
    sag search "海鹭浮标的传感器由谁供应？" --key 海鹭 --top-k 5 --explain
    sag search "fines" --sql "SELECT document_id FROM documents WHERE language = 'en'"
    sag search "fines" --where language=en --where date__gte=2020
    sag search "fines" --set hops=2 --segments balanced --set segments.max_length=5
    """
    from sag_retrieval import open_release  # noqa: PLC0415  `sag --help` stays quick

    where = where_of(conditions)
    options, joined = search_settings(pairs, method, segments)
    with open_release(release=release_id) as release:
        result = release.search(
            query,
            list(keys),
            sql,
            top_k,
            method=method,
            options=options,
            where=where,
            segments=joined,
            explain=explain,
        )
    if is_json:
        print_json(result.to_dict())
    else:
        printing.result(Terminal(), result, explain=explain)


@click.command(
    help=f"""Answer QUERY with citations.

    {"; ".join(f"{name} {mode.summary}" for name, mode in MODES.items())}.

    \b
    sag ask "Who founded the firm that makes the Heron buoy?" --mode deep
    sag ask "海鹭浮标是哪家公司制造的？"
    """
)
@click.argument("query")
@click.option("--mode", type=click.Choice(list(MODES)), default="fast", show_default=True)
@with_method
@with_set("ask")
@with_sql
@with_where
@of_release
@as_json
def ask(  # noqa: PLR0913  one argument an option
    *,
    query: str,
    mode: Mode,
    method: str,
    pairs: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    release_id: str | None,
    is_json: bool,
) -> None:
    """Answer QUERY with citations."""
    from sag_retrieval import open_release  # noqa: PLC0415

    where = where_of(conditions)
    options, searching = ask_settings(pairs, method)
    console = Terminal(stderr=is_json)
    with open_release(release=release_id) as release:
        answer = release.ask(
            query,
            mode=mode,
            sql=sql,
            where=where,
            method=method,
            options=options,
            search_options=searching,
            on_event=lambda event: printing.progress(console, event),
        )
    print_json(answer.to_dict()) if is_json else printing.answer(Terminal(), answer)


@click.command()
@click.option("--title", help="Title of the page.")
@with_sql
@with_where
@click.option("--period", default="", metavar="FROM..TO", help="Only events of this time, such as 2019..2021-06.")
@click.option("--language", type=click.Choice(["auto", "zh", "en"]), help="Of the page's own words.")
@click.option("--key-type", "key_types", multiple=True, help="Tie events together by keys of this type only.")
@with_set("report")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the files.")
@of_release
@as_json
def report(  # noqa: PLR0913  one argument an option
    *,
    title: str | None,
    sql: str | None,
    conditions: tuple[str, ...],
    period: str,
    language: str | None,
    key_types: tuple[str, ...],
    pairs: tuple[str, ...],
    out: Path | None,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Group events into communities and write a report: a page, Markdown and tables.

    \b
    sag report --title "The first quarter"
    sag report --period 2023.. --out quarterly
    sag report --where language=zh
    sag report --set cluster.alpha=0.5 --set cluster.without_key_types=title,date
    """
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415

    named = {"title": title, "language": language, "cluster.key_types": key_types or None}
    given = {name: value for name, value in named.items() if value is not None}
    chosen = build_options(ReportOptions, {**parse_settings(pairs, "report"), **given}, what="report")
    where = where_of(conditions)
    with open_release(release=release_id) as release:
        made = release.report(sql=sql, where=where, period=period, out=out, options=chosen)
    if made.fault:
        complain(made.fault)
    print_json(made.to_dict()) if is_json else say(f"{made.headline}\n{made.page}\n{made.markdown}")
