"""Questions are read line by line, every fault with its line."""

import json

from sag_retrieval.evaluation.questions import read_questions


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
