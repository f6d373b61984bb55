"""Piles of documents that revise themselves: does an answer give what holds now, what held then, and say who disagrees?

    python -m benchmarks.revisions [--developer [a|b]] [--small] [--seeds N] [--keep FOLDER]

A pile has 27 facts of one trade in one language, eleven of them never revised, told in mails, letters, Word files,
slides and tables of three stages of time. All is invented and drawn by seed. The developer halves are worded by
`revisions_a.toml` and `revisions_b.toml`, the held-out one by `revisions_c.toml`: other trades, names and sentences.

An answer is *right* if the first of its sentences that names any value of the fact names the one asked for, the old
one beside it (*both*) or after it, not alone before it (*old*); of a contradiction, if it names both. A row of
`revisions` is *false* if its ends are not statements of one fact; such rows are counted over all pairs about different
facts of one subject, or one sort of fact about different subjects. Ends with 1 where a goal is missed.
"""

import argparse
import csv
import os
import random
import re
import sys
import tempfile
import tomllib
from calendar import month_name
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import docx
import openpyxl
import pptx

from sag_retrieval import Answer, Release, open_release
from sag_retrieval.evaluation import bootstrap
from sag_retrieval.language.sentences import sentences
from sag_retrieval.language.words import tokens
from tests.support.bare_ingest import bare_ingest

HALVES: Final = {"a": "developer", "b": "developer", "c": "held-out"}
PLAN: Final = ("named", "named", "bare", "bare", "bare", "quoted", "rumour", "draft", "moved", "role", "role",
               "undecided", "undecided", "undecided", *["control"] * 11)  # fmt: skip
"""What becomes of facts of one value; a partial correction and a renaming come to them."""
SORTS: Final = {"moved": {"date"}, "role": {"person"}, "named": {"number", "option"}, "bare": {"number", "option"}}
GOALS: Final = {"present": 0.85, "past": 0.8, "contradiction": 0.8}
MOST_FALSE: Final = 0.02
REVISING: Final = ("corrects", "replaces", "updates", "contradicts")
FORMS: Final = {"md": ("title", "front", "name"), "txt": ("letterhead", "name"), "eml": ("header",),
                "docx": ("letterhead", "title"), "pptx": ("title",), "csv": ("name",), "xlsx": ("name",)}  # fmt: skip
"""Where the date of a document stands, by its format."""
TABLES: Final = ("csv", "xlsx")
REPEATED: Final = 0.3
"""Share of the controls that are said twice."""
UNDATED: Final = date(2017, 6, 1)
"""When files without a date of their own were written: before every pile."""
LEAST_SHARED: Final = 0.6
"""Share of the words of a statement by which an event of its document is known as it: others share names alone."""


@dataclass(frozen=True)
class Value:
    text: str
    forms: tuple[str, ...]

    def stands_in(self, text: str) -> bool:
        """Whether a text names it, not as a part of another number."""
        found = re.sub(r"(?<=\d),(?=\d{3})", "", text).lower()
        return any(re.search(rf"(?<![\d.]){re.escape(form.lower())}(?!\d|\.\d)", found) for form in self.forms)


@dataclass(frozen=True)
class Statement:
    fact: str
    subject: str
    sort: str
    text: str
    row: tuple[str, str, str] | None = None


@dataclass(frozen=True)
class Asked:
    """A question, the value that is right, and those that are not; a contradiction has two that are right."""

    fact: str
    tense: str
    text: str
    right: tuple[Value, ...]
    wrong: tuple[Value, ...] = ()
    as_of: str = ""

    @property
    def kind(self) -> str:
        return self.fact.partition("-")[0]


@dataclass(frozen=True)
class Fact:
    name: str
    kind: str
    attribute: Mapping[str, Any]
    subject: str


@dataclass(frozen=True)
class Document:
    """What a document is made of; what is not given is drawn."""

    day: date | None
    statements: Sequence[Statement] = ()
    title: str = ""
    form: str = ""
    opening: Sequence[str] = ()
    quoted: Statement | None = None


@dataclass
class Pile:
    """Draws the facts of a pile, writes its documents and keeps its questions."""

    words: Mapping[str, Any]
    trade: Mapping[str, Any]
    draw: random.Random
    folder: Path
    asked: list[Asked] = field(default_factory=list)
    said: dict[str, list[Statement]] = field(default_factory=dict)
    stages: list[list[Statement]] = field(default_factory=lambda: [[], [], []])

    def __post_init__(self) -> None:
        self.language, self.is_wide = self.trade["language"], self.draw.random() < 0.5
        self.year = self.draw.randint(2018, 2022)
        self.folder.mkdir(parents=True)

    def fact_of(self, document: str, text: str) -> str | None:
        """The fact that an event of a document tells; none for a sentence that says nothing."""
        own, shared = set(tokens(text)), dict[str, float]()
        for each in self.said.get(Path(document).name, ()):
            for said in (set(tokens(way)) for way in (each.text, " ".join(each.row or ()))):
                share = len(own & said) / max(min(len(own), len(said)), 1)
                shared[each.fact] = max(share, shared.get(each.fact, 0))
        best = max(shared, key=lambda fact: shared[fact], default=None)
        return best if best and shared[best] >= LEAST_SHARED else None

    def fill(self) -> None:
        subjects = self.trade["subjects"].split(",")
        free = list(product(self.trade["attributes"], subjects))
        self.draw.shuffle(free)
        for number, kind in enumerate(sorted(PLAN, key=lambda kind: kind not in SORTS)):
            chosen = next(pair for pair in free if pair[0]["type"] in SORTS.get(kind, {pair[0]["type"]}))
            free.remove(chosen)
            self.tell(Fact(f"{kind}-{number}", kind, *chosen))
        self.partial(self.draw.choice(subjects))
        self.renamed()
        for stage, statements in enumerate(self.stages):
            self.draw.shuffle(statements)
            while statements:
                group = [statements.pop() for _ in range(min(len(statements), self.draw.randint(1, 3)))]
                self.write(Document(self.day(stage), group))

    def say(self, fact: Fact, wordings: Sequence[str], value: Value, **more: str) -> Statement:
        """A statement of a value; one that says more than the value, or that it may be, is no row of a table."""
        text = self.draw.choice(wordings).format(value=value.text, subject=fact.subject, **more)
        label = fact.attribute["label"]
        row = None if more else (fact.subject, label, value.text)
        return Statement(fact.name, fact.subject, label, text[0].upper() + text[1:], row)

    def ask(self, fact: Fact, tense: str, right: Sequence[Value], wrong: Sequence[Value] = (), as_of: str = "") -> None:
        wording = self.draw.choice(fact.attribute["past" if tense == "past" else "ask"])
        text = wording.format(subject=fact.subject, when=self.when())
        self.asked.append(Asked(fact.name, tense, text, tuple(right), tuple(wrong), as_of))

    def tell(self, fact: Fact) -> None:
        old, new = self.values(fact.attribute, 2)
        first = self.say(fact, fact.attribute["says"], old)
        if fact.kind == "undecided":
            day = self.day(self.draw.choice((0, 1))) if self.draw.random() < 0.5 else None
            for statement in (first, self.say(fact, fact.attribute["says"], new)):
                self.write(Document(day, [statement], form="docx"))
            self.ask(fact, "contradiction", (old, new))
        elif fact.kind in ("control", "rumour", "draft"):
            self.stages[self.draw.choice((0, 0, 1))].append(first)
            self.unsettle(fact, first, new)
            is_control = fact.kind == "control"
            self.ask(fact, "control" if is_control else "present", (old,), () if is_control else (new,))
        else:
            self.stages[0].append(first)
            self.revise(fact, first, old, new)

    def unsettle(self, fact: Fact, first: Statement, other: Value) -> None:
        """What is said later of a fact that still holds: a rumour, a draft, or for some controls the same again."""
        if fact.kind == "rumour":
            what = fact.attribute["what"].format(subject=fact.subject)
            self.stages[2].append(self.say(fact, self.words["rumours"], other, what=what))
        elif fact.kind == "draft":
            title = self.draw.choice(self.words["drafts"]).format(subject=fact.subject)
            draft = self.say(fact, fact.attribute["says"], other)
            self.write(Document(self.day(2), [draft], title, opening=self.words["draft_lines"]))
        elif self.draw.random() < REPEATED:
            self.stages[2].append(first)

    def revise(self, fact: Fact, first: Statement, old: Value, new: Value) -> None:
        """The later statement, and a mail that quotes the first one after it."""
        is_named = fact.kind == "named" or (fact.kind in ("moved", "role") and self.draw.random() < 0.5)
        named, bare = fact.attribute["swap"], fact.attribute["now"]
        self.stages[1].append(self.say(fact, named, new, old=old.text) if is_named else self.say(fact, bare, new))
        if fact.kind == "quoted":
            self.write(Document(self.day(2), form="eml", quoted=first))
        self.ask(fact, "present", [new], [old])
        self.ask(fact, "past", [old], [new])
        self.ask(fact, "as of", [old], [new], f"{self.year}-12-31" if self.is_wide else f"{self.year}-04-15")

    def partial(self, subject: str) -> None:
        """A statement of two values, of which one is changed."""
        pair = self.trade["pair"]
        a, b, new = self.values(pair | {"type": "number"}, 3)
        first = pair["says"][0].format(subject=subject, a=a.text, b=b.text)
        wording = self.draw.choice(pair["now"] + pair["swap"])
        label = pair["label"][1]
        for stage, text in enumerate((first, wording.format(subject=subject, b=new.text, old=b.text))):
            self.stages[stage].append(Statement("partial", subject, label, text[0].upper() + text[1:]))
        self.asked.append(Asked("partial", "present", pair["ask_a"][0].format(subject=subject), (a,), (b, new)))
        self.asked.append(Asked("partial", "present", pair["ask_b"][0].format(subject=subject), (new,), (b,)))

    def renamed(self) -> None:
        """A firm with another name, and what was said of it before."""
        given = self.trade["renamed"]
        place = self.draw.randrange(3)
        old, new = given["olds"].split(",")[place], given["news"].split(",")[place]
        value = self.draw.choice(given["options"].split(","))
        for stage, text in enumerate((given["says"][0], self.draw.choice(given["now"]))):
            said = text.format(name=old, old=old, new=new, value=value)
            self.stages[stage].append(Statement("renamed", old, "name", said))
        for name, tense, right in (("ask", "present", value), ("ask_now", "present", new), ("ask_before", "past", old)):
            text = given[name][0].format(name=new, old=old, new=new)
            self.asked.append(Asked("renamed", tense, text, (Value(right, (right,)),)))

    def values(self, attribute: Mapping[str, Any], count: int) -> list[Value]:
        """Different values of a sort; days lie in months in which no document is written, numbers are no year."""
        if attribute["type"] == "date":
            year, months = self.year + 2 * self.is_wide, self.draw.sample(range(9, 13), count)
            days = [date(year, month, self.draw.randint(1, 28)) for month in months]
            return [Value(*self._day_forms(day)) for day in days]
        if attribute["type"] == "number":
            low, high, step = attribute["range"]
            numbers = self.draw.sample(range(low, high + 1, step), count)
            return [Value(attribute["value"].format(n=n), (str(n),)) for n in numbers]
        every = self.words["people"] if attribute["type"] == "person" else attribute["options"]
        return [Value(name, (name.removeprefix("the "),)) for name in self.draw.sample(every.split(","), count)]

    def _day_forms(self, day: date) -> tuple[str, tuple[str, ...]]:
        if self.language == "zh":
            return f"{day.month}月{day.day}日", (f"{day.month}月{day.day}日", day.isoformat())
        month = month_name[day.month]
        return f"{day.day} {month}", (f"{day.day} {month}", f"{month} {day.day}", f"{day.day} {month[:3]}", str(day))

    def spoken(self, day: date) -> str:
        if self.language == "zh":
            return self.draw.choice((f"{day.year}年{day.month}月{day.day}日", day.isoformat()))
        month = month_name[day.month]
        return self.draw.choice((f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", day.isoformat()))

    def day(self, stage: int) -> date:
        """A day of a stage: in a year of its own, or within weeks of the others."""
        first, last = ((stage, 2), (stage, 8)) if self.is_wide else ((0, (3, 5, 7)[stage]), (0, (3, 6, 8)[stage]))
        start, end = (date(self.year + years, month, 1) for years, month in (first, last))
        return start + timedelta(days=self.draw.randint(0, (end - start).days + 27))

    def when(self) -> str:
        if self.language == "zh":
            return f"{self.year}年" if self.is_wide else f"{self.year}年3月"
        return f"in {self.year}" if self.is_wide else f"in March {self.year}"

    def write(self, given: Document) -> None:
        """A document of statements among sentences that say nothing; without a title of its own it may be a table."""
        plain = given.statements and all(each.row for each in given.statements) and not given.title
        form = given.form or self.draw.choice([kind for kind in FORMS if plain or kind not in TABLES])
        place, spoken = ("", "") if given.day is None else (self.draw.choice(FORMS[form]), self.spoken(given.day))
        fitting = [each for each in self.words["titles"] if ("{date}" in each) == (place == "title")]
        title = (given.title or self.draw.choice(fitting)).format(date=spoken)
        if place == "title" and spoken not in title:
            title = f"{title} ({spoken})"
        fillers = [self.draw.sample(self.words["filler"], self.draw.randint(0, 2)) for _ in given.statements]
        gap = "" if self.language == "zh" else " "
        parts = [*given.opening]
        parts += [gap.join([*filler, each.text]) for filler, each in zip(fillers, given.statements, strict=True)]
        if place == "letterhead":
            parts.insert(0, self.draw.choice(self.words["letterhead"]).format(date=spoken, place=self.words["town"]))
        prefix = f"{given.day}-" if place == "name" else ""
        path = self.folder / f"{prefix}{len(self.said):03}.{form}"
        self.said[path.name] = [*given.statements, *([given.quoted] if given.quoted else [])]
        moment = datetime(*(given.day or UNDATED).timetuple()[:3], 9, 30, tzinfo=UTC)
        if form == "eml":
            path.write_bytes(self.mail(given, parts, moment if given.day else None))
        elif form in TABLES:
            write_table(path, [self.words["columns"], *(each.row for each in given.statements if each.row)], moment)
        elif form in ("docx", "pptx"):
            write_office(path, title, parts, moment)
        else:
            front = f"---\ntitle: {title}\ndate: {given.day}\n---\n\n" if place == "front" else ""
            heading = f"# {title}" if form == "md" else title
            path.write_text(front + "\n\n".join([heading, *parts]) + "\n", encoding="utf-8")
        os.utime(path, (moment.timestamp(), moment.timestamp()))

    def mail(self, given: Document, parts: list[str], moment: datetime | None) -> bytes:
        """A message; what it quotes stands below with marks."""
        sender, receiver, earlier = self.draw.sample(self.words["people"].split(","), 3)
        message, subject = EmailMessage(), self.draw.choice(self.words["subjects_of_mails"])
        message["From"], message["To"] = f"{sender} <a@example.org>", f"{receiver} <b@example.org>"
        message["Subject"] = f"Re: {subject}" if given.quoted else subject
        if moment:
            message["Date"] = moment
        if given.quoted:
            head = self.draw.choice(self.words["quoted"]).format(date=self.spoken(self.day(0)), person=earlier)
            parts = [self.draw.choice(self.words["replies"]), *parts, f"{head}\n> {given.quoted.text}"]
        message.set_content("\n\n".join(parts) + "\n")
        return message.as_bytes()


def write_table(path: Path, rows: Sequence[Sequence[str]], moment: datetime) -> None:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
        return
    book = openpyxl.Workbook()
    book.properties.created = moment.replace(tzinfo=None)
    for row in rows:
        book.active.append(list(row))
    book.save(path)


def write_office(path: Path, title: str, parts: Sequence[str], moment: datetime) -> None:
    made: Any = docx.Document() if path.suffix == ".docx" else pptx.Presentation()
    made.core_properties.created = made.core_properties.modified = moment
    if path.suffix == ".docx":
        made.add_heading(title, 1)
        for part in parts:
            made.add_paragraph(part)
    else:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, "\n".join(parts)
    made.save(str(path))


@dataclass
class Outcome:
    asked: Asked
    language: str
    verdict: str

    @property
    def is_right(self) -> bool:
        """Whether what was asked for is the first that the answer names, alone or with the other value."""
        return self.verdict in ("right", "both")


@dataclass
class Found:
    """Rows of `revisions` in piles: all, false ones, pairs that could be mixed up, revised facts that have a row."""

    rows: int = 0
    false: int = 0
    pairs: int = 0
    linked: list[float] = field(default_factory=list)


def verdict(asked: Asked, answer: Answer) -> str:
    """`right`, `both`, `old`, `refused` or `other`, as the module says; `both` is right too."""
    if not answer.is_found:
        return "refused"
    if asked.tense == "contradiction":
        return "both" if all(value.stands_in(answer.text) for value in asked.right) else "other"
    for sentence in sentences(answer.text):
        is_right, is_old = (any(each.stands_in(sentence) for each in values) for values in (asked.right, asked.wrong))
        if is_right or is_old:
            return ("both" if is_old else "right") if is_right else "old"
    return "other"


def revision_rows(release: Release) -> list[dict[str, Any]]:
    """Rows that revise something, with text and document of both ends."""
    query = """SELECT r.kind, e.content AS earlier, e.document_id AS earlier_document,
                      l.content AS later, l.document_id AS later_document FROM revisions r
               JOIN events e ON e.event_id = r.earlier_event_id JOIN events l ON l.event_id = r.later_event_id"""
    rows: list[dict[str, Any]] = release.sql(query).to_arrow().to_pylist()
    return [row for row in rows if row["kind"] in REVISING]


def count_rows(pile: Pile, rows: Sequence[Mapping[str, Any]], found: Found) -> None:
    linked = set()
    for row in rows:
        ends = {pile.fact_of(row[f"{end}_document"], row[end]) for end in ("earlier", "later")}
        found.rows += 1
        found.false += len(ends) > 1 or None in ends
        linked |= ends if len(ends) == 1 else set()
    every = [each for said in pile.said.values() for each in said]
    found.pairs += sum(
        one.fact != other.fact and (one.subject == other.subject or one.sort == other.sort)
        for one, other in combinations(every, 2)
    )
    revised = {asked.fact for asked in pile.asked if asked.tense in ("past", "contradiction")}
    found.linked.extend(float(fact in linked) for fact in revised)


def ingested(source: Path, home: Path) -> Release:
    for name, value in {"HOME": str(home), "CHAT_MODEL": "offline", "EMBEDDING_MODEL": "hashing"}.items():
        os.environ[f"SAG_{name}"] = value
    bare_ingest([str(source)])
    return open_release(home)


def words_of(half: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / f"revisions_{half}.toml").read_text(encoding="utf-8"))


def run_half(half: str, seeds: int, folder: Path, trades: int) -> tuple[list[Outcome], Found]:
    words = words_of(half)
    outcomes, found = [], Found()
    for trade, seed in product(words["trade"][:trades], range(seeds)):
        name = f"{half}-{trade['name']}-{trade['language']}-{seed}"
        pile = Pile(words[trade["language"]], trade, random.Random(name), folder / name / "documents")
        pile.fill()
        with ingested(pile.folder, folder / name / "home") as release:
            outcomes += [Outcome(each, pile.language, verdict(each, release.ask(each.text, as_of=each.as_of or None)))
                         for each in pile.asked]  # fmt: skip
            count_rows(pile, revision_rows(release), found)
    return outcomes, found


def table(half: str, outcomes: Sequence[Outcome], found: Found) -> Iterator[str]:
    yield f"{HALVES[half] + ' ' + half:28}{'asked':>6}{'right %':>9}  {'95 %':10}{'both':>9}{'old':>9}{'refused':>9}"
    for tense in dict.fromkeys(each.asked.tense for each in outcomes):
        of_tense = [each for each in outcomes if each.asked.tense == tense]
        yield line(tense, of_tense)
        for language in ("en", "zh"):
            yield line(f"  {language}", [each for each in of_tense if each.language == language])
        for kind in sorted({each.asked.kind for each in of_tense}):
            yield line(f"  {kind}", [each for each in of_tense if each.asked.kind == kind])
    linked = bootstrap(found.linked)
    yield (
        f"revisions: {found.rows} rows, {found.false} false over {found.pairs} pairs that could be mixed up"
        f" ({100 * found.false / max(found.pairs, 1):.1f} %); revised facts with a row {100 * linked.mean:.0f} %"
    )


def line(name: str, outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return f"{name:28}{0:6}"
    right = bootstrap([float(each.is_right) for each in outcomes])
    spread = f"{100 * right.low:.0f} - {100 * right.high:.0f}"
    counts = Counter(each.verdict for each in outcomes)
    others = "".join(f"{100 * counts[what] / len(outcomes):9.0f}" for what in ("both", "old", "refused"))
    return f"{name:28}{len(outcomes):6}{100 * right.mean:9.0f}  {spread:10}{others}"


def missed(outcomes: Sequence[Outcome], found: Found) -> Iterator[str]:
    for tense, goal in GOALS.items():
        share = bootstrap([float(each.is_right) for each in outcomes if each.asked.tense == tense]).mean
        if share < goal:
            yield f"{tense}: {100 * share:.0f} % right, {100 * goal:.0f} % is the goal"
    if found.false > MOST_FALSE * found.pairs:
        yield f"false revisions: {found.false} of {found.pairs} pairs, {100 * MOST_FALSE:.0f} % is the most"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--developer", nargs="?", const="ab", choices=("a", "b", "ab"), help="only developer halves")
    parser.add_argument("--small", action="store_true", help="one pile for each language of half a")
    parser.add_argument("--seeds", type=int, default=3, help="piles for each trade and language")
    parser.add_argument("--keep", type=Path, help="where documents and releases are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (given.keep or Path(scratch)).resolve()
        faults: list[str] = []
        for half in given.developer or ("a" if given.small else HALVES):
            outcomes, found = run_half(half, 1 if given.small else given.seeds, folder, 2 if given.small else 4)
            print("\n".join(table(half, outcomes, found)), end="\n\n")
            is_developer = HALVES[half] == "developer"
            faults = [*(faults if is_developer else ()), *(f"{half}, {each}" for each in missed(outcomes, found))]
    print("\n".join(faults) or "every goal is reached")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
