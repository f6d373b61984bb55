"""Decisions of people on names, in a file of three columns: what is one thing, what is not, its name and its type."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal, get_args

from sag_retrieval.core import durable
from sag_retrieval.core.errors import QueryError, SourceError, shown
from sag_retrieval.core.key_schema import KeyTypes, unknown_type
from sag_retrieval.core.records import TITLE
from sag_retrieval.core.schema_file import home_schema
from sag_retrieval.core.settings import Settings, load_settings
from sag_retrieval.language.words import normal_name

ALIASES: Final = "aliases.csv"
"""File of the home that is read where the setting `aliases` names none."""
_LARGEST: Final = 10_000_000
"""Bytes of the file: some 200,000 decisions."""
DecisionVerb = Literal["merge", "apart", "rename", "retype"]
_COLUMNS: Final = ("decision", "name", "other")
_NEW: Final = frozenset({"rename", "retype"})
"""What gives a thing a name or a type that no document need have."""


@dataclass(frozen=True, slots=True)
class NameDecision:
    """A line of the file; names are compared as normal names."""

    line: int
    verb: DecisionVerb
    """`merge`: one thing; `apart`: never one; `rename`: is called as the other name; `retype`: is of the other type."""
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
        return digest_of((one.verb, *one.pair) for one in self.lines)

    def pairs(self, *verbs: DecisionVerb) -> Iterator[tuple[str, str]]:
        """Normal names of the lines with one of these decisions."""
        yield from (one.pair for one in self.lines if one.verb in verbs)

    @property
    def types(self) -> dict[str, str]:
        """The type of each normal name that has a line for it."""
        return {one.pair[0]: one.other.lower() for one in self.lines if one.verb == "retype"}

    def unused(self, names: Iterable[str]) -> list[NameDecision]:
        """Lines that name something that no document names; `names` are normal names. A new name or type may be new."""
        known = frozenset(names)
        return [one for one in self.lines if not known.issuperset(one.pair[:1] if one.verb in _NEW else one.pair)]


def decisions_file(settings: Settings) -> Path:
    """The file of decisions that the settings name."""
    return Path(settings.aliases) if settings.aliases else Path(settings.home) / ALIASES


def digest_of(said: Iterable[tuple[str, ...]]) -> str:
    """A hash of decisions, whatever their order; empty for none."""
    found = sorted(said)
    return blake2b(repr(found).encode(), digest_size=8).hexdigest() if found else ""


def read_cells(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that decides something, with its number; none where there is no file.

    Empty lines, lines that begin with #, and one of the names of the columns are read over.

    Raises:
        SourceError: If the file cannot be read.
    """
    if path.is_fifo():  # it would be waited for
        raise SourceError(f"{path} is a pipe; save it as CSV in UTF-8")
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read as UTF-8: {error}; save it as CSV in UTF-8") from error
    if len(content) > _LARGEST:
        raise SourceError(f"{path} has more than {_LARGEST:,} bytes, which is the bound; keep the lines that decide")
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells) and not cells[0].startswith("#") and cells[0].lower() != columns[0]:
                yield reader.line_num, cells
    except csv.Error as error:
        raise SourceError(f"{path}, line {reader.line_num}: {error}; write {','.join(columns)}") from error


def read_decisions(path: Path) -> NameDecisions:
    """The decisions of a file; none where there is no file."""
    found = tuple(_decision(path, line, cells) for line, cells in read_cells(path, _COLUMNS))
    _refuse_contradictions(path, found)
    return NameDecisions(found)


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
    said: dict[object, NameDecision] = {}
    for one in found:
        about = ("type", one.pair[0]) if one.verb == "retype" else frozenset(one.pair)
        before = said.setdefault(about, one)
        is_same = before.other.lower() == one.other.lower() if one.verb == "retype" else before.verb == one.verb
        if not is_same and {"apart", "retype"} & {before.verb, one.verb}:
            raise SourceError(
                f"{path}, line {one.line} says {one.verb} and line {before.line} {before.verb} of the same names; "
                f"remove one of them, as by `sag keys undo {before.line}`"
            )
        if one.verb == "apart" and one.pair[0] == one.pair[1]:
            raise SourceError(f"{path}, line {one.line}: both names are read as {shown(one.pair[0])}, so they are one")


def add_decision(path: Path, verb: DecisionVerb, name: str, other: str) -> NameDecision:
    """Add a line to the file, which is made where it is not."""
    before = read_decisions(path).lines
    text = path.read_text(encoding="utf-8").rstrip("\n") if path.exists() else ",".join(_COLUMNS)
    cells = [verb, " ".join(name.split()), " ".join(other.split())]
    made = _decision(path, len(text.splitlines()) + 1, cells)
    same = next((one for one in before if (one.verb, one.pair) == (verb, made.pair)), None)
    if same is not None:
        raise SourceError(f"{path}, line {same.line} says so already; `sag ingest` follows it")
    _refuse_contradictions(path, (*before, made))
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(cells)
    durable.make_folder(path.parent)
    durable.write_text(path, f"{text}\n{written.getvalue()}")
    return made


def decide_name(verb: DecisionVerb, name: str, other: str, *, home: Path | str | None = None) -> NameDecision:
    """Decide what a name means; it holds from the next ingest on, through every further one, until it is undone.

    Examples:
        >>> from sag_pipeline import decide_name, undo_decision
        >>> decide_name("retype", "Kestrel 7", "product")  # doctest: +SKIP
        NameDecision(line=2, verb='retype', name='Kestrel 7', other='product')

    Args:
        verb: `merge`, `apart`, `rename` or `retype`.
        name: A name or alias of a key of the current release.
        other: Another such name; the new name of `rename` may be any; the type of `retype` is one of the schema.
        home: Folder of releases; None: SAG_HOME.

    Raises:
        QueryError: If the release has no key of the name, with the nearest, or no such type.
        SourceError: If the file of decisions says so already, or otherwise.
    """
    from sag_retrieval import open_release  # noqa: PLC0415  commands that decide nothing do without

    settings = load_settings(home=home)
    with open_release(home) as release:
        index = release.index
        for each in (name,) if verb in _NEW else (name, other):
            rows = index.arrays.mentions.exact(each)
            types = {index.rows["keys"]["key_type"][row].as_py() for row in rows.tolist()}
            if not types:
                meant = index.did_you_mean(each)
                raise QueryError(f"no key is called {shown(each)}{meant}; `sag keys list` shows what is there")
            if verb == "retype" and types == {TITLE}:
                raise QueryError(f"{shown(each)} is the title of a document alone, and titles keep their type")
    if verb == "retype":
        other = _type_named(other, home_schema(Path(settings.home), settings.schema).every)
    return add_decision(decisions_file(settings), verb, name, other)


def _type_named(written: str, types: KeyTypes) -> str:
    """The type of names that a name in any language means."""
    found = types.named(written)
    if found is None or found.kind != "text":
        known = KeyTypes(tuple(each for each in types if each.kind == "text"))
        raise QueryError(f"{unknown_type(written, known)}; `schema.yaml` in the home adds one")
    return found.name


def undo_decision(line: int | None = None, *, home: Path | str | None = None) -> NameDecision:
    """Take a decision back: its line in the file, or the last one. It holds until the next ingest.

    Raises:
        SourceError: If the file has no decision there.
    """
    path = decisions_file(load_settings(home=home))
    found = {one.line: one for one in read_decisions(path).lines}
    gone = found.get(max(found, default=0) if line is None else line)
    if gone is None:
        lines = f"lines with decisions: {', '.join(map(str, found))}" if found else "it has no decision"
        raise SourceError(f"{path}, line {line or 1} is no decision to undo; {lines}; `sag keys list` shows them")
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)
    del kept[gone.line - 1]
    durable.write_text(path, "".join(kept))
    return gone
