"""The command `sag evaluate`: a method or a mode over a file of questions."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sag_retrieval.ask.options import MODES, Mode
from sag_retrieval.cli import printing
from sag_retrieval.cli.choices import (
    ask_settings,
    of_release,
    search_settings,
    where_of,
    with_method,
    with_set,
    with_sql,
    with_where,
)
from sag_retrieval.cli.printing import Terminal, as_json, complain, print_json
from sag_retrieval.core.errors import QueryError
from sag_retrieval.search.registry import METHODS

if TYPE_CHECKING:
    from sag_retrieval.api import Release
    from sag_retrieval.evaluation.questions import Question
    from sag_retrieval.search.result import SearchResult


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
        print_json(scored.to_dict()) if is_json else printing.answers(Terminal(), scored)
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
        printing.evaluation(Terminal(), found, other, compare(found, other) if other else {}, explain=explain)


def _explained(release: "Release", method: str, given: Mapping[str, Any], asked: "Question") -> "SearchResult":
    return release.search(
        asked.question, asked.keys, method=method, explain=True, gold_documents=asked.gold_documents, **given
    )


def _cuts(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise QueryError(f"--k {ks!r} is not a list of whole numbers such as 2,5,10") from None
