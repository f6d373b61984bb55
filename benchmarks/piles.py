"""Piles of mixed files with tables: does an answer count, add up, compare, list and join rows, and else refuse?

    python -m benchmarks.piles [--held-out] [--cache FOLDER]

Three piles in two languages, each with 30 questions a language, drawn by seed and worded by `piles.toml`; rules are
tried on the developer half alone. A number must be the first of the answer; a list must have all names and no other;
the first sentence on the most or least names one; a cell stands without one of another row. `partly`: true, and
something is missing, or a cell of another row stands behind it.
"""

import argparse
import random
import re
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from itertools import count
from pathlib import Path
from typing import Any, Final

import docx

from benchmarks.revisions import ingested, write_table
from benchmarks.sets import hash_of
from sag_retrieval import Answer
from sag_retrieval.ask import Mode
from sag_retrieval.ask.cited import without_markers
from sag_retrieval.evaluation import bootstrap

SEED: Final = 20261126
TODAY: Final = "2026-03-01"
GIVEN: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["pile"]
WORDS: Final = tomllib.loads(Path(__file__).with_name("office.toml").read_text(encoding="utf-8"))
"""Names of people and sentences that say nothing, by language."""
TABLE_KINDS: Final = ("list", "count", "table")
MARKS: Final = ("whole", "partly", "wrong", "refused")
_ROUNDED: Final = 0.006
_LEAST, _MOST = 0.3, 0.8
"""Shares of what is asked of all documents, for an answer that is partly or wholly right."""
Row = dict[str, str]
_NUMBER: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_CONDITION: Final = re.compile(r"(.+?) (>=|=|>|in|since|before) (.+)")
_LONG: Final = re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}年\d{1,2}月\d{1,2}日")


class Drawn(Exception):  # noqa: N818  it says what was drawn
    """A drawn pile in which a question has no answer, or two."""


@dataclass(frozen=True)
class Asked:
    """A question, what answers it, and what else stands in the same column."""

    name: str
    pile: str
    language: str
    kind: str
    text: str
    form: str
    right: tuple[str, ...]
    rivals: tuple[str, ...] = ()
    is_held_out: bool = False


class Pile:
    def __init__(self, given: Mapping[str, Any], salt: int) -> None:
        self.given, self.draw = given, random.Random(f"{SEED}/{given['name']}/{given['language']}/{salt}")
        self.people = WORDS[given["language"]]["people"].split(",")
        self.tables = {table[0]: self._rows(*table[2:]) for table in given["tables"]}
        self.named: dict[str, str] = {}
        for name, place in given["draw"].items():
            file, _, header = place.rpartition(".")
            others = [row[header] for row in self.tables[file] if row[header] not in self.named.values()]
            self.named[name] = self.draw.choice(others or [row[header] for row in self.tables[file]])
        self.asked = [self._asked(number, *each) for number, each in enumerate(given["asked"])]

    def _rows(self, style: str, rows: int, columns: Sequence[str]) -> list[Row]:
        made = {}
        for column in columns:
            header, kind, *rest = column.split("|")
            kind, _, told = f"{kind}{''.join(rest)}".partition(":")
            made[header] = list(self._values(kind, told.split(","), rows, style))
        return [dict(zip(made, cells, strict=True)) for cells in zip(*made.values(), strict=True)]

    def _values(self, kind: str, told: Sequence[str], rows: int, style: str) -> Iterator[str]:
        if kind == "each":
            yield from told
        elif kind == "people":
            yield from self.draw.sample(self.people, rows)
        elif kind == "serial":
            yield from (f"{told[0]}{number}" for number in sorted(self.draw.sample(range(101, 990), rows)))
        elif kind == "pick":
            yield from (self.draw.choice(told) for _ in range(rows))
        elif kind == "number":
            low, high, step = map(int, told)
            yield from (f"{number:,}" for number in self.draw.sample(range(low, high, step), rows))
        else:
            first, last = map(date.fromisoformat, told)
            days = self.draw.sample(range((last - first).days), rows)
            yield from (self._day(first + timedelta(day), style) for day in days)

    def _day(self, day: date, style: str) -> str:
        if style == "iso":
            return day.isoformat()
        if self.given["language"] == "zh":
            return f"{day.year}年{day.month}月{day.day}日"
        return f"{day.day} {day:%B %Y}"

    def _asked(self, number: int, kind: str, text: str, form: str, file: str, told: str) -> Asked:
        what, _, rest = form.partition(":")
        column, _, key = rest.partition(">")
        is_held_out = hash_of(f"piles {text}") >= 1 << 255
        name = f"{self.given['name']}-{self.given['language']}-{number:02}"
        low = {each: value[0].lower() + value[1:] if value[1:2].islower() else value for each, value in
               self.named.items()}  # fmt: skip
        asked = text.format(**(low if "{action}" in text or "{task}" in text else self.named))
        right, rivals = self._right(what, column, key, file, told.format(**self.named))
        return Asked(name, self.given["name"], self.given["language"], kind, asked, what, right, rivals, is_held_out)

    def _right(self, form: str, column: str, key: str, file: str, told: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if form in ("said", "none"):
            return ((told,) if form == "said" else ()), ()
        every = self.tables[file]
        rows = [row for row in every if all(_holds(row, each) for each in told.split("; ") if each)]
        if not rows or (form in ("count", "sum", "average", "list") and len(rows) < 2):
            raise Drawn
        if form == "count":
            return (str(len(rows)),), ()
        if form in ("sum", "average"):
            total = sum(_number(row[column]) for row in rows)
            return (f"{total if form == 'sum' else total / len(rows):.2f}",), ()
        if form in ("list", "cell"):
            right = tuple(dict.fromkeys(row[column] for row in rows))
            return right, tuple({row[column] for row in every} - {*right})
        name = key if form in ("total", "most", "least") else column
        best = _best(form, rows, column, key)
        return (best,), tuple({row[name] for row in every} - {best})

    def write(self, folder: Path) -> None:
        """Its files; every table stands below a sentence or two where the format has room for prose."""
        for file, title, _, _, _ in self.given["tables"]:
            rows = [list(self.tables[file][0]), *(list(row.values()) for row in self.tables[file])]
            _write_rows(folder / file, title, rows, self.draw.choice(WORDS[self.given["language"]]["filler"]))
        for file, title, *sentences in self.given["prose"]:
            filler = self.draw.sample(WORDS[self.given["language"]]["filler"], 2)
            parts = [filler[0], *(each.format(**self.named) for each in sentences), filler[1]]
            _write_prose(folder / file, title, parts)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _iso(text: str) -> str:
    found = re.fullmatch(r"(\d{4})年(\d+)月(\d+)日", text)
    if found:
        return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    return text if text[:4].isdigit() else datetime.strptime(text, "%d %B %Y").date().isoformat()  # noqa: DTZ007


def _holds(row: Row, condition: str) -> bool:
    found = _CONDITION.fullmatch(condition)
    assert found, condition
    value, sign, wanted = row[found[1]], found[2], found[3]
    if sign in (">", ">="):
        return _number(value) > float(wanted) or (sign == ">=" and _number(value) == float(wanted))
    if sign == "=":
        return value == wanted
    return {"in": _iso(value).startswith(wanted), "since": _iso(value) >= wanted, "before": _iso(value) < wanted}[sign]


def _best(form: str, rows: Sequence[Row], column: str, key: str) -> str:
    """The one name, or day, that is first."""
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        if form == "next":
            sums[row[column]] = -date.fromisoformat(_iso(row[column])).toordinal()
        else:
            sums[row[key]] += -_number(row[column]) if form == "least" else _number(row[column])
    if form == "next":
        sums = {day: value for day, value in sums.items() if _iso(day) >= TODAY}
    ranked = sorted(sums.items(), key=lambda each: -each[1])[:2]
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        raise Drawn
    return ranked[0][0]


def _write_rows(path: Path, title: str, rows: Sequence[Sequence[str]], remark: str) -> None:
    if path.suffix in (".csv", ".xlsx"):
        plain = [[cell.replace(",", "") if _NUMBER.fullmatch(cell) else cell for cell in row] for row in rows]
        write_table(path, plain, datetime(2026, 2, 1, tzinfo=UTC))
    elif path.suffix == ".docx":
        made = _page(title, [remark])
        table = made.add_table(len(rows), len(rows[0]))
        for place, row in enumerate(rows):
            for column, cell in enumerate(row):
                table.cell(place, column).text = cell
        made.save(str(path))
    elif path.suffix == ".md":
        lines = [f"| {' | '.join(row)} |" for row in rows]
        text = "\n".join([f"# {title}\n", f"{remark}\n", lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
        path.write_text(f"{text}\n", encoding="utf-8")
    else:
        cells = ["".join(f"<{'td' if n else 'th'}>{cell}</{'td' if n else 'th'}>" for cell in row)
                 for n, row in enumerate(rows)]  # fmt: skip
        table = f"<p>{remark}</p><table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
        if path.suffix == ".html":
            head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
            path.write_text(f"<html>{head}<body><h1>{title}</h1>{table}</body></html>", encoding="utf-8")
        else:
            _write_mail(path, title, table, "html")


def _page(title: str, parts: Sequence[str]) -> Any:  # noqa: ANN401  python-docx has no types
    made = docx.Document()
    made.add_heading(title, 1)
    for part in parts:
        made.add_paragraph(part)
    return made


def _write_prose(path: Path, title: str, parts: Sequence[str]) -> None:
    if path.suffix == ".eml":
        quoted = "\n".join(f"> {part}" for part in parts[1:3])
        _write_mail(path, title, "\n\n".join([*parts, quoted]), "plain")
    elif path.suffix == ".docx":
        _page(title, parts).save(str(path))
    else:
        mark = "# " if path.suffix == ".md" else ""
        path.write_text("\n\n".join([f"{mark}{title}", *parts]) + "\n", encoding="utf-8")


def _write_mail(path: Path, title: str, body: str, kind: str) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "R. Alder <r@example.org>", "team@example.org"
    message["Subject"], message["Date"] = title, datetime(2026, 2, 20, 9, 30, tzinfo=UTC)
    message.set_content(body, subtype=kind)
    path.write_bytes(message.as_bytes())


def piles() -> dict[str, list[Pile]]:
    found: dict[str, list[Pile]] = defaultdict(list)
    for given in GIVEN:
        for salt in count():
            try:
                found[given["name"]].append(Pile(given, salt))
            except Drawn:
                continue
            break
    return found


@dataclass(frozen=True)
class Marked:
    asked: Asked
    answer: Answer
    mark: str


def marked(asked: Asked, answer: Answer) -> str:
    if not answer.is_found:
        return "refused"
    lead, text = answer.text.partition("[1]")[0], without_markers(answer.text)
    if asked.form in ("count", "sum", "average"):
        first = _NUMBER.search(lead)
        return "whole" if first and abs(_number(first[0]) - float(asked.right[0])) < _ROUNDED else "wrong"
    if asked.form in ("most", "least", "total", "next"):
        text = lead
    here, others = [_stands(each, text) for each in asked.right], any(_stands(each, text) for each in asked.rivals)
    share = sum(here) / max(1, len(here))
    if asked.kind == "global":
        return "wrong" if share < _LEAST else "whole" if share >= _MOST and not others else "partly"
    if asked.form == "cell" and others:
        return "partly" if share and _stands(asked.right[0], lead) else "wrong"
    return "wrong" if others or not share else "whole" if all(here) else "partly"


def _stands(value: str, text: str) -> bool:
    """Whether a value stands in a text: a number as one of its numbers, a day in one of its forms, else its words."""
    if _NUMBER.fullmatch(value):
        return _number(value) in {_number(each) for each in _NUMBER.findall(text)}
    if _LONG.fullmatch(value) or re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return _iso(value) in {*(_iso(each) for each in _LONG.findall(text)), *re.findall(r"\d{4}-\d\d-\d\d", text)}
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", text, re.IGNORECASE))


def ask_pile(name: str, parts: Sequence[Pile], cache: Path, half: Callable[[Asked], bool]) -> Iterator[Marked]:
    folder, home = cache / f"{name}-files", cache / name
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts:
            part.write(folder)
    with ingested(folder, home) as release:
        for asked in filter(half, (each for part in parts for each in part.asked)):
            mode: Mode = "global" if asked.kind == "global" else "fast"
            answer = release.ask(asked.text, mode=mode, options={"today": TODAY})
            yield Marked(asked, answer, marked(asked, answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held-out", action="store_true", help="ask the held-out half as well")
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cache = (given.cache or Path(scratch)).resolve()
        found = [each for name, parts in piles().items() for each in
                 ask_pile(name, parts, cache, lambda asked: given.held_out or not asked.is_held_out)]  # fmt: skip
    print("\n".join(table(found)))


def table(found: Sequence[Marked]) -> Iterator[str]:
    """Marks in percent, by half, kind and language, with 95 % intervals of `whole` and `wrong`."""
    yield f"{'':24}{'asked':>6}" + "".join(f"{mark:>9}" for mark in MARKS) + f"{'whole':>12}{'wrong':>12}"
    for half, is_held_out in (("developer", False), ("held-out", True)):
        part = [each for each in found if each.asked.is_held_out == is_held_out]
        if not part:
            continue
        answerable = [each for each in part if each.asked.form != "none"]
        fast = [each for each in answerable if each.asked.kind != "global"]
        groups = {"fast": fast, "  en": [e for e in fast if e.asked.language == "en"],
                  "  zh": [e for e in fast if e.asked.language == "zh"],
                  "tables": [e for e in fast if e.asked.kind in TABLE_KINDS]}  # fmt: skip
        kinds = dict.fromkeys(each.asked.kind for each in part)
        groups |= {f"  {kind}": [each for each in part if each.asked.kind == kind] for kind in kinds}
        for name, own in groups.items():
            yield _line(f"{half} {name}", own)


def _line(name: str, own: Sequence[Marked]) -> str:
    marks = Counter(each.mark for each in own)
    shares = "".join(f"{100 * marks[mark] / max(1, len(own)):8.0f}%" for mark in MARKS)
    spans = [bootstrap([float(each.mark == mark) for each in own]) for mark in ("whole", "wrong")] if own else []
    intervals = "".join(f"{f'{100 * span.low:.0f}-{100 * span.high:.0f}':>12}" for span in spans)
    return f"{name:24}{len(own):6}{shares}{intervals}"


if __name__ == "__main__":
    main()
