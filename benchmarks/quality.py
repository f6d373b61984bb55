"""Recall of every method on every set, through `sag ingest` and `open_release`; fails below a stored floor.

    python benchmarks/quality.py [--small] [--sets musique,2wiki] [--methods sag,bm25] [--cache DIR] [--keep-floors]

R@k: share of gold among the first k distinct documents, or of evidence chunks among the first k chunks. `3000`: share
of evidence sentences within the first 3,000 returned characters. Differences are paired, with bootstrap intervals.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
from sets import SETS, SMALL, Question, QuestionSet, write_source  # noqa: E402

from sag_retrieval import Release, open_release  # noqa: E402
from sag_retrieval.evaluation.intervals import paired_difference  # noqa: E402

CUTS = (2, 5, 10)
DEPTH = 60
BUDGET = 3000
FLOORS = Path(__file__).parent / "floors.json"
METHODS = ("bm25", "dense", "hybrid", "bridge", "sag-literal", "sag")


@dataclass
class Outcome:
    """What one method reached on one set, per question."""

    recall: dict[int, dict[str, float]] = field(default_factory=lambda: {cut: {} for cut in CUTS})
    all_gold: dict[str, float] = field(default_factory=dict)
    in_budget: dict[str, float] = field(default_factory=dict)

    def means(self) -> dict[str, float]:
        """Percent, by measure."""
        found = {f"R@{cut}": 100 * float(np.mean(list(each.values()))) for cut, each in self.recall.items()}
        found["all@5"] = 100 * float(np.mean(list(self.all_gold.values())))
        if self.in_budget:
            found[str(BUDGET)] = 100 * float(np.mean(list(self.in_budget.values())))
        return found


def ingested(name: str, questions: QuestionSet, cache: Path) -> Release:
    """The release of a set, made once per cache."""
    home = cache / name
    if not (home / "releases").is_dir():
        source = cache / "sources" / f"{name}.jsonl"
        write_source(questions.lines, source)
        command = [sys.executable, "-m", "sag_retrieval.cli", "ingest", str(source)]
        environment = os.environ | {
            "SAG_HOME": str(home),
            "SAG_CHAT_MODEL": "offline",
            "SAG_EMBEDDING_MODEL": "hashing",
        }
        subprocess.run(command, env=environment, cwd=cache, check=True, stdout=subprocess.DEVNULL)
    return open_release(home)


def gold_chunks(release: Release, question: Question) -> set[str]:
    """Chunks that hold evidence of a question."""
    chunks, arrays = release.index.rows["chunks"], release.index.arrays
    documents = release.index.rows["documents"]["document_id"].to_pylist()
    found = set()
    for document, start, end in question.spans:
        row = documents.index(document)
        first, last = (int(place) for place in arrays.document_chunks[row : row + 2])
        for chunk in chunks.slice(first, last - first).select(["chunk_id", "start", "end"]).to_pylist():
            if chunk["start"] < end and chunk["end"] > start:
                found.add(chunk["chunk_id"])
    return found


def judge(release: Release, question: Question, method: str, outcome: Outcome) -> None:
    """Ask one question and add what came of it."""
    hits = release.search(question.text, top_k=DEPTH, method=method).hits
    if question.spans:
        gold, ranked = gold_chunks(release, question), [hit.chunk_id for hit in hits]
        outcome.in_budget[question.question_id] = _within_budget(question, hits)
    else:
        gold, ranked = set(question.documents), list(dict.fromkeys(hit.document_id for hit in hits))
    for cut in CUTS:
        outcome.recall[cut][question.question_id] = len(gold.intersection(ranked[:cut])) / len(gold)
    outcome.all_gold[question.question_id] = float(gold <= set(ranked[:5]))


def _within_budget(question: Question, hits: Sequence) -> float:  # type: ignore[type-arg]
    left, found = BUDGET, set()
    for hit in hits:
        kept = min(len(hit.text), left)
        for place, (document, start, end) in enumerate(question.spans):
            overlap = min(end, hit.start + kept) - max(start, hit.start)
            if hit.document_id == document and 2 * overlap >= end - start:
                found.add(place)
        left -= kept
        if left <= 0:
            break
    return len(found) / len(question.spans)


def measure(name: str, questions: QuestionSet, methods: Sequence[str], cache: Path) -> dict[str, Outcome]:
    """Every method on one set."""
    release = ingested(name, questions, cache)
    outcomes = {}
    for method in methods:
        outcomes[method] = Outcome()
        for question in questions.questions:
            judge(release, question, method, outcomes[method])
    return outcomes


def show(name: str, outcomes: dict[str, Outcome], count: int) -> None:
    """One block a set: a line a method, with the difference at R@5 to BM25."""
    print(f"{name} ({count} questions)")
    base = outcomes.get("bm25")
    for method, outcome in outcomes.items():
        figures = "  ".join(f"{measure} {value:5.1f}" for measure, value in outcome.means().items())
        line = f"  {method:12} {figures}"
        if base is not None and outcome is not base:
            gain = paired_difference(outcome.recall[5], base.recall[5])
            line += f"   R@5 − BM25 {100 * gain.mean:+.1f} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"
        print(line, flush=True)


def broken(name: str, outcomes: dict[str, Outcome]) -> list[str]:
    """Floors that were not reached, in words."""
    floors = json.loads(FLOORS.read_text()).get(name, {})
    return [
        f"{name}, {method}: {measure} {outcomes[method].means()[measure]:.1f} is below its floor {floor}"
        for method, listed in floors.items()
        if method in outcomes
        for measure, floor in listed.items()
        if outcomes[method].means()[measure] < floor
    ]


def main() -> int:
    """Measure, print, and compare with the floors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="two small sets, for every run")
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    chosen = parser.parse_args()
    sets = SMALL if chosen.small else SETS
    unknown = set(chosen.sets.split(",") if chosen.sets else ()) - set(SETS | SMALL)
    if unknown:
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    faults, figures = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        cache = (chosen.cache or Path(scratch)).resolve()
        cache.mkdir(parents=True, exist_ok=True)
        for name in chosen.sets.split(",") if chosen.sets else sets:
            questions = (SETS | SMALL)[name]()
            outcomes = measure(name, questions, chosen.methods.split(","), cache)
            show(name, outcomes, len(questions.questions))
            faults += broken(name, outcomes)
            figures[name] = {method: outcome.means() for method, outcome in outcomes.items()}
    if chosen.out:
        chosen.out.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(faults) or "every floor holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
