"""The halves of the benchmarks, and when a method fails on what was held out."""

import pytest

pytest.importorskip("lancedb")

from benchmarks.unseen import below, lines

EVERY = [f"q{number:02}" for number in range(40)]


def reached(share):
    """Recall of 1 for a share of the questions, of 0 for the others."""
    return {question: float(place < share * len(EVERY)) for place, question in enumerate(EVERY)}


def test_every_script_holds_out_the_same_questions():
    from halves import half_of
    from sets import Question

    held_out = [name for name in EVERY if Question(name, "", "").is_held_out]

    assert held_out == [name for name in EVERY if half_of(name) == "held-out"]
    assert len(EVERY) / 4 < len(held_out) < 3 * len(EVERY) / 4


def test_a_method_that_is_surely_below_a_baseline_fails():
    found = {"sag": reached(0.4), "bm25": reached(0.9), "bm25+dense": reached(0.4)}

    assert [fault.partition(",")[0] for fault in below("talks", found)] == ["talks: sag is significantly below bm25"]


def test_a_method_that_is_level_or_above_passes():
    assert list(below("talks", {"sag": reached(0.9), "bm25": reached(0.9), "bm25+dense": reached(0.2)})) == []


def test_gains_are_told_over_each_baseline_and_over_an_earlier_state():
    said = "\n".join(lines({"sag": reached(0.9), "bm25": reached(0.5)}, {"sag": reached(0.8)}))

    assert "sag − bm25" in said
    assert "+40.0" in said
    assert "sag − before" in said
    assert "+10.0" in said
