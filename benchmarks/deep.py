"""Deep mode on multi-hop questions, with a simulated model that knows only what its prompts hold.

    python -m benchmarks.deep [--home FOLDER] [--out benchmarks/results/deep.json] [--questions 60]

Builds a release of the recorded MuSiQue extraction (or opens the one in FOLDER), then asks every question in
the three modes over HTTP: the scripted server plans as the recorded decompositions do, and answers a
sub-question only if the passage that states the answer stands in the prompt. Deep mode runs once with every
reply sound, and once with a fifth of them broken (server errors, prose, cut JSON, another shape). Prints one
table and writes JSON; fails below a floor.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from sag_retrieval import open_release
from sag_retrieval.ask.modes import ask
from sag_retrieval.ask.options import AskOptions, Mode, SearchFunction
from sag_retrieval.evaluation import AnswersEvaluation, Question, evaluate, evaluate_answers
from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from tests.support.chat_server import Answer, ChatServer, Script, schema_of
from tests.support.simulated_model import Hop, SimulatedModel, failing

DATA = Path(__file__).parents[1].parent / "shared" / "data"
FLOORS = {"recall@5": 0.88, "all_gold@5": 0.76, "accuracy": 0.85}
_WIDE, _DELAY = 6, 0.3
QUICK = ChatOptions(first_pause_seconds=0.01, longest_pause_seconds=0.05)


def main() -> None:
    """Run every row and fail if deep mode is below a floor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, help="SAG_HOME with a release of the corpus; made if it is empty")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "deep.json")
    parser.add_argument("--questions", type=int, default=10_000)
    given = parser.parse_args()
    passages = pd.read_parquet(DATA / "musique_train.docs.parquet").set_index("doc_id").text
    rows = pd.read_parquet(DATA / "musique_train.questions.parquet").head(given.questions)
    questions = [_question(row) for row in rows.itertuples()]
    model = SimulatedModel({row.question: _hops(row.decomposition, passages) for row in rows.itertuples()})
    with _home(given.home) as home, open_release(home) as release:
        search = release.searcher()
        table = {"search": evaluate(search, questions).to_dict()}
        table["fast"] = _asked("fast", search, questions, None)
        table["normal"] = _asked("normal", search, questions, model)
        table["deep"] = _asked("deep", search, questions, model)
        table["deep, 20 % of replies broken"] = _asked("deep", search, questions, failing(model, 0.2))
        table["side by side"] = _side_by_side(search)
    _print(table)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({name: _short(row) for name, row in table.items()}, indent=1) + "\n")
    below = [
        f"{mode}: {name} {table[mode][name]:.3f} < {floor}"
        for mode in ("deep", "deep, 20 % of replies broken")
        for name, floor in FLOORS.items()
        if table[mode][name] < floor
    ]
    raise SystemExit("; ".join(below) or 0)


def _asked(mode: Mode, search: SearchFunction, questions: list[Question], script: Script | None) -> dict[str, Any]:
    if script is None:
        return evaluate_answers(lambda text: ask(search, text, mode=mode), questions).to_dict()
    with ChatServer(script) as server:
        chat = OpenAIChat("simulated", base_url=server.base_url, api_key="none", options=QUICK)
        options = AskOptions()
        scored: AnswersEvaluation = evaluate_answers(
            lambda text: ask(search, text, mode=mode, chat=chat, options=options), questions
        )
    return scored.to_dict() | {
        "side_by_side": server.peak,
        "requests_per_question": len(server.calls) / len(questions),
    }


def _side_by_side(search: SearchFunction) -> dict[str, Any]:
    """Seconds of a plan of six steps that need nothing from each other, with a model that takes 300 ms."""
    nodes = [{"id": f"q{n}", "question": f"Who is number {n}?", "keys": [], "sql": ""} for n in range(_WIDE)]
    replies = {
        "DraftPlan": {"nodes": nodes, "edges": []},
        "ModelAnswer": {"is_found": True, "answer": "somebody", "cited": [1]},
        "Verdict": {"is_enough": True, "missing": "", "nodes": [], "edges": []},
    }
    with ChatServer(lambda request: Answer(replies[schema_of(request)], delay=_DELAY)) as server:
        chat = OpenAIChat("simulated", base_url=server.base_url, api_key="none", options=QUICK)
        answer = ask(search, "Who are they?", mode="deep", chat=chat)
    return {"steps": _WIDE, "model_seconds": _DELAY, "at_once": server.peak, "seconds": answer.seconds}


def _question(row: Any) -> Question:  # noqa: ANN401  a row of pandas
    answers = (row.answer, *row.answer_aliases)
    return Question(id=row.qid, question=row.question, answers=answers, gold_documents=tuple(row.gold_doc_ids))


def _hops(decomposition: str, passages: "pd.Series[str]") -> list[Hop]:
    return [Hop(h["question"], h["answer"], passages[h["support_doc_id"]]) for h in json.loads(decomposition)]


@contextmanager
def _home(given: Path | None) -> Iterator[Path]:
    """A SAG_HOME that holds a release of the corpus."""
    with tempfile.TemporaryDirectory() as folder:
        home = (given or Path(folder) / "home").resolve()
        if not (home / "releases").is_dir():
            _publish(home, Path(folder) / "musique_train.jsonl")
        yield home


def _publish(home: Path, source: Path) -> None:
    os.environ["SAG_HOME"] = str(home)
    from sag_pipeline.runs import run_ingest  # noqa: PLC0415  Dagster takes seconds to import

    documents = pd.read_parquet(DATA / "musique_train.docs.parquet")
    recorded = pd.read_parquet(DATA / "musique_train.extraction.parquet").set_index("doc_id")
    lines = [json.dumps(_line(d, recorded.loc[d.doc_id]), ensure_ascii=False) for d in documents.itertuples()]
    source.write_text("\n".join(lines), encoding="utf-8")
    run_ingest([str(source)])


def _line(document: Any, recorded: Any) -> dict[str, Any]:  # noqa: ANN401  rows of pandas
    """A document with its recorded triples as events; entities of no triple make one event of their own."""
    triples = [t for t in json.loads(recorded.triples) if len(t) == 3 and all(isinstance(x, str) and x for x in t)]
    events = [{"content": " ".join(t), "keys": _keys([t[0], t[2]]), "triples": [t]} for t in triples]
    named = {key["value"] for event in events for key in event["keys"]}
    rest = [name for name in recorded.entities if name and name not in named]
    if rest:
        events.append({"content": f"{document.title}: {', '.join(rest)}", "keys": _keys(rest)})
    return {"id": document.doc_id, "title": document.title, "text": document.text, "events": events}


def _keys(names: list[str]) -> list[dict[str, str]]:
    return [{"type": "entity", "value": name} for name in names]


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "per_question"}


def _print(table: dict[str, dict[str, Any]]) -> None:
    print(f"{'':30}{'R@2':>6}{'R@5':>6}{'R@10':>6}{'all@5':>7}{'right':>7}{'calls':>7}{'tokens':>8}")
    search = table["search"]
    print(_cells("search", [*search["recall"].values(), search["all_gold"]["5"]]))
    for name, row in list(table.items())[1:-1]:
        shares = [row["recall@2"], row["recall@5"], row["recall@10"], row["all_gold@5"], row["accuracy"]]
        cost = f"{row['calls_per_question']:7.1f}{row['tokens_per_question']:8.0f}"
        print(_cells(name, shares) + cost)
    _print_wide(table["side by side"])


def _print_wide(row: dict[str, Any]) -> None:
    one_by_one = (row["steps"] + 3) * row["model_seconds"]
    print(
        f"{row['steps']} steps and 3 other calls of {row['model_seconds']} s: {row['seconds']:.2f} s, "
        f"{row['at_once']} at once; one by one {one_by_one:.2f} s"
    )


def _cells(name: str, shares: list[float]) -> str:
    widths = (6, 6, 6, 7, 7)
    return f"{name:30}" + "".join(f"{100 * s:{w}.1f}" for s, w in zip(shares, widths, strict=False))


if __name__ == "__main__":
    main()
