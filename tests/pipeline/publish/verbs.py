"""What every public verb of a release gives, as plain values: two releases of the same content give the same."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sag_pipeline.importers.knowledge_graph import graph_of_release
from sag_retrieval import METHODS, MODES, Release
from sag_retrieval.core.public import Convertible
from sag_retrieval.evaluation.answers import evaluate_answers
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.evaluation.runner import evaluate
from sag_retrieval.release.schema import VIEWS
from tests.support.sql_tables import open_tables

PIPELINE = Path(__file__).parents[3] / "examples" / "pipeline.yaml"
QUESTIONS = (
    "What did Lumen Optics sell at Port Ansel?",
    "光澜公司在安塞港制造了什么？",
    "Who built the buoy at the pier, and 浮标是谁制造的？",
    "heron buoy salt 不见 nowhere, Report b/c.md?",
)
WHERE = {"title__startswith": "Report"}
SELECTS = (
    "SELECT document_id, count(*) AS n FROM chunks GROUP BY 1 ORDER BY 1",
    "SELECT key_id, count(*) AS n, max(idf) AS idf FROM event_keys JOIN keys USING (key_id) GROUP BY 1 ORDER BY 1",
    "SELECT value_string FROM keys WHERE value_string LIKE '%公司%' ORDER BY 1",
)
_TIMED = re.compile("seconds|latency|_time$")


def plain(value: Any) -> Any:
    """A result as plain values, without what the clock says."""
    if isinstance(value, Convertible):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items() if not _TIMED.search(str(name))}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def every_verb(release: Release, out: Path, questions: Sequence[str] = QUESTIONS) -> list[tuple[object, Any]]:
    """Each verb with its arguments, and what it gave; files are written below `out`."""
    found = [
        *(((label, question), given) for question in questions for label, given in _of_question(release, question)),
        *_of_rows(release),
        *_of_reports(release, out),
        *_evaluated(release),
        *_exported(release),
    ]
    return [(label, plain(given)) for label, given in found]


def _of_question(release: Release, question: str) -> Iterator[tuple[object, Any]]:
    for method in METHODS:
        yield ("search", method), release.search(question, method=method, segments="find_all", explain=True)
    found = release.search(question, where=WHERE, min_score=0.2, gold_documents=["b.md"], explain=True)
    yield "search where", found
    yield "search by keys", release.search(question, ["Lumen Optics", "光澜公司"], sql="length(content) > 12")
    for mode in MODES:
        yield ("ask", mode), release.ask(question, mode=mode, where=WHERE, options={"language": "zh"})
        yield ("ask", mode, "segments"), release.ask(question, mode=mode, segments="balanced", keys=["Heron Buoy"])
    yield "retrieve", release.retrieve(question)
    talk = [("user", "Who sold the Heron Buoy?"), ("assistant", "光澜公司"), ("user", question)]
    yield "talk", release.retrieve([{"role": role, "content": text} for role, text in talk], where=WHERE)
    yield "run", release.run(PIPELINE, question)


def _of_rows(release: Release) -> Iterator[tuple[object, Any]]:
    for name in release.tables:
        frame = release.table(name)
        yield ("table", name), [frame.to_csv(), frame.dtypes.to_dict()]
    for select in SELECTS:
        yield select, release.sql(select).to_dict()
    for name in release.table("documents")["document_id"]:
        yield name, release.document(name)
    for name in release.table("chunks")["chunk_id"]:
        yield name, release.chunk(name)


def _of_reports(release: Release, out: Path) -> Iterator[tuple[object, Any]]:
    yield "plan", repr(release.report_plan())
    themes = release._themes()
    yield "themes", [themes.events.event_ids, repr(themes.communities)]
    for language, where in (("en", None), ("zh", WHERE)):
        told = release.report(out=out / language, where=where, options={"language": language}).to_dict()
        yield "report", {name: told[name] for name in ("headline", "counts", "findings", "previous", "fault")}
        for path in sorted(path for path in (out / language).rglob("*") if path.is_file()):
            yield path.relative_to(out).as_posix(), path.read_bytes()


def _evaluated(release: Release) -> Iterator[tuple[object, Any]]:
    questions = [
        Question(id=f"q{number}", question=text, answers=("海鹭", "heron"), gold_documents=("b.md", "海.md"))
        for number, text in enumerate(QUESTIONS)
    ]
    find = release.searcher("sag", where=WHERE)
    explained = partial(release.search, gold_documents=questions[0].gold_documents, explain=True)
    yield "evaluate", evaluate(find, questions, explained=lambda each: explained(each.question))
    yield "answers", evaluate_answers(release.ask, questions)


def _exported(release: Release) -> Iterator[tuple[object, Any]]:
    yield "graph", graph_of_release(release)
    with open_tables(release.path) as database:
        for name in VIEWS.keys() - {"tie_statistics"}:  # a sum of floats, in any order
            yield ("view", name), database.execute(f"FROM {name} ORDER BY ALL").fetchall()
