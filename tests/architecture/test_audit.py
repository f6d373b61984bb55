"""What the audit says of packages, and that every command prints through one door."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.audit import bill_of_materials, differences, installed, pinned, verdict

ROOT = Path(__file__).parents[2]


def test_every_constraint_pins_one_version():
    assert pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))["click"] == version("click")


@pytest.mark.parametrize("line", ["click", "click>=8", "click==8.*", "click @ file:///x", "??"])
def test_a_line_that_pins_nothing_is_an_error(line):
    with pytest.raises(ValueError, match=r"pin one version|no requirement"):
        pinned(f"numpy==2.4.6\n{line}\n")


def test_a_version_that_differs_or_is_not_pinned_is_told():
    told = list(differences({"click": "8.0", "new": "1", "numpy": "2"}, {"click": "8.1", "numpy": "2"}))

    assert told == ["click is 8.0, constraints.txt pins 8.1", "new 1 is not in constraints.txt"]


def test_what_the_feed_does_not_know_is_not_called_audited():
    sound, faulty = {"name": "a", "version": "1", "vulns": []}, {"name": "b", "version": "2", "vulns": [{"id": "X-1"}]}
    unknown = {"name": "c", "skip_reason": "not found"}

    assert verdict([sound]) == (True, "audited: no known advisory for 1 packages")
    assert verdict([sound, unknown]) == (True, "NOT AUDITED: no advisory feed for 1 of 2 packages")
    assert verdict([unknown, faulty]) == (False, "advisory: b 2: X-1")
    assert verdict([])[1].startswith("NOT AUDITED")


@pytest.mark.slow
def test_the_bill_of_materials_names_every_package_with_version_and_licence():
    bill = bill_of_materials(installed())

    names = {component["name"]: component for component in bill["components"]}
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert names["numpy"]["version"] == version("numpy")
    assert all(component["version"] and component["licenses"] for component in names.values())
    assert bill == bill_of_materials(installed())


def test_only_the_printing_module_writes_to_the_terminal():
    direct = re.compile(
        r"click\.s?echo\(|click\.secho\(|(?<![\w.])Console\(|(?<![\w.>] )(?<![\w.])print\(|sys\.std(?:out|err)\.write"
    )
    sources = [p for room in ("sag_retrieval", "sag_pipeline") for p in (ROOT / room).rglob("*.py")]

    found = {
        path.name: hits
        for path in sources
        if (
            hits := [
                line
                for line in path.read_text(encoding="utf-8").splitlines()
                if direct.search(line) and ">>>" not in line
            ]
        )
    }

    assert set(found) == {"printing.py"}
