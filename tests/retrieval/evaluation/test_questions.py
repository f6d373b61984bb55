"""Questions are read line by line, every fault with its line."""

from sag_retrieval.evaluation.questions import read_questions


def test_faulty_lines_can_be_left_out_and_told(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "Who?"}\n{"question": ""}\nnot JSON\n', encoding="utf-8")
    told: list[str] = []

    questions = read_questions(path, on_fault=told.append)

    assert [one.question for one in questions] == ["Who?"]
    assert [fault.split(":")[0] for fault in told] == ["line 2", "line 3"]
