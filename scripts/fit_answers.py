"""Fit the scorer of answers on judged questions, and write its weights.

    python -m scripts.fit_answers --cache FOLDER [--write]

Each question is searched in a release without a model; its candidates are sentences, and those that hold what is judged
to answer are right. It is asked four times: as it is, without the sentences that answer, without their documents, and
of a release of other texts; of the last three nothing is right. Held-out questions of the benchmarks are left out. A
logistic model learns which candidate is right; then a line through its best score of each question makes that a
probability. Without `--write`, it says how well a model fitted on all other sets answers each set.
"""

import argparse
import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize

from benchmarks import answers, piles, revisions
from benchmarks.sets import SETS, read, write_source
from sag_retrieval import Release, open_release
from sag_retrieval.ask import scorer
from sag_retrieval.ask.fast import answer_part
from sag_retrieval.ask.question import question_parts, release_weights
from sag_retrieval.ask.scorer import Candidate
from sag_retrieval.ask.sentences import LEAST_ANSWER
from sag_retrieval.core.types import Floats
from sag_retrieval.language.words import fold, is_cjk, tokens

WRITTEN: Final = Path(scorer.__file__).with_name("answer_weights.json")
MOST: Final = 260
"""Questions of a set and language."""
SEEDS: Final = (100, 101)
"""Of the piles that revise themselves; the benchmark draws others."""
RIDGE: Final = 1.0
FOR: Final = {"cover", "focus", "own focus", "own names", "score", "states", "states softly", "day"}
AGAINST: Final = {"states not", "states softly not", "day not", "year not"}
"""Features that can only speak for an answer, and against it; questions worded by a pattern say otherwise of some."""
Bounds = Sequence[tuple[float | None, float | None]] | None
UNANSWERABLE: Final = 0.3
"""Share of questions without an answer for which probabilities are true."""
STRANGE: Final = {"cmrc": "dragonball", "locomo": "dragonball", "musique": "locomo", "business": "musique"}
"""Which set has nothing to say on the questions of another."""
_SAME: Final = 0.6
_PASSAGES: Final = 20


@dataclass(frozen=True)
class Judged:
    """A question and what tells a sentence that answers it."""

    name: str
    text: str
    documents: frozenset[str]
    is_right: Callable[[str], bool]


@dataclass(frozen=True)
class Pool:
    """The candidates of a question: their features, and which are right."""

    set_name: str
    features: Floats
    right: Floats
    is_answerable: bool


def overlaps(text: str, pieces: Iterable[str]) -> bool:
    """Whether a sentence tells one of some judged pieces: most terms of the shorter one are those of the other."""
    own = set(tokens(text))
    for piece in pieces:
        other = set(tokens(piece))
        if own and other and len(own & other) >= _SAME * min(len(own), len(other)) and len(own) >= len(other) / 4:
            return True
    return False


def holds(text: str, wanted: Iterable[str]) -> bool:
    """Whether a sentence holds one of some answers."""
    return any(fold(each) in fold(text) for each in wanted)


def of_answers(name: str) -> Iterator[Judged]:
    """The questions of `benchmarks/answers.py`, without held-out ones."""
    held_out = {q.id for q in answers.choose(answers.candidates()) if not q.is_for_development}
    given = {"business": answers.business, "demo": answers.demo, "dragonball": answers.dragonball}[name]()
    for asked in given:
        if asked.id in held_out or (name == "business" and not asked.is_for_development):
            continue
        pieces = [piece for each in asked.evidence for piece in each]

        def is_right(text: str, asked: Any = asked, pieces: Sequence[str] = pieces) -> bool:  # noqa: ANN401
            return overlaps(text, pieces) if pieces else bool(asked.answers) and answers.holds(asked, text)

        yield Judged(asked.id, asked.text, frozenset(asked.documents), is_right)


def cmrc() -> Iterator[Judged]:
    """Questions on Chinese passages; the sentence with the answer is right."""
    rows = read("cmrc2018_trial.questions")
    for row in rows[rows.question.str.strip() != ""].itertuples():
        yield Judged(row.qid, row.question, frozenset(row.gold_doc_ids), lambda text, own=row.answers: holds(text, own))


def musique() -> Iterator[Judged]:
    """The first steps of questions of several steps."""
    held_out = {q.id for q in answers.choose(answers.candidates()) if not q.is_for_development}
    left_out = answers._left_out()  # noqa: SLF001
    for row in read("musique_train.questions").itertuples():
        for step in json.loads(row.decomposition):
            if row.qid in held_out or {">>", "#"} & {*step["question"].replace("#", " # ").split()}:
                continue
            if step["support_doc_id"] not in left_out:
                own = [step["answer"]]
                document = frozenset([step["support_doc_id"]])
                yield Judged(
                    f"{row.qid}-{step['id']}", step["question"], document, lambda text, own=own: holds(text, own)
                )


def locomo() -> Iterator[Judged]:
    """Questions on conversations; the turn that is named as evidence is right."""
    turns = dict(read("locomo.turns")[["doc_id", "text"]].itertuples(index=False))
    for row in read("locomo.questions").itertuples():
        pieces = [" ".join(turns[each].split()) for each in row.gold_doc_ids if each in turns]
        sessions = frozenset(each.replace("/D", "-").partition(":")[0] for each in row.gold_doc_ids)
        is_none = row.category == 5  # noqa: PLR2004  adversarial: the evidence is of somebody else
        right: Callable[[str], bool] = (lambda _: False) if is_none else (lambda text, own=pieces: overlaps(text, own))
        if pieces:
            yield Judged(row.qid, row.question, frozenset() if is_none else sessions, right)


def revising(pile: revisions.Pile) -> Iterator[Judged]:
    """Questions on facts that were revised; each statement of the fact is right."""
    facts, files = dict[str, set[str]](), dict[str, set[str]]()
    for file, statements in pile.said.items():
        for each in statements:
            files.setdefault(each.fact, set()).add(file)
            facts.setdefault(each.fact, set()).update([each.text, " ".join(each.row or ())])
    for number, asked in enumerate(pile.asked):
        every = {value for each in pile.asked if each.fact == asked.fact for value in each.right + each.wrong}
        own = [text for text in facts.get(asked.fact, ()) if text]

        def is_right(text: str, own: Sequence[str] = own, every: Iterable[Any] = every) -> bool:
            return overlaps(text, own) and any(value.stands_in(text) for value in every)

        yield Judged(f"{number}", asked.text, frozenset(files.get(asked.fact, ())), is_right)


def of_pile(parts: Sequence[piles.Pile]) -> Iterator[Judged]:
    """Questions of `benchmarks/piles.py` that sentences answer, or nothing; without held-out ones."""
    for asked in (each for part in parts for each in part.asked if not each.is_held_out):
        if asked.form in ("said", "none") and asked.kind != "global":
            yield Judged(asked.name, asked.text, frozenset({"?"} if asked.right else ()),
                         lambda text, own=asked.right: holds(text, own))  # fmt: skip


def pools_of(set_name: str, release: Release, questions: Iterable[Judged], *, is_strange: bool) -> Iterator[Pool]:
    """The candidates of questions; of a strange release nothing is right."""
    weigh = release_weights(release.index)
    for asked in questions:
        for part in question_parts(asked.text)[:1]:
            found = release.search(asked.text, top_k=2 * _PASSAGES)
            hits = list(found.hits)
            answers_not = [hit for hit in hits if not asked.documents or hit.document_id not in asked.documents]
            rounds = (
                [hits[:_PASSAGES]]
                if is_strange or not asked.documents or "?" in asked.documents
                else [hits[:_PASSAGES], answers_not[:_PASSAGES]]
            )
            for at, shown in enumerate(rounds):
                seen: list[Candidate] = []

                def watch(_: str, candidates: Sequence[Candidate], seen: list[Candidate] = seen) -> list[float]:
                    seen.extend(candidates)
                    return [0.0] * len(candidates)

                answer_part(part, shown, keys=found.keys, weigh=weigh, question=asked.text, scorer=watch)
                right = [float(not is_strange and not at and asked.is_right(each.text)) for each in seen]
                if seen:
                    table = np.array([list(each.features.values()) for each in seen])
                    NAMES[:] = list(seen[0].features)
                    yield Pool(set_name, table, np.array(right), bool(asked.documents) and not is_strange and not at)


NAMES: list[str] = []


def drawn(questions: Iterable[Judged], most: int = MOST) -> list[Judged]:
    """At most some questions of each language, by the hash of their names."""
    found = sorted(questions, key=lambda each: hashlib.sha256(f"fit {each.name}".encode()).hexdigest())
    return [each for own in (True, False) for each in [q for q in found if is_cjk(q.text) is own][:most]]


def sets(cache: Path) -> Iterator[tuple[str, Callable[[], Release], list[Judged]]]:
    """Name, release and questions of each set."""
    for name in ("business", "demo", "dragonball"):
        yield name, lambda name=name: answers.released(name, cache / "answers"), drawn(of_answers(name))
    yield "musique", lambda: answers.released("musique", cache / "answers"), drawn(musique())
    for name, questions, lines in (("cmrc", cmrc, lambda: SETS["cmrc"]().lines), ("locomo", locomo, _sessions)):
        yield name, lambda name=name, lines=lines: _ingested(cache, name, lines()), drawn(questions())
    for name, parts in piles.piles().items():
        source = cache / "piles" / f"{name}-files"
        if not source.is_dir():
            source.mkdir(parents=True)
            for part in parts:
                part.write(source)
        yield "piles", partial(_opened, cache / "piles" / name, source), list(of_pile(parts))
    yield from _revising(cache)


def _revising(cache: Path) -> Iterator[tuple[str, Callable[[], Release], list[Judged]]]:
    for half in "ab":
        words = revisions.words_of(half)
        for trade in words["trade"]:
            for seed in SEEDS:
                name = f"{half}-{trade['name']}-{trade['language']}-{seed}"
                folder = cache / "train" / name
                shutil.rmtree(folder / "documents", ignore_errors=True)
                drawn_by = random.Random(name)  # noqa: S311  a pile is drawn by its name
                pile = revisions.Pile(words[trade["language"]], trade, drawn_by, folder / "documents")
                pile.fill()
                yield f"revisions {half}", partial(_opened, folder / "home", pile.folder), list(revising(pile))


def _sessions() -> list[dict[str, Any]]:
    rows = []
    for (conversation, session), own in read("locomo.turns").groupby(["conv", "session"], sort=True):
        text = "\n".join(f"{row.speaker}: {' '.join(str(row.text).split())}" for row in own.itertuples())
        title = f"Conversation {conversation}, session {session}, {own.session_time.iloc[0]}"
        rows.append({"id": f"{conversation}-{session}", "title": title, "text": text})
    return rows


def _ingested(cache: Path, name: str, lines: list[dict[str, Any]]) -> Release:
    source = cache / "train" / f"{name}.jsonl"
    write_source(lines, source)
    return _opened(cache / "train" / name / "home", source)


def _opened(home: Path, source: Path) -> Release:
    return open_release(home) if (home / "releases").is_dir() else revisions.ingested(source, home)


def without_right(pool: Pool, names: Sequence[str]) -> Pool | None:
    """The candidates of a question but those that answer; None where nothing else is left."""
    table = pool.features[pool.right == 0].copy()
    if not pool.right.any() or not len(table):
        return None
    focus, best, lead = (names.index(name) for name in ("focus", "best focus", "lead"))
    table[:, best] = table[:, focus].max()
    table[:, lead] = table[:, focus] - table[:, best]
    return Pool(pool.set_name, table, np.zeros(len(table)), is_answerable=False)


def fitted(pools: Sequence[Pool], names: Sequence[str]) -> dict[str, float]:
    """The weight of each feature, and the bias under an empty name.

    Every set counts the same, and so does every question of a set.
    """
    table = np.vstack([pool.features for pool in pools])
    right = np.concatenate([pool.right for pool in pools])
    middle, spread = table.mean(0), table.std(0) + 1e-6
    known = np.column_stack([(table - middle) / spread, np.ones(len(table))])
    share = np.concatenate(
        [np.full(len(p.right), s / len(p.right) ** 0.5) for p, s in zip(pools, _shares(pools), strict=True)]
    )
    share *= len(pools) / share.sum()
    bounds = [(0, None) if name in FOR else (None, 0) if name in AGAINST else (None, None) for name in (*names, "")]
    found = _logistic(known, right, share, np.append(np.full(len(names), RIDGE), 0.0), bounds)
    raw = found[:-1] / spread
    slope, shift = _line(pools, [pool.features @ raw for pool in pools])
    weights = dict(zip(names, np.round(slope * raw, 4).tolist(), strict=True))
    return weights | {"": round(float(shift), 4)}


def _shares(pools: Sequence[Pool]) -> Floats:
    counts = Counter(pool.set_name for pool in pools)
    return np.array([counts[pool.set_name] ** -0.5 for pool in pools])


def _line(pools: Sequence[Pool], scores: Sequence[Floats]) -> Floats:
    """Slope and shift by which the best score of a question becomes the log odds of its being right."""
    best = np.array([own.max() for own in scores])
    right = np.array([pool.right[own.argmax()] for pool, own in zip(pools, scores, strict=True)])
    given = np.array([pool.is_answerable for pool in pools])
    share = _shares(pools)
    share[given] *= (1 - UNANSWERABLE) / share[given].sum()
    share[~given] *= UNANSWERABLE / share[~given].sum()
    return _logistic(np.column_stack([best, np.ones(len(best))]), right, share * len(pools), np.zeros(2))


def _logistic(known: Floats, right: Floats, share: Floats, ridge: Floats, bounds: Bounds = None) -> Floats:
    def loss(weights: Floats) -> tuple[float, Floats]:
        odds = known @ weights
        error = share * (np.logaddexp(0, odds) - right * odds)
        slope = known.T @ (share * (1 / (1 + np.exp(-odds)) - right))
        return float(error.sum() + (ridge * weights**2).sum() / 2), slope + ridge * weights

    found: Floats = minimize(loss, np.zeros(known.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def told(weights: Mapping[str, float], names: Sequence[str], pools: Sequence[Pool]) -> str:
    """How often the best candidate is right, and what share is answered rightly or wrongly at the bound."""
    of, answered, wrong, first = np.array([weights[name] for name in names]), 0, 0, 0
    for pool in pools:
        odds = pool.features @ of + weights[""]
        is_right, is_shown = pool.right[odds.argmax()] > 0, odds.max() >= np.log(LEAST_ANSWER / (1 - LEAST_ANSWER))
        first, answered, wrong = first + is_right, answered + (is_shown and is_right), wrong + (is_shown > is_right)
    every = max(1, sum(pool.is_answerable for pool in pools))
    shares = f"first right {first / every:.0%}, answered {answered / every:.0%}, wrong {wrong / len(pools):.0%}"
    return f"{len(pools):5} pools: {shares}"


def main() -> None:
    """Extract the candidates of every set, fit, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, help="where releases are kept between runs")
    parser.add_argument("--write", action="store_true", help="write the weights")
    given = parser.parse_args()
    every = list(sets(given.cache))
    opened = {name: opening for name, opening, _ in every}
    pools: list[Pool] = []
    for name, opening, questions in every:
        with opening() as release:
            pools.extend(pools_of(name, release, questions, is_strange=False))
        if name in STRANGE:
            with opened[STRANGE[name]]() as release:
                pools.extend(pools_of(name, release, questions[::3], is_strange=True))
    fit(pools, list(NAMES), is_written=given.write)


def fit(pools: Sequence[Pool], names: Sequence[str], *, is_written: bool) -> None:
    """Fit on all pools but those whose answer was not found; print how each set fares by the others, or write."""
    pools = [pool for pool in pools if pool.right.any() or not pool.is_answerable]
    pools += [less for pool in pools if (less := without_right(pool, names))]
    for name in [] if is_written else sorted({pool.set_name for pool in pools}):
        others = fitted([pool for pool in pools if pool.set_name != name], names)
        print(f"{name:12}", told(others, names, [pool for pool in pools if pool.set_name == name]))
    weights = fitted(pools, names)
    print(f"{'all, fitted':12}", told(weights, names, pools))
    if is_written:
        digest = hashlib.sha256(b"".join(np.column_stack([p.features, p.right]).round(6).tobytes() for p in pools))
        WRITTEN.write_text(
            json.dumps({"fitted on": digest.hexdigest(), "weights": weights}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
