"""Texts that give orders to a model that obeys: no row of another document, none that its own text does not support."""

import pytest

from sag_pipeline.extract.support import SupportingText
from tests.support.obedient_model import Attack, attacks, run_attack

ALL = attacks()
OF_EACH = list({(attack.step, attack.language): attack for attack in ALL}.values())
"""One attack on each step in each language."""
LONG = {"sections", "section_summaries"}
"""Steps that read a document long enough for many calls: by default one attack each in each language is tried."""


def marks_of(attack):
    return pytest.mark.slow if attack.step in LONG and attack not in OF_EACH else ()


@pytest.mark.parametrize(
    ("attack", "mixed"),
    [
        *(pytest.param(attack, True, id=f"mixed sources-{attack.id}", marks=marks_of(attack)) for attack in ALL),
        *(pytest.param(attack, False, id=f"own calls-{attack.id}", marks=pytest.mark.slow) for attack in OF_EACH),
    ],
)
def test_a_model_that_obeys_a_text_makes_no_row_of_it(attack: Attack, mixed):
    outcome = run_attack(attack, mixed=mixed)

    assert outcome.obeyed
    assert outcome.foreign == outcome.unsupported == []
    assert outcome.rows


@pytest.mark.slow
def test_without_checks_the_same_attacks_make_rows(monkeypatch: pytest.MonkeyPatch):
    for check, passed in (("fault", ""), ("lacks", ""), ("names", True)):
        monkeypatch.setattr(SupportingText, check, lambda *_, passed=passed: passed)
    first = {attack.step: attack for attack in ALL}

    assert {step for step, attack in first.items() if not run_attack(attack).unsupported} == set()


def test_every_step_is_attacked_in_both_languages():
    assert len(ALL) == len({attack.id for attack in ALL}) >= 60
    assert len(OF_EACH) == 14
