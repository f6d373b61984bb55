"""The commands that query a release: search, ask, evaluate; the latter two also by a file of a pipeline."""

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from rich.markup import escape

from sag_retrieval.cli.choices import (
    METHOD_NAMES,
    MODE_NAMES,
    AskedQuery,
    WrongCall,
    checked_call,
    of_release,
    with_budgets,
    with_query,
    with_set,
    with_sql,
    with_where,
)
from sag_retrieval.cli.printing import (
    Terminal,
    as_json,
    complain,
    print_below,
    print_json,
    show_answer,
    show_evaluation,
    show_progress,
    show_result,
    show_scores,
    show_steps,
)
from sag_retrieval.core.errors import QueryError, RecordError, SourceError
from sag_retrieval.notebook import snippet

if TYPE_CHECKING:
    from sag_retrieval.api import Release
    from sag_retrieval.ask.answer import Answer
    from sag_retrieval.ask.options import Mode
    from sag_retrieval.evaluation.questions import Question
    from sag_retrieval.pipelines import PipelineFile
    from sag_retrieval.search.result import SearchResult

_STAGES: Final = ("retrieval", "reranking", "refining")
_WITH_PIPELINE: Final = frozenset("pipeline query questions release_id is_json ks".split())
"""Parameters that mean something beside `--pipeline`."""
_SHOWN = 5

_with_pipeline = click.option(
    "--pipeline",
    metavar="FILE",
    help="Run the stages of a YAML file, which says how to search and answer; see `sag settings --options pipeline`.",
)


_with_messages = click.option(
    "--messages",
    type=click.File(encoding="utf-8"),
    help='With `--method tiers`: a conversation, a JSON list of {"role", "content"}; `-` reads standard input.',
)
_with_explain = click.option("--explain", is_flag=True, help="Also show how each hit was found.")
_WITH_MESSAGES: Final = frozenset("query messages method pairs sql conditions release_id explain is_json".split())
"""Parameters that mean something beside `--messages`."""
_NO_QUERY: Final = "give QUERY, or a conversation with --messages"


def _evaluate_by_pipeline(
    path: str, questions: Path, *, ks: Sequence[int], release_id: str | None, is_json: bool
) -> None:
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.evaluation.questions import read_questions  # noqa: PLC0415
    from sag_retrieval.pipelines import evaluate_pipeline  # noqa: PLC0415

    pipeline = _pipeline(path)
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    with open_release(release=release_id) as release:
        run = partial(release.run, pipeline)
        found = evaluate_pipeline(run, asked, measures=pipeline.measures, ks=ks, name=path)
    print_json(found.to_dict()) if is_json else show_scores(Terminal(), found, path)


def _show_record(console: Terminal, record: Mapping[str, Any]) -> None:
    """What was generated, the best documents, and how many documents each stage left in how many seconds."""
    from sag_retrieval.rag.stages import items_of, metadata_of  # noqa: PLC0415

    if "generated" in record:
        console.print(escape(str(record["generated"])), highlight=False)
    for number, item in enumerate(items_of(record)[:_SHOWN], start=1):
        metadata = metadata_of(item)
        place = f"{metadata.get('document_id', '')} {metadata.get('start', '')}–{metadata.get('end', '')}".strip(" –")
        console.print(f"  [bold]\\[{number}][/bold] [dim]{escape(place)}[/dim]", highlight=False)
        console.print(f"      {escape(snippet(item['text']))}", highlight=False)
    counts = [f"{stage} {len(record[f'{stage}_docs'])}" for stage in _STAGES if f"{stage}_docs" in record]
    seconds = sum(float(record.get(f"{stage}_time", 0.0)) for stage in (*_STAGES, "generation"))
    console.print(f"[dim]{', '.join(counts)} documents in {seconds * 1000:.0f} ms[/dim]", highlight=False)


def _pipeline(path: str) -> "PipelineFile":
    """The pipeline of a file, read before a release is opened."""
    from sag_retrieval.pipelines import load_pipeline  # noqa: PLC0415

    besides = _given_besides(_WITH_PIPELINE)
    if besides:
        raise WrongCall(f"{path} says how to search and answer; write {', '.join(besides)} into it, or leave it out")
    with checked_call():
        return load_pipeline(path)


def _given_besides(known: AbstractSet[str]) -> list[str]:
    """The options of this call that are none of the known parameters."""
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in known
        and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    ]


@click.command()
@click.argument("query", required=False)
@with_query("METHOD")
@click.option("--top-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="Largest number of hits.")
@click.option(
    "--min-score", type=click.FloatRange(0, 1), default=0, help="Leave out hits that are less likely to answer."
)
@_with_explain
@click.option("--rerank", metavar="NAME", help="Reorder the best 30 by a cross-encoder, such as fastembed:NAME.")
@_with_messages
@as_json
def search(  # noqa: PLR0913  one argument per option
    *,
    query: str | None,
    given: AskedQuery,
    top_k: int,
    min_score: float,
    explain: bool,
    rerank: str | None,
    messages: IO[str] | None,
    is_json: bool,
) -> None:
    """Find the passages that answer QUERY.

    With `--messages` categories, events and documents are found in turn, until they suffice, for the end of a
    conversation; QUERY is its next question.

    \b
    sag search "Who supplies the sensors of the Heron buoy?"
    sag search "海鹭浮标的传感器由谁供应？" --key 海鹭 --top-k 5 --explain
    sag search "fines" --sql "SELECT document_id FROM documents WHERE language = 'en'"
    sag search "fines" --where language=en --where date__gte=2020
    sag search "fines" --set hops=2 --segments balanced --set segments.max_length=5
    sag search "Where is its factory?" --method tiers --messages talk.json
    """
    from sag_retrieval import open_release  # noqa: PLC0415  keeps `sag --help` fast

    if messages is not None:
        if given.method != "tiers":
            raise WrongCall(f"--messages is for --method tiers, not for {given.method}; add --method tiers")
        if besides := _given_besides(_WITH_MESSAGES):
            raise WrongCall(f"a conversation is searched without {', '.join(besides)}; leave it out")
        _search_tiers(query, messages, given, explain=explain, is_json=is_json)
        return
    if query is None:
        raise click.UsageError(_NO_QUERY)
    given = replace(given, pairs=(*given.pairs, f"rerank={rerank}")) if rerank else given
    restriction = given.restriction()
    options, joined = given.search_settings()
    with open_release(release=given.release_id) as release:
        result = release.search(
            query,
            list(given.keys),
            top_k=top_k,
            method=given.method,
            options=options,
            segments=joined,
            min_score=min_score,
            explain=explain,
            **restriction,
        )
    for note in result.notes:
        complain(note, kind="Note")
    if is_json:
        print_json(result.to_dict())
    else:
        show_result(Terminal(), result, explain=explain, is_restricted=bool(given.sql or given.conditions))


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
@with_budgets
@with_query("ask")
@click.option("--explain", is_flag=True, help="Also show the rows and the SQL behind an answer from tables.")
@_with_pipeline
@as_json
def ask(*, query: str, mode: "Mode", given: AskedQuery, explain: bool, pipeline: str | None, is_json: bool) -> None:
    """Answer QUERY with citations."""
    from sag_retrieval import open_release  # noqa: PLC0415

    if pipeline is not None:
        stages = _pipeline(pipeline)
        with open_release(release=given.release_id) as release:
            record = release.run(stages, query)
        print_json(record) if is_json else _show_record(Terminal(), record)
        return
    arguments = given.restriction() | given.ask_arguments()
    console = Terminal(stderr=is_json)
    with open_release(release=given.release_id) as release:
        answer = release.ask(
            query,
            mode=mode,
            keys=given.keys or None,
            on_event=lambda event: show_progress(console, event),
            **arguments,
        )
    print_json(answer.to_dict()) if is_json else show_answer(Terminal(), answer, explain=explain)


@click.command()
@click.argument("questions", type=click.Path(path_type=Path))
@with_budgets
@with_query("METHOD")
@click.option("--k", "ks", default="2,5,10", show_default=True, help="Cut-offs, separated by commas.")
@click.option("--against", type=METHOD_NAMES, help="Also show the paired difference to this method.")
@click.option("--retriever", metavar="MODULE:FUNCTION", help="Measure a function of your own instead of a method.")
@click.option("--answers", "mode", type=MODE_NAMES, help="Score answers of this mode.")
@click.option("--explain", is_flag=True, help="Also show which stage loses gold documents.")
@_with_pipeline
@as_json
def evaluate(  # noqa: PLR0913  one argument per option
    *,
    questions: Path,
    given: AskedQuery,
    ks: str,
    against: str | None,
    retriever: str | None,
    mode: "Mode | None",
    explain: bool,
    pipeline: str | None,
    is_json: bool,
) -> None:
    """Measure recall over QUESTIONS, a JSON Lines file: {"id", "question", "answers", "gold_documents"} per line.

    \b
    sag evaluate data/questions.jsonl
    sag evaluate data/questions.jsonl --method bm25 --k 1,5
    sag evaluate data/questions.jsonl --against bm25
    sag evaluate data/questions.jsonl --set hops=2 --against sag
    sag evaluate data/questions.jsonl --pipeline examples/pipeline.yaml
    sag evaluate data/questions.jsonl --retriever mine:search --against sag

    With `--answers`, `--set` takes the options of `sag ask`; options of its searches are named `search.NAME`. Keys,
    segments and budgets are options of answers.
    """
    from sag_retrieval.evaluation.questions import locate_evidence, read_questions  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import evaluate as run  # noqa: PLC0415
    from sag_retrieval.evaluation.runner import named_retriever  # noqa: PLC0415

    if pipeline is not None:
        _evaluate_by_pipeline(pipeline, questions, ks=_cuts(ks), release_id=given.release_id, is_json=is_json)
        return
    cuts, restriction = _cuts(ks), given.restriction()
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    if mode is not None:
        _evaluate_answers(asked, questions, mode, given, cuts, is_json=is_json)
        return
    chosen, joined = given.search_settings()
    if given.budgets or given.keys or joined is not None:
        raise WrongCall("keys, segments and budgets are options of answers; add --answers MODE, or leave them out")
    method = given.method
    with _opened_for(asked, questions, given.release_id) as release:
        if retriever is None:
            asked = locate_evidence(asked, partial(_text_of, release))
            search = release.searcher(method, **restriction, options=chosen)
        else:  # its passages have no place in a document: evidence is looked for in their text
            method, search = retriever, named_retriever(retriever)
        rival = release.searcher(against, **restriction) if against else None
        explained = partial(_explained, release, method, {**restriction, "options": chosen})
        told = explained if explain and retriever is None else None
        found = run(search, asked, ks=cuts, method=method, explained=told)
        other = run(rival, asked, ks=cuts, method=against) if rival and against else None
    if is_json:
        difference = {"against": other.to_dict()} if other else {}
        print_json(found.to_dict() | difference)
    else:
        show_evaluation(Terminal(), found, other, explain=explain)


def _evaluate_answers(
    asked: "Sequence[Question]", path: Path, mode: "Mode", given: AskedQuery, ks: Sequence[int], *, is_json: bool
) -> None:
    from sag_retrieval.evaluation.answers import evaluate_answers  # noqa: PLC0415

    named = {"mode": mode, **given.restriction(), **given.ask_arguments()}
    with _opened_for(asked, path, given.release_id) as release:

        def answer(question: str, own: Sequence[str] = ()) -> "Answer":
            return release.ask(question, keys=[*given.keys, *own] or None, **named)

        scored = evaluate_answers(answer, asked, ks=ks, mode=mode)
    told = scored.to_dict()
    each = f"{told['calls_per_question']:.1f} calls and {told['tokens_per_question']:,.0f} tokens each"
    print_json(told) if is_json else show_scores(Terminal(), scored, f"{mode}, {each}")


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


def _text_of(release: "Release", document_id: str) -> str | None:
    try:
        return release.document(document_id).text
    except QueryError:
        return None


def _explained(release: "Release", method: str, given: Mapping[str, Any], asked: "Question") -> "SearchResult":
    return release.search(
        asked.question, asked.keys, method=method, explain=True, gold_documents=asked.gold_documents, **given
    )


def _cuts(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise QueryError(f"--k {ks!r} is not a list of whole numbers such as 2,5,10") from None


_TIERS = {"category": "Categories", "item": "Events", "resource": "Documents"}


def _search_tiers(
    query: str | None, messages: IO[str] | None, given: AskedQuery, *, explain: bool, is_json: bool
) -> None:
    """Print the categories, events and documents found for a conversation whose next question is `query`."""
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.search.methods.tiers.workflow import TiersOptions  # noqa: PLC0415

    if query is None and messages is None:
        raise click.UsageError(_NO_QUERY)
    restriction, (options, _) = given.restriction(), given.search_settings()
    turns = [*(_turns(messages) if messages else []), *([query] if query is not None else [])]
    with open_release(release=given.release_id) as release:
        found = release.retrieve(turns, **restriction, options=options)
    if found.method != (options or TiersOptions()).method:
        complain("no language model is set, vectors chose the rows; SAG_CHAT_MODEL names one", kind="Warning")
    print_json(found.to_dict()) if is_json else _show_tiers(Terminal(), found, explain=explain)


@click.command(hidden=True)
@click.argument("query", required=False)
@_with_messages
@click.option("--method", type=click.Choice(["rag", "llm"]), help="The same as --set method=…")
@click.option("--categories", metavar="SOURCE", help="The same as --set categories=…")
@with_sql
@with_where
@with_set("tiers")
@of_release
@_with_explain
@as_json
def retrieve(  # noqa: PLR0913  one argument per option
    *,
    query: str | None,
    messages: IO[str] | None,
    method: str | None,
    categories: str | None,
    pairs: tuple[str, ...],
    explain: bool,
    is_json: bool,
    **given: Any,  # noqa: ANN401  as of `AskedQuery`
) -> None:
    """Do what `sag search --method tiers --messages FILE` does; goes with the next version."""
    complain("`sag retrieve` is now `sag search --method tiers --messages FILE`", kind="Warning")
    named = {"method": method, "categories": categories}
    pairs = (*pairs, *(f"{name}={value}" for name, value in named.items() if value))
    asked = AskedQuery(method="tiers", pairs=pairs, keys=(), segments=None, **given)
    _search_tiers(query, messages, asked, explain=explain, is_json=is_json)


def _turns(messages: IO[str]) -> list[Any]:
    """The conversation of a file: a list of messages, or an object that has it as `messages`."""
    try:
        read = json.load(messages)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"--messages {messages.name} is not JSON: {error}") from error
    found = read.get("messages") if isinstance(read, dict) else read
    if not isinstance(found, list):
        raise RecordError(f'--messages {messages.name} holds no list of {{"role": …, "content": …}}')
    return found


def _show_tiers(console: Terminal, found: Any, *, explain: bool) -> None:  # noqa: ANN401  a TiersResult
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
