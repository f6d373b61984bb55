"""What is known of each language, from one folder a language: lists of words, expressions, units (`data/CODE`).

A language is added by a folder: `words.txt`, `patterns.toml` and `units.toml`, each of which it may lack. `data/all`
has the expressions that every language shares.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_SECTION = re.compile(r"^\[(\w+)\].*\n((?:(?!\[|#).*\n?)*)", re.MULTILINE)
_NAMED = re.compile(r"\{([A-Za-z_]+)\}")


@cache
def languages() -> tuple[str, ...]:
    """The ISO 639-1 codes of the languages that have a folder, in order."""
    return tuple(sorted(each.name for each in files(__package__).joinpath("data").iterdir() if each.is_dir()))


@cache
def word_lists(language: str) -> Mapping[str, frozenset[str]]:
    """The lists of `words.txt` by name: words under a line `[NAME] what they are`; `_` is a space in one.

    Examples:
        >>> "hamlet" in word_lists("en")["PLACES"], sorted(word_lists("ru")["LEGAL_FORMS"])[:2]
        (False, ['АО', 'ГУП'])
    """
    return {
        found[1]: frozenset(word.replace("_", " ") for word in found[2].split())
        for found in _SECTION.finditer(_text(language, "words.txt"))
    }


@cache
def words_of_all(name: str) -> frozenset[str]:
    """The words that any language has under a name."""
    return frozenset().union(*(word_lists(each).get(name, frozenset()) for each in languages()))


@cache
def patterns(language: str) -> Mapping[str, re.Pattern[str]]:
    """The expressions of `patterns.toml` by name, compiled where they are used first.

    `{NAME}` in one stands for the words of that list, longest first, `{name}` for a text of the table `[parts]`, of the
    language or of `all`, which has what every language shares.

    Examples:
        >>> bool(patterns("zh")["foreign_person"].match("卡尔·马克思"))
        True
    """
    return _Compiled(language)


@cache
def pattern_of_all(name: str) -> re.Pattern[str]:
    """What any language has under a name, as one expression."""
    return _compiled(source_of_all(name))


def source_of_all(name: str) -> str:
    """The text of that expression, to be part of a longer one."""
    return "|".join(source for each in languages() if (source := pattern_source(each, name)))


def pattern_source(language: str, name: str) -> str:
    """The text of an expression; empty where the language has none of this name."""
    return _filled(language, _table(language, "patterns.toml").get("patterns", {}).get(name, ""))


@cache
def units_of_all(name: str) -> Mapping[str, Any]:
    """A table of `units.toml` turned round, over all languages: what is written → what it means.

    Examples:
        >>> units_of_all("currencies")["欧元"], units_of_all("scales")["миллион"], units_of_all("units")["kilometre"]
        ('EUR', 1000000.0, 'km')
    """
    return {form: meant for each in languages() for form, meant in units_of(each, name).items()}


def units_of(language: str, name: str) -> Mapping[str, Any]:
    """The same of one language; scales are numbers."""
    table = _table(language, "units.toml").get(name, {})
    convert: Callable[[str], Any] = float if "scales" in name else str
    return {form: convert(meant) for meant, forms in table.items() for form in forms}


def either(words: Iterable[str]) -> str:
    """Alternatives of a regular expression, the longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


class _Compiled(Mapping[str, re.Pattern[str]]):
    def __init__(self, language: str) -> None:
        self._language = language
        self._sources: Mapping[str, str] = _table(language, "patterns.toml").get("patterns", {})
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            self._compiled[name] = _compiled(_filled(self._language, self._sources[name]))
        return self._compiled[name]

    def __iter__(self) -> Any:  # noqa: ANN401  an iterator of names
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def _compiled(source: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(source, flags)


def _filled(language: str, source: str) -> str:
    lists = word_lists(language)
    parts = {**_table("all", "patterns.toml")["parts"], **_table(language, "patterns.toml").get("parts", {})}

    def meant(found: re.Match[str]) -> str:
        name = found[1]
        return _filled(language, parts[name]) if name in parts else either(lists[name])

    return _NAMED.sub(meant, source)


@cache
def _table(language: str, name: str) -> Mapping[str, Any]:
    return tomllib.loads(_text(language, name))


def _text(language: str, name: str) -> str:
    file = files(__package__).joinpath("data", language, name)
    return file.read_text(encoding="utf-8") if file.is_file() else ""


@cache
def language_tables(name: str) -> tuple[Mapping[str, Any], ...]:
    """The tables of a TOML file of each language that has it."""
    return tuple(table for each in languages() if (table := _table(each, name)))


@cache
def asking(name: str, table: str = "patterns") -> re.Pattern[str]:
    """An expression of `asking.toml`, that of all languages joined; one of `[kinds]` tells what answer is asked for.

    Examples:
        >>> [bool(asking("name", "kinds").search(text)) for text in ("Who made it?", "谁造的？", "When?")]
        [True, True, False]
    """
    found = [
        _NAMED.sub(lambda part: own["parts"][part[1]], own[table][name])  # noqa: B023  used at once
        for own in language_tables("asking.toml")
        if name in own.get(table, {})
    ]
    return _compiled("|".join(found), re.IGNORECASE)


@cache
def asked_words(name: str, table: str = "words") -> frozenset[str]:
    """Words by their name in `[words]`, or in `[says]`, by the class of a header."""
    return frozenset(word for own in language_tables("asking.toml") for word in own[table].get(name, ()))
