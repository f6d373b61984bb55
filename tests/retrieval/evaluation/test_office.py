"""The generated piles of office files quote what their questions ask for, the same on every machine."""

import pytest

pytest.importorskip("lancedb")

from benchmarks.quality import ALL_SETS

PILES = [name for name in ALL_SETS if name.startswith("office-")]


@pytest.mark.parametrize("name", PILES)
def test_every_question_has_one_statement_that_stands_where_its_place_says(name, tmp_path):
    pile = ALL_SETS[name](tmp_path)
    texts = {line["id"]: line["text"] for line in pile.lines}

    quoted = [texts[document][start:end] for question in pile.questions for document, start, end in question.spans]

    assert len(quoted) == len(pile.questions) >= 40
    assert all(text.endswith((".", "。")) and "\n" not in text for text in quoted)
    assert len({question.question_id for question in pile.questions}) == len(pile.questions)
    assert {question.is_held_out for question in pile.questions} == {True, False}
    assert ALL_SETS[name](tmp_path).lines == pile.lines
