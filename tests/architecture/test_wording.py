"""The documentation says things in the field's own terms: phrases that readers had to look up are not used."""

import re
from pathlib import Path

import pytest

from scripts.write_docs import PAGES

ROOT = Path(__file__).parents[2]
BANNED = {
    "in force": "current",
    "out of force": "no longer current",
    "put aside": "skipped, skipped with errors",
    "puts aside": "skips",
    "the contract": "a link to the page in docs/ that says it",
    "the house": "the project, or the package's name",
    "seed 0": "a link to the page in docs/ that says it",
    "a door": "SQL sandbox, interface, entry point",
    "the door": "SQL sandbox, interface, entry point",
    "workshop": "pipeline resource",
    "so many": "a number of",
    "is told of": "is given, receives",
    "worked off": "executed, processed",
    "works off": "executes, processes",
    "in the hand": "opened",
    "lets go of": "closes, releases",
}
"""Phrase → what to write instead."""
GLOBS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/**/*.md")
GENERATED = {f"docs/{name}" for name in PAGES}
"""Written from code: they follow once the code's own words are checked."""


def banned_in(text: str) -> list[str]:
    """The banned phrases of a text, also across a line break; names in backticks are names."""
    prose = re.sub(r"\s+", " ", re.sub(r"```.*?```|`[^`\n]*`", "`", text, flags=re.DOTALL))
    return [phrase for phrase in BANNED if re.search(rf"\b{re.escape(phrase)}(?:\b|(?<=0))", prose, re.IGNORECASE)]


def pages(*globs: str) -> list[str]:
    found = {path.relative_to(ROOT).as_posix() for glob in globs for path in ROOT.glob(glob)}
    return sorted(found - GENERATED)


@pytest.mark.parametrize("page", pages(*GLOBS))
def test_a_page_uses_no_banned_phrase(page):
    found = banned_in((ROOT / page).read_text(encoding="utf-8"))

    assert {phrase: BANNED[phrase] for phrase in found} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The release in\nforce stays.", ["in force"]),
        ("See seed 002.", ["seed 0"]),
        ("The field `put aside` and `SAG` in forced mode.", []),
        ("A doorway.", []),
    ],
)
def test_phrases_are_found_across_lines_and_only_as_words(text, found):
    assert banned_in(text) == found
