"""The piles that revise themselves are the same on every machine, and the scorer counts as its page says."""

import random
from pathlib import Path

import pytest

pytest.importorskip("docx")

from benchmarks.revisions import HALVES, Asked, Pile, Value, verdict, words_of
from sag_retrieval import Answer

OLD, NEW = Value("480 euros", ("480",)), Value("520 euros", ("520",))
PRESENT = Asked("bare-1", "present", "What is the rent?", (NEW,), (OLD,))


@pytest.mark.slow
@pytest.mark.parametrize("half", HALVES)
def test_a_pile_has_27_facts_eleven_of_them_never_revised(half, tmp_path: Path):
    words = words_of(half)
    piles = [Pile(words[t["language"]], t, random.Random(7), tmp_path / str(n)) for n, t in enumerate(words["trade"])]
    for pile in piles:
        pile.fill()

        facts = {each.fact for each in pile.asked}
        said = [(name, each) for name, statements in pile.said.items() for each in statements]
        assert len(facts) == 27
        assert sum(fact.startswith("control") for fact in facts) == 11
        assert all(pile.fact_of(name, each.text) == each.fact for name, each in said)
        assert not any("{" in each.text for each in pile.asked)
        assert {each.name for each in pile.folder.iterdir()} == pile.said.keys()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The rent is 520 euros.", "right"),
        ("The rent is 520 euros instead of 480 euros.", "both"),
        ("The rent is 480 euros. It comes to 520 euros.", "old"),
        ("The rent is 5,200 euros.", "other"),
    ],
)
def test_the_first_sentence_that_names_a_value_decides(text, found):
    assert verdict(PRESENT, Answer("What is the rent?", text, "fast", is_found=True)) == found
    assert verdict(PRESENT, Answer("What is the rent?", text, "fast", is_found=False)) == "refused"
