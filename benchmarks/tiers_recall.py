"""Recall of the method `tiers` with the communities of an ingest, without them, and with keys of one type.

    python benchmarks/tiers_recall.py [--sets musique,dragonball-zh,dragonball-en] [--cache FOLDER] [--every 5]

Every set is ingested offline by `sag ingest`, which makes the communities. `--every` takes one DragonBall document of
this many. Prints R@2, R@5 and R@10 by half (questions are divided by the hash of their id), and the paired difference
at R@5 to `tiers` without communities with its 95 % interval.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from judging import DEPTH, Outcome, cached, gain, gold_of, ingested, spoken  # noqa: E402
from sets import SETS, Question, QuestionSet, dragonball  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.search.method import Method, Query  # noqa: E402
from sag_retrieval.search.registry import method_named  # noqa: E402
from sag_retrieval.tiers.method import SEARCH, tiers_method  # noqa: E402

WITHOUT = "tiers, no communities"
HALVES = {"developer": False, "held-out": True}


def ways(release: Release) -> dict[str, Method]:
    """Each way to search, by its label."""
    keys = replace(SEARCH, categories="key:person")
    has_persons = "person" in set(release.sql("SELECT DISTINCT key_type FROM keys").to_pandas()["key_type"])
    return {
        "bm25": method_named("bm25"),
        WITHOUT: tiers_method(),
        "tiers": tiers_method(home=release.path),
        **({"tiers, key:person": tiers_method(keys, home=release.path)} if has_persons else {}),
    }


def outcome(release: Release, method: Method, questions: list[Question], gold: dict[str, set[str]]) -> Outcome:
    """Recall of every question: of chunks with evidence where it is marked, else of documents."""
    found, chunks = Outcome(), release.index.rows["chunks"]
    for question in questions:
        column = "chunk_id" if question.spans else "document_id"
        rows = method(release.index, Query(question.text, top_k=DEPTH)).chunks
        found.note(
            question.question_id, gold[question.question_id], [*dict.fromkeys(chunks[column].take(rows).to_pylist())]
        )
    return found


def measure(name: str, questions: QuestionSet, cache: Path) -> None:
    """Print a row for each way and half."""
    release = ingested(name, questions, cache)
    gold = gold_of(release, questions.questions)
    count = release.path.joinpath("communities").is_dir()
    print(f"{name}: {release.tables['events']} events, communities: {'made' if count else 'missing'}")
    for half, is_held_out in HALVES.items():
        asked = [q for q in questions.questions if q.question_id in gold and q.is_held_out == is_held_out]
        found = {label: outcome(release, method, asked, gold) for label, method in ways(release).items()}
        for label, each in found.items():
            means = "".join(f"{each.means()[cut]:8.1f}" for cut in ("R@2", "R@5", "R@10"))
            difference = "" if label == WITHOUT else f"   {spoken(gain(each, found[WITHOUT], 5))}"
            print(f"  {half:10}{len(asked):5} {label:24}{means}{difference}", flush=True)


def main() -> None:
    """Measure each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="musique,dragonball-zh,dragonball-en")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--every", type=int, default=5)
    given = parser.parse_args()
    made: dict[str, Callable[[], QuestionSet]] = SETS | {
        f"dragonball-{language}": lambda language=language: dragonball(language, every=given.every)
        for language in ("zh", "en")
    }
    with cached(given.cache) as cache:
        for name in given.sets.split(","):
            measure(name, made[name](), cache)


if __name__ == "__main__":
    main()
