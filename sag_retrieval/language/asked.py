"""How questions ask, from `data/LANGUAGE/asking.toml`: expressions and words, those of all languages joined."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_PART = re.compile(r"\{([a-z]+)\}")


@cache
def language_tables(name: str) -> tuple[Mapping[str, Any], ...]:
    """The tables of a TOML file of each language that has it, by ISO 639-1 code."""
    folders = sorted(files(__package__).joinpath("data").iterdir(), key=lambda each: each.name)
    found = [folder.joinpath(name) for folder in folders if folder.joinpath(name).is_file()]
    return tuple(tomllib.loads(file.read_text(encoding="utf-8")) for file in found)


@cache
def asking(name: str, table: str = "patterns") -> re.Pattern[str]:
    """An expression by its name in `[patterns]`, or in `[kinds]`, where it tells which kind of answer is expected.

    Examples:
        >>> [bool(asking("name", "kinds").search(text)) for text in ("Who made it?", "谁造的？", "When?")]
        [True, True, False]
    """
    found = [
        _PART.sub(lambda part: own["parts"][part[1]], own[table][name])  # noqa: B023  used at once
        for own in language_tables("asking.toml")
        if name in own.get(table, {})
    ]
    return re.compile("|".join(found), re.IGNORECASE)


@cache
def asked_words(name: str, table: str = "words") -> frozenset[str]:
    """Words by their name in `[words]`, or in `[says]`, by the class of a header."""
    return frozenset(word for own in language_tables("asking.toml") for word in own[table].get(name, ()))
