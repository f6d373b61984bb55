"""The kept figures of recall belong to the code at hand, and no floor is broken or left unmeasured."""

import json

import pytest

pytest.importorskip("lancedb")

from benchmarks.quality import DECIDING, FLOORS, KEPT, LOCAL, SMALL_SETS, digest_of

AGAIN = "run `python benchmarks/quality.py --keep`"


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text())


def test_the_figures_are_those_of_the_code_at_hand(kept):
    assert kept["digest"] == digest_of(), f"{', '.join(DECIDING)} changed since recall was measured: {AGAIN}"


def test_every_local_set_and_every_floor_was_measured(kept):
    measured = {(row["set"], row["method"]) for row in kept["rows"]}
    floors = json.loads(FLOORS.read_text())

    assert {name for name, method in measured if method == "sag"} == set(LOCAL), AGAIN
    assert {(name, method) for name in floors.keys() - SMALL_SETS.keys() for method in floors[name]} <= measured


def test_no_floor_is_broken(kept):
    floors = json.loads(FLOORS.read_text())
    listed = [
        (row["set"], row["method"], measure, row[measure], floor)
        for row in kept["rows"]
        for measure, floor in floors.get(row["set"], {}).get(row["method"], {}).items()
    ]

    assert listed
    assert [each for each in listed if each[3] < each[4]] == []


@pytest.mark.parametrize("folder", DECIDING)
def test_a_change_in_any_deciding_folder_changes_the_digest(tmp_path, folder):
    for each in DECIDING:
        (tmp_path / each).mkdir(parents=True)
        (tmp_path / each / "code.py").write_text("before\n")
    before = digest_of(tmp_path)
    (tmp_path / folder / "__pycache__").mkdir()
    (tmp_path / folder / "__pycache__" / "code.pyc").write_text("compiled")
    compiled = digest_of(tmp_path)
    (tmp_path / folder / "code.py").write_text("after\n")

    assert before == compiled != digest_of(tmp_path)
