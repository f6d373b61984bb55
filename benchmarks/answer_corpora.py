"""Documents and questions with right answers, by set, for the measures that ask a language model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kinds import business
from sets import DATA, SETS, QuestionSet, read

from sag_retrieval.evaluation import Question

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
