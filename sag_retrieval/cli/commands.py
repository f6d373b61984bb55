"""The commands of retrieval: settings, search, ask, report, evaluate."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sag_retrieval.ask.options import MODES, Mode
from sag_retrieval.cli import show
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
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say
from sag_retrieval.cli.releases import releases
from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.options import build_options, describe_options, parse_settings
from sag_retrieval.core.settings import load_settings, origins
from sag_retrieval.models.server import shown_server
from sag_retrieval.search.registry import METHODS

if TYPE_CHECKING:
    from sag_retrieval.api import Release
    from sag_retrieval.evaluation.questions import Question
    from sag_retrieval.search.result import SearchResult


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
    print_json(found) if is_json else show.settings(Terminal(), found, option_names())
    load_settings()  # what is wrong with them ends the command, after they were shown


def _options(name: str, *, is_json: bool) -> None:
    if name not in option_names():
        near = get_close_matches(name, option_names(), 1)
        meant = f"the nearest is {near[0]!r}; " if near else ""
        raise click.BadParameter(f"{shown(name)} has no options; {meant}there are {', '.join(option_names())}")
    usual = default_options(name)
    rows = describe_options(usual) if usual is not None else []
    print_json(rows) if is_json else show.options(Terminal(), name, rows)


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
        show.result(Terminal(), result, explain=explain)


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
            on_event=lambda event: show.progress(console, event),
        )
    print_json(answer.to_dict()) if is_json else show.answer(Terminal(), answer)


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


@click.command()
@click.argument("questions", type=click.Path(path_type=Path))
@with_method
@with_set("METHOD")
@with_sql
@with_where
@click.option("--k", "ks", default="2,5,10", show_default=True, help="Cut-offs, separated by commas.")
@click.option("--against", type=click.Choice(list(METHODS)), help="Also show the paired difference to this method.")
@click.option("--answers", "mode", type=click.Choice(list(MODES)), help="Score answers of this mode.")
@click.option("--explain", is_flag=True, help="Also show which stage loses gold documents.")
@of_release
@as_json
def evaluate(  # noqa: PLR0913  one argument an option
    *,
    questions: Path,
    method: str,
    pairs: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    ks: str,
    against: str | None,
    mode: Mode | None,
    explain: bool,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Measure recall over QUESTIONS, a JSON Lines file: {"id", "question", "answers", "gold_documents"} a line.

    \b
    sag evaluate data/questions.jsonl
    sag evaluate data/questions.jsonl --method bm25 --k 1,5
    sag evaluate data/questions.jsonl --against bm25
    sag evaluate data/questions.jsonl --set hops=2 --against sag

    With `--answers`, `--set` takes the options of `sag ask`, those of its searches as `search.NAME`.
    """
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.evaluation.answers import evaluate_answers  # noqa: PLC0415
    from sag_retrieval.evaluation.questions import read_questions  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import compare  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import evaluate as run  # noqa: PLC0415

    cuts, where = _cuts(ks), where_of(conditions)
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    if mode is not None:
        options, searching = ask_settings(pairs, method)
        named = {"method": method, "options": options, "search_options": searching}
        with open_release(release=release_id) as release:
            scored = evaluate_answers(
                lambda question: release.ask(question, mode=mode, sql=sql, where=where, **named), asked, mode=mode
            )
        print_json(scored.to_dict()) if is_json else show.answers(Terminal(), scored)
        return
    chosen, _ = search_settings(pairs, method, None)
    with open_release(release=release_id) as release:
        search = release.searcher(method, sql=sql, where=where, options=chosen)
        rival = release.searcher(against, sql=sql, where=where) if against else None
        explained = partial(_explained, release, method, {"sql": sql, "where": where, "options": chosen})
        found = run(search, asked, ks=cuts, method=method, explained=explained if explain else None)
        other = run(rival, asked, ks=cuts, method=against) if rival and against else None
    if is_json:
        difference = {"against": other.to_dict()} if other else {}
        print_json(found.to_dict() | difference)
    else:
        show.evaluation(Terminal(), found, other, compare(found, other) if other else {}, explain=explain)


def _explained(release: "Release", method: str, given: Mapping[str, Any], asked: "Question") -> "SearchResult":
    return release.search(
        asked.question, asked.keys, method=method, explain=True, gold_documents=asked.gold_documents, **given
    )


def _cuts(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise QueryError(f"--k {ks!r} is not a list of whole numbers such as 2,5,10") from None
