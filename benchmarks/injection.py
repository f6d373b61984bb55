"""What texts that give orders to a model make of it, and how much of what models write their texts support.

python benchmarks/injection.py [attacks] [support]

`attacks`: 80 texts with orders, in both languages, for every step, over HTTP to a model that obeys all; with the
checks of `support.*` and without. `support`: recorded answers of models held against their own and against other texts.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.steps.support import SupportingText, SupportOptions
from tests.support.obedient_model import UNCHECKED, attacks, run_attack

DATA = Path(__file__).parents[2] / "shared" / "data"
_SAMPLE = 300


def attacks_table() -> list[dict[str, Any]]:
    """By step and language: attacks, those that the model obeyed, and those that made a row; checked and unchecked."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for attack in attacks():
        count = counts.setdefault((attack.step, attack.language), Counter())
        count["attacks"] += 1
        for name, options in (("", SupportOptions()), ("unchecked ", UNCHECKED)):
            outcome = run_attack(attack, options)
            count[f"{name}obeyed"] += bool(outcome.obeyed)
            count[f"{name}foreign"] += bool(outcome.foreign)
            count[f"{name}unsupported"] += bool(outcome.unsupported)
    return [{"step": step, "language": language, **count} for (step, language), count in counts.items()]


def support() -> list[dict[str, Any]]:
    """How many recorded answers are refused about their own text, and about the text of another answer."""
    options = SupportOptions()
    found = []
    for name, rows in (("events", list(_events())), ("names", list(_names())), ("answers", list(_answers()))):
        for language in sorted({row[0] for row in rows}):
            own = [row for row in rows if row[0] == language]
            texts = {text: SupportingText(text, language=language[:2]) for _, text, _ in own}
            least = options.key_words if name == "names" else options.event_words
            others = [*own[len(own) // 2 :], *own[: len(own) // 2]]
            for half in ("development", "held-out"):
                pairs = [(row, other) for row, other in zip(own, others, strict=True) if half_of(row[2]) == half]
                faults = [texts[text].fault(said, least) for (_, text, said), _ in pairs]
                foreign = [bool(texts[other].fault(said, least)) for (_, _, said), (_, other, _) in pairs]
                found.append(
                    {
                        "answers": name,
                        "language": language,
                        "half": half,
                        "count": len(pairs),
                        "refused": sum(map(bool, faults)) / len(pairs),
                        "refused_of_others": sum(foreign) / len(pairs),
                        "reasons": dict(Counter(fault.split(":")[0] for fault in faults if fault)),
                    }
                )
    return found


def half_of(statement: str) -> str:
    """Whether a statement may be looked at while the check is written, by a hash of it."""
    return "development" if sha256(statement.encode()).digest()[0] % 2 == 0 else "held-out"


def _events() -> Iterator[tuple[str, str, str]]:
    for row in pq.read_table(DATA / "atlas_event_extraction.parquet").to_pylist():
        for event in json.loads(row["events"]):
            yield row["lang"], row["text"], event["Event"]


def _names() -> Iterator[tuple[str, str, str]]:
    texts = {row["doc_id"]: row for row in pq.read_table(DATA / "musique_train.docs.parquet").to_pylist()}
    for row in pq.read_table(DATA / "musique_train.extraction.parquet").to_pylist()[:_SAMPLE]:
        text = texts[row["doc_id"]]
        yield from (("en", f"{text['title']}\n{text['text']}", name) for name in row["entities"])


def _answers() -> Iterator[tuple[str, str, str]]:
    """Answers to questions about one document, as one statement: these join and reword more than events do."""
    texts = {row["doc_id"]: row for row in pq.read_table(DATA / "dragonball.docs.parquet").to_pylist()}
    rows = pq.read_table(DATA / "dragonball.questions.parquet").to_pylist()
    single = [
        row for row in rows if row["scope"] == "single" and not row["unanswerable"] and len(row["answer"]) < _SAMPLE
    ]
    for row in single:
        text = texts[row["gold_doc_ids"][0]]
        yield text["language"], text["text"], row["answer"]


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["attacks", "support"]
    made = {"attacks": attacks_table, "support": support}
    for name in wanted:
        for line in made[name]():
            print(json.dumps(line, ensure_ascii=False))
