"""Show results to people: texts without Markdown, keys with their units, and HTML for a notebook."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from sag_retrieval.language.data import patterns
from sag_retrieval.language.layout import Line, LineKind, bare_heading, logical_lines, marker_length
from sag_retrieval.language.sentences import one_line

LONGEST: Final = 600
"""Longest text shown, in characters; the result has all of it."""
MOST_ROWS: Final = 50
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_STRONG: Final = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_STRONG_LINE: Final = re.compile(r"(?<!\w)__(?=\S)([^_\n]+)(?<=\S)__(?!\w)")
_EMPHASIS: Final = re.compile(r"\*(?=\S)([^*\n]+)(?<=\S)\*")
_EMPHASIS_LINE: Final = re.compile(r"(?<!\w)_(?=\S)([^_\n]+)(?<=\S)_(?!\w)")
_CODE: Final = re.compile(r"`([^`\n]+)`")
_MARKS: Final = (_LINK, _STRONG, _STRONG_LINE, _EMPHASIS, _EMPHASIS_LINE, _CODE)
_QUOTE: Final = re.compile(r"(?m)^[ \t]*>[ \t]?")
_ENDS = patterns("all")["ends_said"]
_ENDS_IN_CHINESE = patterns("all")["ends_in_cjk"]
_UNIT_WORD: Final = re.compile(r"[a-z]{4,}")
"""A unit written as a word takes a plural; shorter ones in small letters are symbols such as `km`."""
_PLURALS: Final = {"person": "people", "foot": "feet", "inch": "inches", "day": "days", "year old": "years old"}


class _Keyed(Protocol):
    @property
    def type(self) -> str: ...

    @property
    def value(self) -> object: ...


AnyKey = TypeVar("AnyKey", bound=_Keyed)


def render_html(template: str, **values: Any) -> str:  # noqa: ANN401  whatever the template shows
    """Render a macro of `notebook.html.j2`."""
    module = _templates().get_template("notebook.html.j2").module
    return str(module.style()) + str(getattr(module, template)(**values))


def shortened(text: str) -> str:
    """The beginning of a long text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST else flat[:LONGEST].rstrip() + " …"


def snippet(text: str, title: str = "") -> str:
    r"""A passage as one line of plain text: no Markdown, and no heading that only repeats the document's title.

    Examples:
        >>> snippet("# Recall\n\n## Cause\n\nThe **O-ring** leaked.", title="Recall")
        'Cause: The O-ring leaked.'
        >>> snippet("| Part | Firm |\n|---|---|\n| Ring | Marlow Seals |")
        'Part · Firm; Ring · Marlow Seals'
    """
    pieces = [_plain(text, line, title) for line in logical_lines(text)]
    return "".join(_joined([piece for piece in pieces if piece[1]]))


def _plain(text: str, line: Line, title: str) -> tuple[LineKind, str]:
    """A line's words, without the marks of its kind; empty where it has none."""
    words = text[line.start + marker_length(text, line) : line.end]
    if line.kind is LineKind.CODE:
        return line.kind, "" if words.startswith(("```", "~~~")) else " ".join(words.split())
    if line.kind is LineKind.RULE:
        return line.kind, ""
    if line.kind is LineKind.ROW:
        words = " · ".join(cell for cell in map(str.strip, words.split("|")) if cell)
    words = one_line(_QUOTE.sub("", words))
    for mark in _MARKS:
        words = mark.sub(r"\1", words)
    if line.kind is LineKind.HEADING:
        words = bare_heading(words)
        words = "" if _folded(words) == _folded(title) else words
    return line.kind, words


def _joined(pieces: Sequence[tuple[LineKind, str]]) -> Iterator[str]:
    """The words of lines with a mark between two of them: a colon after a heading, a semicolon after rows and items."""
    for n, (kind, words) in enumerate(pieces):
        yield words
        if n + 1 == len(pieces):
            return
        if _ENDS.search(words) or kind in (LineKind.PROSE, LineKind.CODE):
            yield " "
        elif kind in (LineKind.HEADING, LineKind.LABEL):
            yield "：" if _ENDS_IN_CHINESE.search(words) else ": "
        else:
            yield "；" if _ENDS_IN_CHINESE.search(words) else "; "


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def readable(value: object) -> str:
    """A value as text; a number without trailing zeros and with thousands separators."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,.12g}" if is_number else str(value)


def key_text(value: object, unit: str | None = None, key_type: str = "") -> str:
    """A key's value as people write it: a number with its unit, a flag with the name of its type.

    Examples:
        >>> key_text(120_000_000.0, "CNY"), key_text(31.5, "%"), key_text(310, "person"), key_text("Ada")
        ('120,000,000 CNY', '31.5%', '310 people', 'Ada')
        >>> key_text(True, key_type="is_forecast"), key_text(1, "month"), key_text(36, "month")
        ('is forecast: yes', '1 month', '36 months')
    """
    if isinstance(value, bool):
        return f"{key_type.replace('_', ' ') or 'flag'}: {'yes' if value else 'no'}"
    if unit in ("%", "×"):
        return f"{readable(value)}{unit}"
    return f"{readable(value)} {_counted(unit, value)}" if unit else readable(value)


def _counted(unit: str, value: object) -> str:
    """A unit as it follows a number: in the plural if it is an English word."""
    if value in (1, -1):
        return unit
    word, slash, rate = unit.partition("/")
    is_word = _UNIT_WORD.fullmatch(word) and not word.endswith("s")
    return _PLURALS.get(word, f"{word}s" if is_word else word) + slash + rate


def shown_keys(keys: Iterable[AnyKey], title: str) -> list[AnyKey]:
    """The keys of a passage without its document's own title, and without the year and month of a full date."""
    listed, own = list(keys), _folded(title)
    dates = [str(key.value) for key in listed if key.type == "date"]
    implied = {date[:length] for date in dates for length in (4, 7) if len(date) > length}
    return [
        key
        for key in listed
        if not (isinstance(key.value, str) and _folded(key.value) == own)
        and not (key.type == "date" and key.value in implied)
    ]


def render_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], count: int) -> str:
    """Rows as a table, with their total count where not all are shown."""
    return render_html("table", columns=columns, rows=rows[:MOST_ROWS], count=count)


@cache
def _templates() -> Any:  # noqa: ANN401  a jinja2.Environment, imported when something is shown
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    shown = (shortened, readable, snippet, key_text, shown_keys)
    templates.filters |= {each.__name__: each for each in shown}
    return templates
