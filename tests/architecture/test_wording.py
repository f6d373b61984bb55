"""Documentation, docstrings, comments and messages use the field's terms: phrases that readers had to look up are refused."""

import io
import re
import tokenize
from pathlib import Path

import pytest

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
    "is told": "is given, receives, is reported",
    "are told": "are given, receive, are reported",
    "anew": "again",
    "worked off": "executed, processed",
    "works off": "executes, processes",
    "in the hand": "opened",
    "lets go of": "closes, releases",
}
"""Phrase → what to write instead."""
GLOBS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "docs/**/*.md")
CODE = ("sag_retrieval/**/*.py", "sag_pipeline/**/*.py", "scripts/*.py", "benchmarks/**/*.py")


def banned_in(text: str) -> list[str]:
    """The banned phrases of a text, also across a line break; names in backticks are names."""
    prose = re.sub(r"\s+", " ", re.sub(r"```.*?```|`[^`\n]*`", "`", text, flags=re.DOTALL))
    return [phrase for phrase in BANNED if re.search(rf"\b{re.escape(phrase)}(?:\b|(?<=0))", prose, re.IGNORECASE)]


def pages(*globs: str) -> list[str]:
    found = {path.relative_to(ROOT).as_posix() for glob in globs for path in ROOT.glob(glob)}
    return sorted(found)


def test_a_page_uses_no_banned_phrase():
    read = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages(*GLOBS)}

    assert [(page, phrase, BANNED[phrase]) for page, text in read.items() for phrase in banned_in(text)] == []


def said(source: str) -> str:
    """Comments and string literals of a source, which hold its docstrings, messages and help."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    return "\n".join(t.string for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type in kinds)


def test_a_module_uses_no_banned_phrase():
    read = {module: said((ROOT / module).read_text(encoding="utf-8")) for module in pages(*CODE)}
    found = [(module, phrase) for module, text in read.items() for phrase in banned_in(text)]

    assert [(module, phrase, BANNED[phrase]) for module, phrase in found] == []


def test_only_comments_and_strings_of_a_source_are_read():
    assert banned_in(said('anew = "x"  # so many\n')) == ["so many"]


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
