"""Decisions of people on names, from a file of three columns: what is one thing, what is not, and how it is called."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal, get_args

from sag_retrieval.core.errors import SourceError, shown
from sag_retrieval.core.settings import Settings
from sag_retrieval.language.words import normal_name

ALIASES: Final = "aliases.csv"
"""File of the home that is read where the setting `aliases` names none."""
_LARGEST: Final = 10_000_000
"""Bytes of the file: some 200,000 decisions."""
DecisionVerb = Literal["merge", "apart", "rename"]
_COLUMNS: Final = ("decision", "name", "other")


@dataclass(frozen=True, slots=True)
class NameDecision:
    """A line of the file; names are compared as normal names."""

    line: int
    verb: DecisionVerb
    """`merge`: one thing; `apart`: never one; `rename`: one thing, which is called as the other name."""
    name: str
    other: str

    @property
    def pair(self) -> tuple[str, str]:
        """Both normal names."""
        return normal_name(self.name), normal_name(self.other)


@dataclass(frozen=True, slots=True)
class NameDecisions:
    """All decisions, in the order of the lines."""

    lines: tuple[NameDecision, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of what is decided, whatever the order and the numbers of the lines; empty for nothing."""
        said = sorted((one.verb, *one.pair) for one in self.lines)
        return blake2b(repr(said).encode(), digest_size=8).hexdigest() if said else ""

    def pairs(self, *verbs: DecisionVerb) -> Iterator[tuple[str, str]]:
        """Normal names of the lines with one of these decisions."""
        yield from (one.pair for one in self.lines if one.verb in verbs)

    def unused(self, names: Iterable[str]) -> list[NameDecision]:
        """Lines that name something that no document names; `names` are normal names."""
        known = frozenset(names)
        return [one for one in self.lines if not known.issuperset(one.pair)]


def decisions_file(settings: Settings) -> Path:
    """The file of decisions that the settings name."""
    return Path(settings.aliases) if settings.aliases else Path(settings.home) / ALIASES


def read_decisions(path: Path) -> NameDecisions:
    """The decisions of a file; none where there is no file. Empty lines, and lines that begin with #, are read over.

    Raises:
        SourceError: If the file cannot be read, or a line is wrong, with its number.

    """
    if path.is_fifo():  # it would be waited for
        raise SourceError(f"{path} is a pipe; save it as CSV in UTF-8")
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise SourceError(
                f"{path} has more than {_LARGEST:,} bytes, which is the bound; keep the lines that decide"
            )
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        return NameDecisions()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read as UTF-8: {error}; save it as CSV in UTF-8") from error
    found = tuple(_lines(path, text))
    _refuse_contradictions(path, found)
    return NameDecisions(found)


def _lines(path: Path, text: str) -> Iterator[NameDecision]:
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells) and not cells[0].startswith("#") and tuple(map(str.lower, cells)) != _COLUMNS:
                yield _decision(path, reader.line_num, cells)
    except csv.Error as error:
        raise SourceError(f"{path}, line {reader.line_num}: {error}; write {','.join(_COLUMNS)}") from error


def _decision(path: Path, line: int, cells: list[str]) -> NameDecision:
    if len(cells) != len(_COLUMNS) or not all(map(normal_name, cells[1:])):
        said = f"{len(cells)} columns" if len(cells) != len(_COLUMNS) else "an empty name"
        raise SourceError(
            f"{path}, line {line} has {said}; write {','.join(_COLUMNS)}, such as merge,NHL,National Hockey League"
        )
    verb = next((one for one in get_args(DecisionVerb) if one == cells[0].lower()), None)
    if verb is None:
        raise SourceError(
            f"{path}, line {line}: decision {shown(cells[0])} is none of {', '.join(get_args(DecisionVerb))}"
        )
    return NameDecision(line, verb, cells[1], cells[2])


def _refuse_contradictions(path: Path, found: Iterable[NameDecision]) -> None:
    said: dict[frozenset[str], NameDecision] = {}
    for one in found:
        before = said.setdefault(frozenset(one.pair), one)
        if "apart" in {before.verb, one.verb} and before.verb != one.verb:
            raise SourceError(
                f"{path}, line {one.line} says {one.verb} and line {before.line} {before.verb} of the same names; "
                "remove one of them"
            )
        if one.verb == "apart" and one.pair[0] == one.pair[1]:
            raise SourceError(f"{path}, line {one.line}: both names are read as {shown(one.pair[0])}, so they are one")
