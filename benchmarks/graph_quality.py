"""Recall of Think-on-Graph, hybrid fusion and the tiers next to `sag` and `bm25`, offline and with a simulated model.

    python benchmarks/graph_quality.py [--sets musique,2wiki] [--cache DIR] [--out FILE]

Every set is ingested offline by `sag ingest`, its communities are made as the asset `communities` makes them, and each
row is one way to search, over the same questions. Differences at R@5 are paired, with 95 % bootstrap intervals.

The model is `tests/support/simulated_judge.py` behind the real HTTP server of the tests, asked through the OpenAI
protocol; calls and tokens a question are those the client counted, `ms` is the median with an answer at once. It is
no language model. `words` matches words of the question with what the prompt shows: less than any real model.
`knowing` knows the answers of the recorded sub-questions (MuSiQue) or the titles of the gold documents (others), but
chooses among what the prompt shows: an upper bound of what judging can add, not a forecast. `half broken`: every
second reply is a server error, prose, cut JSON or another shape; most are mended by asking again. `all broken`: no
reply is ever usable; such a row must equal the one without a model.

Fails if `all broken` differs from the heuristic anywhere, if `half broken` is worse than it beyond noise at R@5, or if
the graph's boost of `hybrid` gains nothing at R@10.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from judging import CUTS, DEPTH, Outcome, cached, gain, ingested, spoken  # noqa: E402
from sets import SETS, Question, QuestionSet, read  # noqa: E402

from sag_retrieval.communities.of_release import release_communities  # noqa: E402
from sag_retrieval.communities.options import ClusterOptions  # noqa: E402
from sag_retrieval.hybrid import SEARCH as HYBRID  # noqa: E402
from sag_retrieval.hybrid import hybrid_method  # noqa: E402
from sag_retrieval.models.open import open_embedder  # noqa: E402
from sag_retrieval.models.openai import OpenAIChat  # noqa: E402
from sag_retrieval.models.protocols import ChatModel  # noqa: E402
from sag_retrieval.models.rate_limits import ChatOptions  # noqa: E402
from sag_retrieval.release.reader import Reader, open_reader  # noqa: E402
from sag_retrieval.search.method import Method, Query  # noqa: E402
from sag_retrieval.search.registry import method_named  # noqa: E402
from sag_retrieval.think_on_graph.method import SEARCH as GRAPH  # noqa: E402
from sag_retrieval.think_on_graph.method import think_on_graph_method  # noqa: E402
from sag_retrieval.tiers.method import SEARCH as TIERS  # noqa: E402
from sag_retrieval.tiers.method import tiers_method  # noqa: E402
from tests.support.chat_server import ChatServer, Script  # noqa: E402
from tests.support.simulated_judge import Landmark, SimulatedJudge, unusable  # noqa: E402
from tests.support.simulated_model import failing  # noqa: E402

QUICK = ChatOptions(first_pause_seconds=0.002, longest_pause_seconds=0.01, tries=3, failures_until_down=1_000_000)
BROKEN = 0.5
Make = Callable[[Path, ChatModel | None], Method]

PLAIN: dict[str, Make] = {
    "bm25": lambda home, _: method_named("bm25", home=home),
    "sag": lambda home, _: method_named("sag", home=home),
    "bm25 + dense": lambda home, _: hybrid_method(replace(HYBRID, kg_boost=0.0), home=home),
    "tiers, no communities": lambda _home, _: tiers_method(),
}
JUDGED: dict[str, Make] = {
    "hybrid": lambda home, chat: hybrid_method(chat=chat, home=home),
    "think-on-graph": lambda home, chat: think_on_graph_method(chat=chat, home=home),
    "tiers": lambda home, chat: tiers_method(chat=chat, home=home),
}
"""Ways that a model may judge; without one the heuristic does."""
ENOUGH = replace(GRAPH, stop_when_enough=True)
VARIANTS: dict[str, Make] = {
    "think-on-graph, enough?": lambda home, chat: think_on_graph_method(ENOUGH, chat=chat, home=home),
    "tiers, llm": lambda home, chat: tiers_method(replace(TIERS, method="llm"), chat=chat, home=home),
}
"""Ways that need a model."""


@dataclass
class Row(Outcome):
    """What one way reached, per question, and what it asked of the model."""

    seconds: list[float] = field(default_factory=list)
    calls: float = 0.0
    tokens: float = 0.0

    def figures(self) -> dict[str, float]:
        """Percent by measure, and cost a question."""
        return self.means() | {"ms": 1e3 * float(np.median(self.seconds)), "calls": self.calls, "tokens": self.tokens}


def asked(reader: Reader, method: Method, questions: list[Question], chat: OpenAIChat | None = None) -> Row:
    """Ask every question."""
    row, ids = Row(), reader.index.rows["chunks"]["document_id"]
    for question in questions:
        start = perf_counter()
        ranking = method(reader.index, Query(question.text, top_k=DEPTH))
        row.seconds.append(perf_counter() - start)
        ranked = list(dict.fromkeys(ids.take(ranking.chunks).to_pylist()))
        row.note(question.question_id, set(question.documents), ranked)
    if chat is not None:
        row.calls = chat.spent.calls / len(questions)
        row.tokens = (chat.spent.input_tokens + chat.spent.output_tokens) / len(questions)
    return row


@contextmanager
def served(script: Script) -> Iterator[OpenAIChat]:
    """A client of the scripted server."""
    with ChatServer(script) as server:
        yield OpenAIChat("simulated", base_url=server.base_url, api_key="none", options=QUICK)


def rows_of(reader: Reader, questions: list[Question], models: Mapping[str, Script]) -> Iterator[tuple[str, Row]]:
    """Every row of one set."""
    home = reader.folder
    for label, make in (PLAIN | JUDGED).items():
        yield label, asked(reader, make(home, None), questions)
    for model, script in models.items():
        for label, make in (JUDGED | ({} if "broken" in model else VARIANTS)).items():
            with served(script) as chat:
                yield f"{label} | {model}", asked(reader, make(home, chat), questions, chat)


def models_of(landmarks: Mapping[str, list[Landmark]]) -> dict[str, Script]:
    """The simulated models by name."""
    words, knowing = SimulatedJudge(), SimulatedJudge(landmarks)
    return {
        "words": words,
        "knowing": knowing,
        "knowing, half broken": failing(knowing, BROKEN),
        "all broken": unusable,
    }


def landmarks_of(name: str, asked_for: QuestionSet) -> dict[str, list[Landmark]]:
    """What the knowing model knows: answers of sub-questions where they are recorded, else titles of gold documents."""
    if name.startswith("musique"):
        rows = read("musique_train.questions")
        return {row.question: _hops(json.loads(row.decomposition)) for row in rows.itertuples()}
    bare = {line["id"]: line["title"].partition(" (")[0] for line in asked_for.lines}
    return {question.text: [Landmark(bare[gold]) for gold in question.documents] for question in asked_for.questions}


def _hops(decomposition: list[dict[str, str]]) -> list[Landmark]:
    marks: list[Landmark] = []
    for hop in decomposition:
        asked_for = hop["question"]
        for number, mark in enumerate(marks, start=1):
            asked_for = asked_for.replace(f"#{number}", mark.name)
        marks.append(Landmark(hop["answer"], asked_for))
    return marks


def show(label: str, row: Row, rows: Mapping[str, Row]) -> None:
    """One line: figures, and the difference at R@5 to `sag`, `bm25` and what the row builds on."""
    figures = row.figures()
    line = f"  {label:38}" + "".join(f"{figures[name]:7.1f}" for name in ("R@2", "R@5", "R@10", "all@5", "ms"))
    line += f"{figures['calls']:7.1f}{figures['tokens']:8.0f}" if figures["calls"] else f"{'':15}"
    for other in ("sag", "bm25", base_of(label)):
        if other in rows and other != label:
            line += f"   − {other} {spoken(gain(row, rows[other], 5))}"
    print(line, flush=True)


def base_of(label: str) -> str:
    """The row that this one adds something to."""
    if "|" in label:
        return label.partition(",")[0].partition(" |")[0]
    return {"hybrid": "bm25 + dense", "tiers": "tiers, no communities"}.get(label, "")


def faults_in(name: str, rows: Mapping[str, Row]) -> list[str]:
    """Where the fallback or the graph fails."""
    boost = gain(rows["hybrid"], rows["bm25 + dense"], 10)
    found = [] if boost.mean > 0 else [f"{name}: the graph's boost gains nothing at R@10"]
    for label, row in rows.items():
        base = rows.get(base_of(label))
        if base is None or "broken" not in label:
            continue
        if "all broken" in label and row.recall != base.recall:
            found.append(f"{name}, {label}: differs from the heuristic")
        if gain(row, base, 5).high < 0:
            found.append(f"{name}, {label}: worse than the heuristic")
    return found


def measure(name: str, cache: Path) -> tuple[dict[str, Row], list[str]]:
    """Ingest, cluster, ask, print."""
    questions = SETS[name]()
    ingested(name, questions, cache)
    reader = open_reader(cache / name, None, open_embedder)
    communities = release_communities(reader, ClusterOptions())
    models = models_of(landmarks_of(name, questions))
    print(f"{name} ({len(questions.questions)} questions, {len(communities.at(0))} communities)")
    print(f"  {'':38}{'R@2':>7}{'R@5':>7}{'R@10':>7}{'all@5':>7}{'ms':>7}{'calls':>7}{'tokens':>8}   R@5 against")
    rows: dict[str, Row] = {}
    for label, row in rows_of(reader, questions.questions, models):
        rows[label] = row
        show(label, row, rows)
    for cut in CUTS:
        print(
            f"  the graph's boost over bm25 + dense, R@{cut}: {spoken(gain(rows['hybrid'], rows['bm25 + dense'], cut))}"
        )
    return rows, faults_in(name, rows)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="musique,2wiki")
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs, as of benchmarks/quality.py")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    chosen = parser.parse_args()
    faults, figures = [], {}
    with cached(chosen.cache) as cache:
        for name in chosen.sets.split(","):
            rows, found = measure(name, cache)
            faults += found
            figures[name] = {label: row.figures() for label, row in rows.items()}
    if chosen.out:
        chosen.out.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(faults) or "every fallback holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
