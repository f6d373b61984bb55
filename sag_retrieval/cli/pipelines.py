"""`sag ask --pipeline` and `sag evaluate --pipeline`: run the stages of a file, print the answer or the measures."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.choices import WrongCall, checked_call
from sag_retrieval.cli.printing import Terminal, complain, print_json
from sag_retrieval.notebook import snippet

if TYPE_CHECKING:
    from sag_retrieval.pipelines import PipelineEvaluation, PipelineFile

_STAGES: Final = ("retrieval", "reranking", "refining")
_WITH_PIPELINE: Final = {"pipeline", "query", "questions", "release_id", "is_json", "ks"}
"""Parameters that mean something beside `--pipeline`."""
_SHOWN = 5

with_pipeline = click.option(
    "--pipeline",
    metavar="FILE",
    help="Run the stages of a YAML file, which says how to search and answer; see `sag settings --options pipeline`.",
)


def ask_by_pipeline(path: str, query: str, *, release_id: str | None, is_json: bool) -> None:
    """Print the answer of a pipeline, its best documents and the seconds of its stages; as JSON the whole record."""
    from sag_retrieval import open_release  # noqa: PLC0415  keeps `sag --help` fast

    pipeline = _pipeline(path)
    with open_release(release=release_id) as release:
        record = release.run(pipeline, query)
    print_json(record) if is_json else show_record(Terminal(), record)


def evaluate_by_pipeline(
    path: str, questions: Path, *, ks: Sequence[int], release_id: str | None, is_json: bool
) -> None:
    """Print the measures of a pipeline over questions."""
    from sag_retrieval import open_release  # noqa: PLC0415
    from sag_retrieval.evaluation.questions import read_questions  # noqa: PLC0415
    from sag_retrieval.pipelines import evaluate_pipeline  # noqa: PLC0415

    pipeline = _pipeline(path)
    asked = read_questions(questions, on_fault=lambda fault: complain(fault, kind="left out"))
    with open_release(release=release_id) as release:
        run = partial(release.run, pipeline)
        found = evaluate_pipeline(run, asked, measures=pipeline.measures, ks=ks, name=path)
    print_json(found.to_dict()) if is_json else show_measures(Terminal(), found)


def show_record(console: Terminal, record: Mapping[str, Any]) -> None:
    """What was generated, the best documents, and how many documents each stage left in how many seconds."""
    from sag_retrieval.rag import items_of  # noqa: PLC0415

    if "generated" in record:
        console.print(escape(str(record["generated"])), highlight=False)
    for number, item in enumerate(items_of(record)[:_SHOWN], start=1):
        metadata = item.get("metadata") or {}
        place = f"{metadata.get('document_id', '')} {metadata.get('start', '')}–{metadata.get('end', '')}".strip(" –")
        console.print(f"  [bold]\\[{number}][/bold] [dim]{escape(place)}[/dim]", highlight=False)
        console.print(f"      {escape(snippet(item['text']))}", highlight=False)
    counts = [f"{stage} {len(record[f'{stage}_docs'])}" for stage in _STAGES if f"{stage}_docs" in record]
    seconds = sum(float(record.get(f"{stage}_time", 0.0)) for stage in (*_STAGES, "generation"))
    console.print(f"[dim]{', '.join(counts)} documents in {seconds * 1000:.0f} ms[/dim]", highlight=False)


def show_measures(console: Terminal, found: "PipelineEvaluation") -> None:
    """One row per score: its mean, the 95 % interval, and the number of questions that have it."""
    table = Table("measure", "mean", "95 % interval", "questions", box=None)
    counts = found.to_dict()["counts"]
    for name in found.names:
        score = found.score(name)
        table.add_row(name, f"{score.mean:.4f}", f"{score.low:.4f} to {score.high:.4f}", str(counts[name]))
    console.print(table)
    console.print(f"[dim]{len(found.outcomes)} questions by {escape(found.pipeline)}[/dim]", highlight=False)


def _pipeline(path: str) -> "PipelineFile":
    """The pipeline of a file, read before a release is opened.

    Raises:
        WrongCall: If the file is no pipeline, or an option is given whose place the file takes.

    """
    from sag_retrieval.pipelines import load_pipeline  # noqa: PLC0415

    context = click.get_current_context()
    besides = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in _WITH_PIPELINE
        and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    ]
    if besides:
        raise WrongCall(f"{path} says how to search and answer; write {', '.join(besides)} into it, or leave it out")
    with checked_call():
        return load_pipeline(path)
