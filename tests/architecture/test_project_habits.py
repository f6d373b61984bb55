"""What contributors rely on: skips have known reasons, releases are checked, the demo comes with the wheel."""

import re
import tomllib
from pathlib import Path

import pytest

from sag_pipeline.cli.demo import CHECKOUT, PACKAGED, corpus
from sag_retrieval.core.errors import SourceError
from scripts.check_skips import main, skips_of
from scripts.docs_site import OUTSIDE, with_site_links
from scripts.release import faults
from tests.support.golden import SLICE, enough
from tests.support.skips import is_allowed

ROOT = Path(__file__).parents[2]
REPORT = '<testsuites><testsuite><testcase name="t"><skipped message="{}"/></testcase></testsuite></testsuites>'
PROJECT = '[project]\nversion = "0.3.0"\n'
CHANGELOG = "# Changelog\n\n## [0.3.0] – 2027-01-31\n"


def reasons() -> list[tuple[str, str]]:
    """(file, reason) of every skip that a test file writes down as a text."""
    written = re.compile(r"(?:pytest\.skip|skipif)\((?:[^()\"]|\([^()]*\))*?f?\"([^\"]{12,})\"")
    return [
        (path.name, reason)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for reason in written.findall(path.read_text(encoding="utf-8"))
    ]


def test_every_reason_to_skip_that_tests_name_is_known():
    found = [(name, reason.replace("{why_not()}", "strace is missing")) for name, reason in reasons()]

    assert len(found) >= 5
    assert [(name, reason) for name, reason in found if not is_allowed(reason)] == []


@pytest.mark.parametrize(("reason", "code"), [("needs Chromium: apt-get install", 0), ("not today", 1)])
def test_an_unknown_reason_to_skip_fails_the_run(tmp_path, monkeypatch, capsys, reason, code):
    report = tmp_path / "tests.xml"
    report.write_text(REPORT.format(reason), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["check_skips", str(report)])

    assert main() == code
    assert skips_of(report) == {reason: 1}
    assert reason in capsys.readouterr().out


def test_the_slice_of_recorded_cases_is_small_and_whole():
    sizes = [path.stat().st_size for path in SLICE.glob("*.json")]

    assert len(sizes) >= 15
    assert sum(sizes) <= 300_000
    assert not enough(0, 1)


def test_a_version_that_is_ready_has_no_faults():
    assert list(faults("0.3.0", PROJECT, CHANGELOG, changed="", tags=["v0.2.0"])) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"version": "0.4.0"}, "pyproject.toml says 0.3.0"),
        ({"changelog": "## [0.3.0]"}, "CHANGELOG.md has no line"),
        ({"changed": " M README.md"}, "files are changed:  M README.md"),
        ({"tags": ["v0.3.0"]}, "is there already"),
    ],
)
def test_whatever_keeps_a_version_from_release_is_said(given, said):
    usual = {"version": "0.3.0", "project": PROJECT, "changelog": CHANGELOG, "changed": "", "tags": []} | given

    found = list(faults(**usual))

    assert any(said in fault for fault in found)


def test_the_changelog_begins_with_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert next(name for name in headings if name != "Unreleased") == version


def test_the_wheel_brings_the_documents_of_the_demo():
    names = {path.name for path in CHECKOUT.iterdir()}

    assert {path.name for path in (PACKAGED / "documents").iterdir()} == names
    assert (PACKAGED / "questions.jsonl").read_bytes() == (CHECKOUT.parent / "questions.jsonl").read_bytes()


def test_outside_a_clone_the_demo_reads_a_copy_below_the_home(tmp_path):
    found = corpus(tmp_path / "home", checkout=tmp_path / "none", packaged=PACKAGED)

    assert found == tmp_path / "home" / "demo-documents"
    assert {path.name for path in found.iterdir()} == {path.name for path in CHECKOUT.iterdir()}
    assert not any(path.is_symlink() for path in found.iterdir())
    assert corpus(tmp_path, checkout=CHECKOUT) == CHECKOUT


def test_a_package_without_its_documents_says_so(tmp_path):
    with pytest.raises(SourceError, match="install sag again"):
        corpus(tmp_path, checkout=tmp_path / "none", packaged=tmp_path / "none")


def test_links_between_pages_of_the_site_and_of_the_repository_lead_to_pages():
    assert with_site_links("[a](docs/concepts.md#x) [b](LICENSE) [c](https://e.org)", "README.md") == (
        "[a](concepts.md#x) b [c](https://e.org)"
    )
    assert with_site_links("[a](../SECURITY.md) [b](concepts.md)", "docs/security.md") == (
        "[a](report-a-fault.md) [b](concepts.md)"
    )
    assert with_site_links("[a](../concepts.md)", "docs/how-to/own-documents.md") == "[a](../concepts.md)"
    assert [name for name in OUTSIDE if not (ROOT / name).is_file()] == []
