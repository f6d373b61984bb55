"""The commands of retrieval: settings, search, ask, report, evaluate."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sag_retrieval.ask.options import Mode
from sag_retrieval.cli import show
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json, say
from sag_retrieval.cli.releases import releases
from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.settings import load_settings, origins
from sag_retrieval.models.server import shown_server

if TYPE_CHECKING:
    from sag_retrieval.api import Release
    from sag_retrieval.evaluation.questions import Question
    from sag_retrieval.search.method import MethodName
    from sag_retrieval.search.result import SearchResult
    from sag_retrieval.segments.options import SegmentPreset

METHODS = ("sag", "sag-literal", "dense", "bm25", "hybrid", "bridge", "think-on-graph", "tiers")

of_release = click.option("--release", "release_id", metavar="ID", help="Open this release, not the one in force.")
with_sql = click.option(
    "--sql",
    metavar="SQL",
    help="Find only what a SELECT of event_id, chunk_id or document_id, or a condition, allows.",
)
with_method = click.option("--method", type=click.Choice(METHODS), default="sag", show_default=True)


def register(main: click.Group) -> None:
    """Add the commands to `sag`."""
    for command in (settings, search, ask, report, evaluate, releases):
        main.add_command(command)


@click.command()
@as_json
def settings(*, is_json: bool) -> None:
    """Show every setting, its value and where it comes from.

    \b
    sag settings
    SAG_HOME=elsewhere sag settings --json
    """
    found = [*origins(), *shown_server()]
    print_json(found) if is_json else show.settings(Terminal(), found)
    load_settings()  # what is wrong with them ends the command, after they were shown


@click.command()
@click.argument("query")
@click.option("--key", "keys", multiple=True, metavar="TEXT", help="A name the answer has to do with; may be repeated.")
@with_sql
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Hits at the most.")
@with_method
@of_release
@click.option("--explain", is_flag=True, help="Also show how each hit was found.")
@click.option("--segments", metavar="PRESET", help="Join neighbouring hits: balanced, precision or find_all.")
@as_json
def search(  # noqa: PLR0913  one argument an option
    *,
    query: str,
    keys: tuple[str, ...],
    sql: str | None,
    top_k: int,
    method: "MethodName",
    release_id: str | None,
    explain: bool,
    segments: "SegmentPreset | None",
    is_json: bool,
) -> None:
    """Find the passages that answer QUERY.

    \b
    sag search "Who supplies the sensors of the Heron buoy?"
    sag search "海鹭浮标的传感器由谁供应？" --key 海鹭 --top-k 5 --explain
    sag search "fines" --sql "SELECT document_id FROM documents WHERE language = 'en'"
    """
    from sag_retrieval import open_release  # noqa: PLC0415  `sag --help` stays quick

    with open_release(release=release_id) as release:
        result = release.search(query, list(keys), sql, top_k, method=method, segments=segments, explain=explain)
    if is_json:
        print_json(result.to_dict())
    else:
        show.result(Terminal(), result, explain=explain)


@click.command()
@click.argument("query")
@click.option("--mode", type=click.Choice(["fast", "normal", "deep"]), default="fast", show_default=True)
@with_sql
@of_release
@as_json
def ask(*, query: str, mode: Mode, sql: str | None, release_id: str | None, is_json: bool) -> None:
    """Answer QUERY with citations.

    fast asks no model; normal lets a model rewrite the question; deep plans sub-questions and works them off.

    \b
    sag ask "Who founded the firm that makes the Heron buoy?" --mode deep
    sag ask "海鹭浮标是哪家公司制造的？"
    """
    from sag_retrieval import open_release  # noqa: PLC0415

    console = Terminal(stderr=is_json)
    with open_release(release=release_id) as release:
        answer = release.ask(query, mode=mode, sql=sql, on_event=lambda event: show.progress(console, event))
    print_json(answer.to_dict()) if is_json else show.answer(Terminal(), answer)


@click.command()
@click.option("--title", default="", help="Title of the page.")
@with_sql
@click.option("--period", default="", metavar="FROM..TO", help="Only events of this time, such as 2019..2021-06.")
@click.option("--language", type=click.Choice(["auto", "zh", "en"]), default="auto", show_default=True)
@click.option("--key-type", "key_types", multiple=True, help="Tie events together by keys of this type only.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the files.")
@of_release
@as_json
def report(  # noqa: PLR0913  one argument an option
    *,
    title: str,
    sql: str | None,
    period: str,
    language: str,
    key_types: tuple[str, ...],
    out: Path | None,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Group events into communities and write a report: a page, Markdown and tables.

    \b
    sag report --title "The first quarter"
    sag report --period 2023.. --out quarterly
    sag report --sql "SELECT document_id FROM documents WHERE language = 'zh'"
    """
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.communities.options import ClusterOptions  # noqa: PLC0415
    from sag_retrieval.reports.options import ReportOptions  # noqa: PLC0415

    chosen = ReportOptions(title=title, language=language, cluster=ClusterOptions(key_types=key_types))  # type: ignore[arg-type]
    with open_release(release=release_id) as release:
        made = release.report(sql=sql, period=period, out=out, options=chosen)
    if made.fault:
        complain(made.fault)
    print_json(made.to_dict()) if is_json else say(f"{made.headline}\n{made.page}\n{made.markdown}")


@click.command()
@click.argument("questions", type=click.Path(path_type=Path))
@with_method
@click.option("--k", "ks", default="2,5,10", show_default=True, help="Cut-offs, separated by commas.")
@click.option("--against", type=click.Choice(METHODS), help="Also show the paired difference to this method.")
@click.option("--answers", "mode", type=click.Choice(["fast", "normal", "deep"]), help="Score answers of this mode.")
@click.option("--explain", is_flag=True, help="Also show which stage loses gold documents.")
@of_release
@as_json
def evaluate(  # noqa: PLR0913  one argument an option
    *,
    questions: Path,
    method: "MethodName",
    ks: str,
    against: "MethodName | None",
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
    """
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.evaluation.answers import evaluate_answers  # noqa: PLC0415
    from sag_retrieval.evaluation.questions import read_questions  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import compare  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import evaluate as run  # noqa: PLC0415

    cuts = _cuts(ks)
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    with open_release(release=release_id) as release:
        if mode is not None:
            scored = evaluate_answers(lambda question: release.ask(question, mode=mode), asked, mode=mode)
            print_json(scored.to_dict()) if is_json else show.answers(Terminal(), scored)
            return
        found = run(
            release.searcher(method),
            asked,
            ks=cuts,
            method=method,
            explained=_explained(release, method) if explain else None,
        )
        other = run(release.searcher(against), asked, ks=cuts, method=against) if against else None
    if is_json:
        difference = {"against": other.to_dict()} if other else {}
        print_json(found.to_dict() | difference)
    else:
        show.evaluation(Terminal(), found, other, compare(found, other) if other else {}, explain=explain)


def _explained(release: "Release", method: "MethodName") -> "Callable[[Question], SearchResult]":
    return lambda asked: release.search(
        asked.question, asked.keys, method=method, explain=True, gold_documents=asked.gold_documents
    )


def _cuts(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise QueryError(f"--k {ks!r} is not a list of whole numbers such as 2,5,10") from None
