"""Search in German, French, Spanish, Japanese and Russian: hit@1 and hit@5 of `sag` and of two BM25, by half.

    python benchmarks/languages.py [de fr es ja ru] [--cache DIR] [--misses]

`languages/<code>.txt` holds 40 short documents of each language, a line each, and below each a question in other words;
below every second one stands another question (`??`), written later and never looked at one by one: the part `fresh`.
All firms, persons and places are invented. `bm25` is our method; `own stems` is BM25 with the Snowball stemmer of the
language, for Japanese over pairs of characters. A question's half follows from its id (`sets.is_held_out`).
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import Stemmer

sys.path.insert(0, str(Path(__file__).parent))

from judging import cached, ingested
from sets import Question, QuestionSet

LANGUAGES = {"de": "german", "fr": "french", "es": "spanish", "ja": "", "ru": "russian"}
FOLDER = Path(__file__).parent / "languages"
CUTS = (1, 5)
PARTS = ("dev", "held out", "fresh")
FRESH = PARTS[-1]
_WORD = re.compile(r"\w+")

Ask = Callable[[str], Sequence[str]]


def read_set(language: str) -> QuestionSet:
    """The documents and questions of a language."""
    lines: list[dict[str, str]] = []
    questions: list[Question] = []
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("?"):
            mark, _, text = line.partition(" ")
            name, part = (f"{language}-{len(lines)}", "first") if mark == "?" else (f"{language}-{len(lines)}b", FRESH)
            questions.append(Question(name, text, part, (lines[-1]["id"],)))
        else:
            number = len(lines) + 1
            lines.append({"id": f"{language}-{number}", "title": f"No. {number}", "text": line})
    return QuestionSet(lines, questions)


def own_stems(language: str, texts: dict[str, str]) -> Ask:
    """BM25 over the stems of a language."""
    stemmer = Stemmer.Stemmer(LANGUAGES[language]) if LANGUAGES[language] else None

    def terms(text: str) -> list[str]:
        words = _WORD.findall(text.casefold())
        if stemmer is None:
            return [run[place : place + 2] for run in words for place in range(max(1, len(run) - 1))]
        return [str(word) for word in stemmer.stemWords(words)]

    counts = [Counter(terms(text)) for text in texts.values()]
    lengths = np.array([sum(count.values()) for count in counts])
    spread = Counter(term for count in counts for term in count)

    def ask(question: str) -> Sequence[str]:
        scores = np.zeros(len(counts))
        for term in terms(question):
            idf = np.log(1 + (len(counts) - spread[term] + 0.5) / (spread[term] + 0.5))
            used = np.array([count[term] for count in counts])
            scores += idf * used * 2.2 / (used + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
        names = list(texts)
        return [names[row] for row in np.argsort(-scores, kind="stable")[: max(CUTS)]]

    return ask


def _part(question: Question) -> str:
    return FRESH if question.kind == FRESH else PARTS[question.is_held_out]


def ranks(questions: Sequence[Question], ask: Ask) -> dict[str, int]:
    """Question → the rank of its document; 99 where it is not found."""
    found = {}
    for question in questions:
        ranked = list(dict.fromkeys(ask(question.text)))
        found[question.question_id] = ranked.index(question.documents[0]) + 1 if question.documents[0] in ranked else 99
    return found


def measure(language: str, cache: Path, *, misses: bool) -> bool:
    """Print one language; whether `sag` is not below our BM25 at 5 over all parts."""
    questions = read_set(language)
    release = ingested(f"language-{language}", questions, cache)
    methods: dict[str, Ask] = {
        method: lambda text, method=method: [
            hit.document_id for hit in release.search(text, top_k=20, method=method).hits
        ]
        for method in ("sag", "bm25")
    }
    methods["own stems"] = own_stems(language, {line["id"]: line["text"] for line in questions.lines})
    totals = {}
    for name, ask in methods.items():
        found = ranks(questions.questions, ask)
        parts = [[q for q in questions.questions if _part(q) == part] for part in PARTS]
        cells = [
            f"{title} ({len(part)}): "
            + " / ".join(f"{100 * np.mean([found[q.question_id] <= cut for q in part]):5.1f}" for cut in CUTS)
            for title, part in zip(PARTS, parts, strict=True)
        ]
        totals[name] = sum(rank <= max(CUTS) for rank in found.values())
        print(f"{language}  {name:10} {'   '.join(cells)}", flush=True)
        if misses and name == "sag":
            print(
                "\n".join(
                    f"    {q.question_id} {found[q.question_id]} {q.text}" for q in parts[0] if found[q.question_id] > 1
                )
            )
    return totals["sag"] >= totals["bm25"]


def main() -> int:
    """Read the command line; 1 where `sag` is below BM25 in a language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("languages", nargs="*", default=list(LANGUAGES), help="codes; all five without any")
    parser.add_argument("--cache", type=Path, help="keep releases here")
    parser.add_argument("--misses", action="store_true", help="list questions of the first half that `sag` misses at 1")
    chosen = parser.parse_args()
    print("hit@1 / hit@5 in percent")
    with cached(chosen.cache) as cache:
        held = [measure(language, cache, misses=chosen.misses) for language in chosen.languages]
        return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
