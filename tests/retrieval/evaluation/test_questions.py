"""Questions are read line by line, every fault with its line."""

import json

import pytest

from sag_retrieval.core.errors import QueryError, SourceError
from sag_retrieval.evaluation.questions import Question, locate_evidence, read_questions

TEXTS = {"a.md": "It is Monday. Bread costs 3 euros.", "b.csv": "| Acme | pump | 93 |"}


def test_faulty_lines_can_be_left_out_and_told(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "Who?"}\n{"question": ""}\nnot JSON\n', encoding="utf-8")
    told: list[str] = []

    questions = read_questions(path, on_fault=told.append)

    assert [one.question for one in questions] == ["Who?"]
    assert [fault.split(":")[0] for fault in told] == ["line 2", "line 3"]


def test_evidence_is_a_text_a_sentence_of_a_document_or_a_row_by_its_cells(tmp_path):
    path = tmp_path / "questions.jsonl"
    pieces = ["bare", {"document": "a.md", "text": "said"}, {"document": "b.csv", "text": ["Acme", 93]}]
    path.write_text(json.dumps({"question": "Who?", "evidence": pieces}) + "\n", encoding="utf-8")

    (question,) = read_questions(path)

    assert [(piece.document, piece.text) for piece in question.evidence] == [
        ("", ("bare",)),
        ("a.md", ("said",)),
        ("b.csv", ("Acme", "93")),
    ]


def test_a_question_without_gold_documents_and_answers_is_unanswerable(tmp_path):
    path = tmp_path / "questions.jsonl"
    lines = [{"question": "Who?", "gold_documents": [], "answers": []}, {"question": "Who?", "gold_documents": ["a"]}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    assert [question.is_unanswerable for question in read_questions(path)] == [True, False]


def test_a_quote_of_a_document_gets_its_place_and_the_rest_stays_as_it_is():
    pieces = [
        {"document": "a.md", "text": "bread  costs 3 Euros"},
        {"document": "a.md", "start": 0, "end": 12},
        {"document": "b.csv", "text": ["Acme", "93"]},
        {"document": "gone.md", "text": "said"},
        "bare",
    ]

    (question,) = locate_evidence([Question(question="Who?", evidence=pieces)], TEXTS.get)

    assert [(piece.start, piece.end) for piece in question.evidence] == [(14, 33), (0, 12), *[(None, None)] * 3]


@pytest.mark.parametrize(
    ("piece", "fault"),
    [
        ({"document": "a.md", "text": "Bread costs 4 euros"}, "quotes 'Bread costs 4 euros', which is not in its text"),
        ({"document": "b.csv", "text": ["Acme", "94"]}, "quotes '94'"),
        ({"document": "a.md", "start": 30, "end": 99}, "ends at 99, but the text has 34 characters"),
    ],
)
def test_evidence_that_a_document_does_not_hold_is_refused_with_what_to_do(piece, fault):
    with pytest.raises(QueryError) as refused:
        locate_evidence([Question(id="q7", question="Who?", evidence=[piece])], TEXTS.get)

    assert fault in str(refused.value)
    assert "question 'q7'" in str(refused.value)
    assert "copy it from `release.document(" in str(refused.value)


@pytest.mark.parametrize("piece", [{"document": "a"}, {"document": "a", "start": 3}, {"start": 0, "end": 3},
                                   {"document": "a", "start": 3, "end": 3}])  # fmt: skip
def test_evidence_is_a_text_or_a_whole_place(tmp_path, piece):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({"question": "Who?", "evidence": [piece]}) + "\n", encoding="utf-8")

    with pytest.raises(SourceError, match=r"line 1: evidence\.0: evidence"):
        read_questions(path)
