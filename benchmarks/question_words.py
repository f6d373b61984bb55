"""What leaving out the words that only ask gains: the same questions with and without them as search terms.

    python benchmarks/question_words.py [--sets manuals,cmrc] [--methods bm25,sag] [--most 200] [--cache DIR]

R@5 with the words of docs/algorithm/search.md §search.2 left out, and the paired difference to keeping them, with its
95 % bootstrap interval; for each language or kind of question and over all. Both halves of the questions are asked.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))
from judging import cached, gain, ingested, measure, spoken  # noqa: E402
from kinds import KINDS  # noqa: E402
from sets import SETS, Question  # noqa: E402

from sag_retrieval import Release  # noqa: E402
from sag_retrieval.search import method as reading  # noqa: E402

CUT = 5


@contextmanager
def keeping_all_words() -> Iterator[None]:
    """Queries are read with every word as a term."""
    rule, reading.without_question_words = reading.without_question_words, str
    try:
        yield
    finally:
        reading.without_question_words = rule


def lines(release: Release, questions: Sequence[Question], methods: Sequence[str]) -> Iterator[str]:
    """A line a method and kind of question."""
    without = measure(release, questions, methods)
    with keeping_all_words():
        kept = measure(release, questions, methods)
    kinds = list(dict.fromkeys(question.kind for question in questions))
    for method in methods:
        for kind in ("all", *kinds) if len(kinds) > 1 else ("all",):
            asked = [question for question in questions if kind in ("all", question.kind)]
            ours, theirs = without[method].of(asked), kept[method].of(asked)
            if ours.all_gold:
                reached = f"({len(ours.all_gold)})  R@{CUT} {ours.means()[f'R@{CUT}']:.1f}"
                yield f"  {method:8} {kind[:24]:24} {reached}   {spoken(gain(ours, theirs, CUT))}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="manuals")
    parser.add_argument("--methods", default="bm25,sag")
    parser.add_argument("--most", type=int, default=200, help="questions of a set")
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    given = parser.parse_args()
    with cached(given.cache) as cache:
        for name in given.sets.split(","):
            asked = KINDS[name](cache) if name in KINDS else SETS[name]()
            print(name)
            release = ingested(name, asked, cache)
            print("\n".join(lines(release, asked.questions[: given.most], given.methods.split(","))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
