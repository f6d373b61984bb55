"""The commands that query a release: search, ask, evaluate."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sag_retrieval.cli.choices import (
    METHOD_NAMES,
    MODE_NAMES,
    WrongCall,
    ask_settings,
    of_release,
    search_settings,
    where_of,
    with_budgets,
    with_keys,
    with_method,
    with_segments,
    with_set,
    with_sql,
    with_where,
)
from sag_retrieval.cli.pipelines import ask_by_pipeline, evaluate_by_pipeline, with_pipeline
from sag_retrieval.cli.printing import (
    Terminal,
    as_json,
    complain,
    print_json,
    show_answer,
    show_answers,
    show_evaluation,
    show_progress,
    show_result,
)
from sag_retrieval.core.errors import QueryError, SourceError

if TYPE_CHECKING:
    from sag_retrieval.api import Release
    from sag_retrieval.ask.answer import Answer
    from sag_retrieval.ask.options import Mode
    from sag_retrieval.evaluation.questions import Question
    from sag_retrieval.search.result import SearchResult


@click.command()
@click.argument("query")
@with_keys
@with_sql
@with_where
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Largest number of hits.")
@with_method
@with_set("METHOD")
@of_release
@click.option(
    "--min-score", type=click.FloatRange(0, 1), default=0, help="Leave out hits that are less likely to answer."
)
@click.option("--explain", is_flag=True, help="Also show how each hit was found.")
@with_segments
@as_json
def search(  # noqa: PLR0913  one argument per option
    *,
    query: str,
    keys: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    top_k: int,
    method: str,
    pairs: tuple[str, ...],
    release_id: str | None,
    min_score: float,
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
    from sag_retrieval import open_release  # noqa: PLC0415  keeps `sag --help` fast

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
            min_score=min_score,
            explain=explain,
        )
    if is_json:
        print_json(result.to_dict())
    else:
        show_result(Terminal(), result, explain=explain, is_restricted=bool(sql or conditions))


class _AskCommand(click.Command):
    """A command whose help lists the modes of asking; they are loaded when the help is shown."""

    @property
    def help(self) -> str:
        """The text of `sag ask --help`."""
        from sag_retrieval.ask.options import MODES  # noqa: PLC0415

        modes = "; ".join(f"{name} {mode.summary}" for name, mode in MODES.items())
        return f"Answer QUERY with citations.\n\n{modes}.\n\n{_ASK_EXAMPLES}"

    @help.setter  # noqa: A003
    def help(self, text: str) -> None:
        """Ignore the docstring of the function, which lists no modes."""


_ASK_EXAMPLES = """\b
sag ask "Who founded the firm that makes the Heron buoy?" --mode deep --max-calls 12 --rounds 2
sag ask "fines above one million" --where key.money__gt=1000000 --segments balanced --set search.hops=2
sag ask "海鹭浮标是哪家公司制造的？"
sag ask "Who made the O-ring?" --pipeline examples/pipeline.yaml
"""


@click.command(cls=_AskCommand, short_help="Answer QUERY with citations.")
@click.argument("query")
@click.option("--mode", type=MODE_NAMES, default="fast", show_default=True)
@with_method
@with_set("ask")
@with_budgets
@with_keys
@with_sql
@with_where
@with_segments
@with_pipeline
@of_release
@as_json
def ask(  # noqa: PLR0913  one argument per option
    *,
    query: str,
    mode: "Mode",
    method: str,
    pairs: tuple[str, ...],
    budgets: tuple[str, ...],
    keys: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    segments: str | None,
    pipeline: str | None,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Answer QUERY with citations."""
    from sag_retrieval import open_release  # noqa: PLC0415

    if pipeline is not None:
        ask_by_pipeline(pipeline, query, release_id=release_id, is_json=is_json)
        return
    where, chosen = where_of(conditions), ask_settings(pairs, method, budgets, segments)
    console = Terminal(stderr=is_json)
    with open_release(release=release_id) as release:
        answer = release.ask(
            query,
            mode=mode,
            keys=keys or None,
            sql=sql,
            where=where,
            method=method,
            on_event=lambda event: show_progress(console, event),
            **chosen.arguments,
        )
    print_json(answer.to_dict()) if is_json else show_answer(Terminal(), answer)


@click.command()
@click.argument("questions", type=click.Path(path_type=Path))
@with_method
@with_set("METHOD")
@with_budgets
@with_keys
@with_sql
@with_where
@with_segments
@click.option("--k", "ks", default="2,5,10", show_default=True, help="Cut-offs, separated by commas.")
@click.option("--against", type=METHOD_NAMES, help="Also show the paired difference to this method.")
@click.option("--answers", "mode", type=MODE_NAMES, help="Score answers of this mode.")
@click.option("--explain", is_flag=True, help="Also show which stage loses gold documents.")
@with_pipeline
@of_release
@as_json
def evaluate(  # noqa: PLR0913  one argument per option
    *,
    questions: Path,
    method: str,
    pairs: tuple[str, ...],
    budgets: tuple[str, ...],
    keys: tuple[str, ...],
    sql: str | None,
    conditions: tuple[str, ...],
    segments: str | None,
    ks: str,
    against: str | None,
    mode: "Mode | None",
    explain: bool,
    pipeline: str | None,
    release_id: str | None,
    is_json: bool,
) -> None:
    """Measure recall over QUESTIONS, a JSON Lines file: {"id", "question", "answers", "gold_documents"} per line.

    \b
    sag evaluate data/questions.jsonl
    sag evaluate data/questions.jsonl --method bm25 --k 1,5
    sag evaluate data/questions.jsonl --against bm25
    sag evaluate data/questions.jsonl --set hops=2 --against sag
    sag evaluate data/questions.jsonl --pipeline examples/pipeline.yaml

    With `--answers`, `--set` takes the options of `sag ask`; options of its searches are named `search.NAME`. Keys,
    segments and budgets are options of answers.
    """
    from sag_retrieval.evaluation.answers import evaluate_answers  # noqa: PLC0415
    from sag_retrieval.evaluation.questions import read_questions  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import compare  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import evaluate as run  # noqa: PLC0415

    if pipeline is not None:
        evaluate_by_pipeline(pipeline, questions, ks=_cuts(ks), release_id=release_id, is_json=is_json)
        return
    cuts, where = _cuts(ks), where_of(conditions)
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    if mode is not None:
        settings = ask_settings(pairs, method, budgets, segments)
        named = {"mode": mode, "method": method, "sql": sql, "where": where, **settings.arguments}
        with _opened_for(asked, questions, release_id) as release:
            scored = evaluate_answers(_answering(release, keys, named), asked, ks=cuts, mode=mode)
        print_json(scored.to_dict()) if is_json else show_answers(Terminal(), scored)
        return
    chosen, joined = search_settings(pairs, method, segments)
    if budgets or keys or joined is not None:
        raise WrongCall("keys, segments and budgets are options of answers; add --answers MODE, or leave them out")
    with _opened_for(asked, questions, release_id) as release:
        search = release.searcher(method, sql=sql, where=where, options=chosen)
        rival = release.searcher(against, sql=sql, where=where) if against else None
        explained = partial(_explained, release, method, {"sql": sql, "where": where, "options": chosen})
        found = run(search, asked, ks=cuts, method=method, explained=explained if explain else None)
        other = run(rival, asked, ks=cuts, method=against) if rival and against else None
    if is_json:
        difference = {"against": other.to_dict()} if other else {}
        print_json(found.to_dict() | difference)
    else:
        show_evaluation(Terminal(), found, other, compare(found, other) if other else {}, explain=explain)


@contextmanager
def _opened_for(asked: "Sequence[Question]", path: Path, release_id: str | None) -> "Iterator[Release]":
    """The release; refused if it has none of the documents of the questions: every figure would be 0."""
    from sag_retrieval import open_release  # noqa: PLC0415

    wanted = {document for question in asked for document in question.gold_documents}
    with open_release(release=release_id) as release:
        if wanted and wanted.isdisjoint(release.index.rows["documents"]["document_id"].to_pylist()):
            raise SourceError(
                f"none of the {len(wanted)} documents that {path} names is in release {release.release_id}, such as "
                f"{min(wanted)!r}; ingest them, or give questions about the documents of this home"
            )
        yield release


def _answering(release: "Release", keys: Sequence[str], given: Mapping[str, Any]) -> "Callable[..., Answer]":
    """Answers questions with the keys of the call and those of each question."""

    def answer(question: str, own: Sequence[str] = ()) -> "Answer":
        return release.ask(question, keys=[*keys, *own] or None, **given)

    return answer


def _explained(release: "Release", method: str, given: Mapping[str, Any], asked: "Question") -> "SearchResult":
    return release.search(
        asked.question, asked.keys, method=method, explain=True, gold_documents=asked.gold_documents, **given
    )


def _cuts(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise QueryError(f"--k {ks!r} is not a list of whole numbers such as 2,5,10") from None
