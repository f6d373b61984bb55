"""Answers of the modes of asking with a language model on five sets: recall, exact match, F1, cost, calls, seconds.

    OPENAI_API_KEY=… python benchmarks/answers_with_model.py --model openai:NAME --prices 0.25/2 --max-cost 5
    python benchmarks/answers_with_model.py --scripted [--sets musique] [--questions 5]

The key and the address come from OPENAI_API_KEY and OPENAI_BASE_URL (or `--base-url`), as `sag` reads them. Releases
are made without the model, so that only asking is paid. Every outcome is a line of `--out` as soon as it is known: a
run that was stopped, or whose budget was spent, goes on where it ended, and nothing is asked twice. A question that
the model could not be asked is not kept; three in a row end the run. A line counts for one model, mode, judge and
release. With `--judge`, that model also says whether an answer means the same as the right one. `--scripted` serves a
model on 127.0.0.1 that plans MuSiQue's recorded sub-questions and knows only what its prompts hold: it tries the
command, its figures say nothing of a real model.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy
sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np  # noqa: E402
from judging import cached, ingested  # noqa: E402
from kinds import business  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from sets import DATA, SETS, QuestionSet, read  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.ask import ReleaseContext, ask  # noqa: E402
from sag_retrieval.core.errors import ModelError  # noqa: E402
from sag_retrieval.core.settings import load_settings  # noqa: E402
from sag_retrieval.evaluation import Question, bootstrap, evaluate_answers  # noqa: E402
from sag_retrieval.models.open import open_chat  # noqa: E402
from sag_retrieval.models.protocols import ChatModel, Prices, Request, Usage  # noqa: E402

Corpus = tuple[QuestionSet, list[Question]]


def _passages(source: str, questions: str) -> Corpus:
    found = []
    for row in read(f"{questions}.questions").itertuples():
        answers = [getattr(row, "answer", None), *getattr(row, "answer_aliases", ())]
        given = tuple(answer for answer in answers if answer)
        if row.question.strip():
            found.append(
                Question(id=str(row.qid), question=row.question, answers=given, gold_documents=tuple(row.gold_doc_ids))
            )
    return SETS[source](), found


def _dragonball() -> Corpus:
    table = read("dragonball.docs")
    lines = [{"id": row.doc_id, "title": row.name, "text": row.text} for row in table.itertuples(index=False)]
    questions = [
        Question(
            id=str(row.qid),
            question=row.question,
            answers=() if row.unanswerable else (row.answer,),
            gold_documents=() if row.unanswerable else tuple(row.gold_doc_ids),
        )
        for row in read("dragonball.questions").itertuples()
    ]
    return QuestionSet(lines, []), questions


def _business() -> Corpus:
    lines = (DATA / "business" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    kept = ("id", "question", "answers", "gold_documents")
    return business(Path()), [Question(**{name: json.loads(line)[name] for name in kept}) for line in lines]


CORPORA: Final[dict[str, Callable[[], Corpus]]] = {
    "musique": lambda: _passages("musique-rules", "musique_train"),
    "2wiki": lambda: _passages("2wiki", "twowiki"),
    "hotpot": lambda: _passages("hotpot", "sag_test_hotpot10"),
    "dragonball": _dragonball,
    "business": _business,
}
"""Documents and questions by the name of their set; 2Wiki has no answers here, so only its recall is measured."""

SHOWN: Final = ("recall@5", "all_gold@5", "exact_match", "f1", "accuracy", "judged", "refused")
MOST_FAILURES: Final = 3
JUDGE: Final = """Does the answer mean the same as one of the right answers? Wording, units and extra detail do not
matter; a wrong or missing fact does.

Question: {question}
Right answers: {right}
Answer: {answer}
"""


class Judgement(BaseModel):
    """Whether an answer is right."""

    is_right: bool


@dataclass(frozen=True)
class Run:
    """What asks, what judges, and what the answers are kept under."""

    chat: ChatModel
    judge: ChatModel | None
    prices: Prices | None
    max_cost: float | None
    out: Path

    def key(self, release: Release, mode: str, question: Question) -> str:
        """Identity of an outcome: whatever could change it."""
        judge = self.judge.model_id if self.judge else ""
        parts = [release.release_id, mode, self.chat.model_id, judge, question.model_dump_json()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]

    def cost(self, usage: Usage) -> float:
        """What a usage costs; 0 without prices."""
        return self.prices.cost(usage) if self.prices else 0.0


def main() -> int:
    """Ask what has not been asked yet, then print the table of all that this command covers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="as SAG_CHAT_MODEL, such as openai:NAME")
    parser.add_argument("--judge", help="a model that judges answers, in the same form")
    parser.add_argument("--modes", default="normal,deep")
    parser.add_argument("--sets", default=",".join(CORPORA))
    parser.add_argument("--questions", type=int, default=50, help="most questions of a set, chosen by hash")
    parser.add_argument("--prices", type=Prices.parse, help="for a million tokens, input/output")
    parser.add_argument("--max-cost", type=float, help="stop before a question once this run has cost so much")
    parser.add_argument("--base-url", help="address of an OpenAI-compatible server")
    parser.add_argument("--cache", type=Path, default=Path("answers-cache"), help="where releases are kept")
    parser.add_argument("--out", type=Path, default=Path("answers.jsonl"), help="one outcome a line")
    parser.add_argument("--scripted", action="store_true", help="use a scripted model on 127.0.0.1")
    given = parser.parse_args()
    names = given.sets.split(",")
    if set(names) - set(CORPORA):
        parser.error(f"no set {sorted(set(names) - set(CORPORA))}; there are {list(CORPORA)}")
    if not given.scripted and not given.model:
        parser.error("name a model with --model, or try the command with --scripted")
    if given.max_cost is not None and given.prices is None:
        parser.error("--max-cost needs --prices")
    if given.base_url:
        os.environ["OPENAI_BASE_URL"] = given.base_url
    with scripted() if given.scripted else _as_named(given.model, given.judge) as (model, judge):
        run = Run(_opened(model), _opened(judge) if judge else None, given.prices, given.max_cost, given.out)
        with cached(given.cache) as cache:
            keys, stopped = asked_all(run, names, given.modes.split(","), given.questions, cache)
    print("\n".join(table([row for row in _rows(given.out) if row["key"] in keys], run.prices)))
    if stopped:
        print(f"stopped: {stopped}; the same command goes on")
    return 1 if stopped else 0


def asked_all(run: Run, names: Sequence[str], modes: Sequence[str], count: int, cache: Path) -> tuple[set[str], str]:
    """Ask every question that is not known; keys of all that were reached, and why it stopped early, or empty."""
    known, spent, failures = {row["key"] for row in _rows(run.out)}, 0.0, 0
    reached: set[str] = set()
    for name in names:
        source, questions = CORPORA[name]()
        release = ingested(f"asked-{name}", source, cache)
        chosen = sorted(questions, key=lambda question: hashlib.sha256(question.id.encode()).hexdigest())[:count]
        for mode, question in ((mode, question) for mode in modes for question in chosen):
            key = run.key(release, mode, question)
            reached.add(key)
            if key in known:
                continue
            if run.max_cost is not None and spent >= run.max_cost:
                return reached, f"{spent:.4f} of {run.max_cost:g} is spent"
            row = outcome(run, release, mode, question)
            if row is None:
                failures += 1
                if failures == MOST_FAILURES:
                    return reached, f"the model {run.chat.model_id} could not be asked {failures} times in a row"
                continue
            failures, spent = 0, spent + row["cost"]
            _keep(run.out, {"key": key, "set": name, "mode": mode, "model": run.chat.model_id, **row})
    return reached, ""


def outcome(run: Run, release: Release, mode: str, question: Question) -> dict[str, Any] | None:
    """What a mode answered to a question and what it cost; None if the model could not be asked."""
    scored = evaluate_answers(
        lambda text: ask(release.searcher(), text, mode=mode, chat=run.chat, context=ReleaseContext(release.index)),
        [question],
        mode=mode,
    ).outcomes[0]
    usage = scored.found.usage
    if mode != "fast" and not usage.input_tokens + usage.output_tokens:  # calls that failed count as calls
        print(f"{question.id}: {'; '.join(scored.found.notes)}", file=sys.stderr)
        return None
    row, scores = scored.to_dict(), dict(scored.scores)
    if run.judge and question.answers:
        try:
            judged, judging = judgement(run.judge, question, row["answer"] if row["is_found"] else "")
        except ModelError as error:
            print(f"{question.id}: not judged: {error}", file=sys.stderr)
            return None
        scores["judged"] = judged
        row["judge_cost"] = run.cost(judging)
    costs = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost": run.cost(usage)}
    return row | costs | {"scores": scores, "cost": costs["cost"] + row.get("judge_cost", 0.0)}


def judgement(judge: ChatModel, question: Question, answer: str) -> tuple[float, Usage]:
    """Whether a model takes an answer for right; one that found nothing is wrong without asking."""
    if not answer:
        return 0.0, Usage()
    prompt = JUDGE.format(question=question.question, right="; ".join(question.answers), answer=answer)
    reply = judge.ask(Request(prompt, Judgement, "judge"))
    return float(reply.value.is_right), reply.usage


def table(rows: Sequence[Mapping[str, Any]], prices: Prices | None) -> Iterator[str]:
    """One line for each set, mode and model: shares in percent with the interval of F1, and costs a question."""
    yield (
        f"{'set':12}{'mode':8}{'model':22}{'asked':>6}"
        + "".join(f"{name:>13}" for name in SHOWN)
        + (f"{'F1 95 %':>16}{'calls':>7}{'tokens':>8}{'seconds':>9}{'cost':>10}")
    )
    for group in dict.fromkeys((row["set"], row["mode"], row["model"]) for row in rows):
        own = [row for row in rows if (row["set"], row["mode"], row["model"]) == group]
        cells = [_mean([100 * row["scores"][name] for row in own if name in row["scores"]]) for name in SHOWN]
        f1 = bootstrap([row["scores"]["f1"] for row in own if "f1" in row["scores"]])
        costs = [_mean([row[name] for row in own]) for name in ("calls", "tokens", "seconds")]
        money = f"{float(np.mean([row['cost'] for row in own])):.5f}" if prices else "-"
        yield (
            f"{group[0]:12}{group[1]:8}{group[2]:22}{len(own):6}"
            + "".join(f"{cell:>13}" for cell in cells)
            + f"{f'{100 * f1.low:.0f} to {100 * f1.high:.0f}':>16}{costs[0]:>7}{costs[1]:>8}{costs[2]:>9}{money:>10}"
        )


def _mean(values: Sequence[float]) -> str:
    return f"{float(np.mean(values)):.1f}" if values else "-"


def _rows(path: Path) -> list[dict[str, Any]]:
    """The outcomes of a file; a line cut by an interruption is left out, and asked again."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}: a line that is no JSON is left out", file=sys.stderr)
    return found


def _keep(path: Path, row: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # what was cut stays on a line of its own
                file.write(b"\n")
        file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _opened(name: str) -> ChatModel:
    chat = open_chat(load_settings(chat_model=name))
    if chat is None:
        raise SystemExit(f"{name} is no language model; name one, such as openai:NAME")
    return chat


@contextmanager
def _as_named(model: str, judge: str | None) -> Iterator[tuple[str, str | None]]:
    yield model, judge


@contextmanager
def scripted() -> Iterator[tuple[str, str]]:
    """The names of a scripted model that asks and judges, its server running."""
    from tests.support.chat_server import ChatServer, Request, first_prompt_of, schema_of  # noqa: PLC0415
    from tests.support.simulated_model import Hop, SimulatedModel  # noqa: PLC0415

    passages = read("musique_train.docs").set_index("doc_id").text
    model = SimulatedModel(
        {
            row.question: [
                Hop(hop["question"], hop["answer"], passages[hop["support_doc_id"]])
                for hop in json.loads(row.decomposition)
            ]
            for row in read("musique_train.questions").itertuples()
        }
    )

    def script(request: Request) -> Any:  # noqa: ANN401  JSON
        if schema_of(request) != Judgement.__name__:
            return model(request)
        said = dict(line.split(": ", 1) for line in first_prompt_of(request).splitlines() if ": " in line)
        return {"is_right": any(right in said["Answer"] for right in said["Right answers"].split("; "))}

    with ChatServer(script) as server:
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        yield "openai:scripted", "openai:scripted"


if __name__ == "__main__":
    sys.exit(main())
