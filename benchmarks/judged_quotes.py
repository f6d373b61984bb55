"""Which statements are worth quoting: what tells them, against 340 statements that a reader judged.

    python benchmarks/judged_quotes.py

34 events of each of ten corpora, made without a model and drawn by the hash of what they say before any gate. A reader
who saw neither code nor any score gave each a mark: 0 not quotable alone, 1 quotable but says little, 2 worth a line in
a report. `judged_quotes.csv` keeps the hash and the mark. Printed for both halves (split by hash) is the area under the
curve of the scorer, with its 95 % bootstrap interval, for *quotable* (1 and 2 against 0) and *worth quoting* (2 against
the others).
The weights of `statements/scorer.py` are fitted on the first half alone; the script says when they are not.
"""

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))

from judged_events import DATA, ROOT, corpora, digest, half_of, of_domain, read_folder
from scipy.optimize import minimize

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.sections import offline_sections
from sag_retrieval.statements.scorer import QUOTABLE, WORTH, Weights, by_features, features

MARKS = Path(__file__).with_name("judged_quotes.csv")
_RIDGE = 3.0
"""Of the logistic model: 186 marks do not carry eleven free weights; 1, 3 and 10 tried by cross-validation."""


OF = {
    name: each.documents
    for name, each in corpora(Path()).items()
    if name in {"reports-zh", "reports-en", "chats-lihua", "law-zh", "law-en"}
} | {
    "demo": lambda: read_folder(ROOT / "data" / "documents"),
    "business": lambda: read_folder(DATA / "business" / "documents"),
    "finance-zh": lambda: of_domain("finance", "zh"),
    "finance-en": lambda: of_domain("finance", "en"),
    "medical-en": lambda: of_domain("medical", "en"),
}


def judged() -> Iterator[tuple[str, str, int]]:
    """Identity, text and mark of each judged event that today's rules still make."""
    with MARKS.open(encoding="utf-8", newline="") as file:
        marks = {(row["corpus"], row["event"]): int(row["mark"]) for row in csv.DictReader(file)}
    for name in sorted({corpus for corpus, _ in marks}):
        seen = set[str]()
        for document in OF[name]():
            chunks = split_chunks(document, offline_sections(document))
            for event in (event for made in offline_events(document, chunks) for event in made):
                identity = digest(name, event.content)
                if (name, identity) in marks and identity not in seen:
                    seen.add(identity)
                    yield identity, event.content, marks[name, identity]


def fitted(texts: Sequence[str], wanted: npt.NDArray[np.bool_]) -> Weights:
    """A logistic model of the features, its weights for the features as they are."""
    table = np.array([features(text) for text in texts])
    middle, spread = table.mean(0), table.std(0) + 1e-9

    def columns(given: Sequence[str]) -> npt.NDArray[np.float64]:
        rows = (np.array([features(text) for text in given]) - middle) / spread
        return np.column_stack([np.ones(len(given)), rows])

    known, sign = columns(texts), np.where(wanted, 1.0, -1.0)

    def loss(weights: npt.NDArray[np.float64]) -> float:
        return float(np.logaddexp(0, -sign * (known @ weights)).sum() + _RIDGE * (weights[1:] ** 2).sum() / 2)

    found = minimize(loss, np.zeros(known.shape[1]), method="L-BFGS-B").x
    raw = found[1:] / spread
    return Weights(round(float(found[0] - raw @ middle), 3), tuple(np.round(raw, 3).tolist()))


def area(scores: npt.NDArray[np.float64], wanted: npt.NDArray[np.bool_]) -> float:
    """The share of pairs of a wanted and another that the scores order rightly; a tie counts half."""
    above = scores[wanted][:, None] - scores[~wanted][None, :]
    return float(np.mean((above > 0) + (above == 0) / 2))


def spread_of(scores: npt.NDArray[np.float64], wanted: npt.NDArray[np.bool_]) -> str:
    """The area with its interval."""
    draws = np.random.default_rng(0).integers(0, len(scores), (1000, len(scores)))
    found = [area(scores[draw], wanted[draw]) for draw in draws if 0 < wanted[draw].sum() < len(draw)]
    low, high = np.quantile(found, (0.025, 0.975))
    return f"{area(scores, wanted):.3f} [{low:.3f}, {high:.3f}]"


def main() -> int:
    """Print the areas of each score on both halves."""
    rows = list(judged())
    texts = [text for _, text, _ in rows]
    marks = np.array([mark for *_, mark in rows])
    is_first = np.array([half_of(identity) == "dev" for identity, *_ in rows])
    first = [text for text, one in zip(texts, is_first, strict=True) if one]
    counts = [int((marks == mark).sum()) for mark in (0, 1, 2)]
    print(f"{len(rows)} of 340 judged statements are made today; marks 0, 1, 2: {counts}")
    judgements = by_features(texts)
    for name, wanted, own in (("quotable", marks > 0, QUOTABLE), ("worth quoting", marks > 1, WORTH)):
        weights = fitted(first, wanted[is_first])
        if weights != own:
            print(f"{name}: the scorer has other weights; fitted: {weights}")
        scores = np.array([getattr(each, "quotable" if own is QUOTABLE else "worth") for each in judgements])
        halves = (spread_of(scores[half], wanted[half]) for half in (is_first, ~is_first))
        print(f"{name:14} first half {next(halves)}   second half {next(halves)}")
        if own is QUOTABLE:
            for label, half in (("first", is_first), ("second", ~is_first)):
                quoted = scores[half] >= 1 / 2
                right = wanted[half]
                precision, kept = right[quoted].mean(), quoted[right].mean()
                print(f"{label} half: {precision:.1%} of what is quoted is quotable, {kept:.1%} of that is quoted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
