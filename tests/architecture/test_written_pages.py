"""Pages that follow from code say what the code says."""

import os
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from sag_retrieval.cli.main import main
from sag_retrieval.core.settings import Settings
from sag_retrieval.release.schema import ORDER, TABLES
from scripts.write_docs import LAYOUT, PAGES, walk

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_CITED = re.compile(r"docs/algorithm\.md (§[a-z-]+(?:\.\d+)?(?:(?: and | to |, )§[a-z-]+\.\d+)*)")
_TOO_LARGE = 1_000_000


def tracked_files() -> list[Path]:
    """Every file that git keeps or would keep."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    """The text of a file; empty if it is none."""
    try:
        return path.read_text(encoding="utf-8") if path.stat().st_size < _TOO_LARGE else ""
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_written_page_is_as_it_would_be_written_now(name):
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), "run `just docs`"


@pytest.mark.parametrize(("path", "command"), list(walk("sag", main)))
def test_every_command_and_option_says_what_it_does(path, command):
    unsaid = [
        option.name
        for option in command.params
        if isinstance(option, click.Option) and not option.help and not isinstance(option.type, click.Choice)
    ]

    assert command.help
    assert not unsaid, f"{path}: options without help"


def test_every_table_has_an_order_and_every_column_a_meaning():
    assert ORDER.keys() == TABLES.keys()
    for name, schema in TABLES.items():
        assert set(ORDER[name]) <= {*schema.names, "chunk_index"}
        for field in schema:
            assert field.metadata[b"meaning"].strip(), f"{name}.{field.name}"


def test_the_files_of_a_release_are_those_of_the_page(demo_home):
    release = demo_home / "releases" / (demo_home / "CURRENT").read_text(encoding="utf-8").strip()
    files = [path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()]
    elsewhere = (
        "communities/",
        "themes/",
        "lance/",
        "layers/",
        "tables/hidden_",
        "checksums/",
        "arrays/vectors/*.runs",
        "arrays/vectors/*.signs",
    )  # of reports, global questions, dense vectors, changes

    unknown = [name for name in files if not any(fnmatch(name, pattern) for pattern in LAYOUT)]
    missing = [
        pattern
        for pattern in LAYOUT
        if not pattern.startswith(elsewhere) and not any(fnmatch(name, pattern) for name in files)
    ]

    assert (unknown, missing) == ([], [])


def test_every_setting_stands_on_its_page_with_its_default():
    page = (DOCS / "deployment.md").read_text(encoding="utf-8")

    for name, field in Settings.model_fields.items():
        assert f"| `SAG_{name.upper()}` | `{field.default}` |" in page


def citations() -> list[tuple[str, str]]:
    """(file, section) of every formula that a docstring or test cites."""
    found = []
    for folder in ("sag_retrieval", "sag_pipeline", "tests", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = re.sub(r"\s+(?:#\s+)?", " ", path.read_text(encoding="utf-8"))
            for cited in _CITED.findall(text):
                found += [
                    (path.relative_to(ROOT).as_posix(), section)
                    for section in re.findall(r"§([a-z-]+(?:\.\d+)?)", cited)
                ]
    return found


def test_every_formula_that_code_cites_has_its_section():
    pages = [DOCS / "algorithm.md", *(DOCS / "algorithm").glob("*.md")]
    numbered = [re.findall(r"^## ([a-z-]+\.\d+)\b", page.read_text(encoding="utf-8"), re.MULTILINE) for page in pages]
    headings = {heading for found in numbered for heading in found}
    headings |= {heading.partition(".")[0] for heading in headings}

    cited = citations()

    assert len(cited) > 100
    assert [(path, section) for path, section in cited if section not in headings] == []
    assert sum(map(len, numbered)) == len({heading for found in numbered for heading in found}), "a number stands twice"


def test_the_index_of_formulas_names_every_page():
    index = (DOCS / "algorithm.md").read_text(encoding="utf-8")

    for page in (DOCS / "algorithm").glob("*.md"):
        assert f"(algorithm/{page.name})" in index


@pytest.mark.parametrize("page", ["README.md", *sorted(p.relative_to(ROOT).as_posix() for p in DOCS.rglob("*.md"))])
def test_links_of_a_page_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text) if "://" not in link]

    lost = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]

    assert lost == []


def test_every_decision_is_listed():
    records = {path.name for path in (DOCS / "decisions").glob("*.md") if path.name != "README.md"}
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")

    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == records


def test_no_file_names_this_machine_or_a_package_registry():
    hosts = r"pythonhosted[.]org|py" r"pi[.]org|registry[.]npm"
    machine = "|".join(re.escape(f"{os.sep}{name}{os.sep}") for name in ("work", "farm", "opt", "root"))
    pattern = re.compile(rf"{hosts}|(?<![\w.])(?:{machine})")

    found = {path.relative_to(ROOT).as_posix(): pattern.findall(text_of(path)) for path in tracked_files()}

    assert {name: hits for name, hits in found.items() if hits} == {}
