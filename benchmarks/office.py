"""Piles of office files of three trades in English and Chinese, with questions and where their answers stand.

A pile holds letters, mails, minutes with attendance lists, policies, and lists that name many sites, people and firms
without answering anything. 116 questions a pile ask for one statement: half in its words, half in others; a sixth
for a rule that names nothing. All is invented and drawn by a fixed seed.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.sets import Question, QuestionSet

SEED: Final = 20261124
FACTS_A_KIND, ASKED_A_KIND, ASKED_RULES = 16, 8, 10
SIZES: Final = {"builders": 1, "clinic": 3, "freight": 6}
"""How long the documents of a pile are."""

WORDS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BILINGUAL: Final[Mapping[str, Any]] = WORDS.pop("bilingual")
"""By language: names, sentences that say nothing, sentences that name what is asked about and answer nothing,
rules and statements with their questions, and what each trade speaks of."""


@dataclass(frozen=True)
class Trade:
    """What a trade speaks of in one language: its places, its things, and why these fail."""

    sites: str
    things: str
    causes: str


@dataclass(frozen=True)
class Statement:
    """A sentence, the kind of document that says it, and what asks for it; no question for what nobody asks."""

    kind: str
    text: str
    question: str = ""


@dataclass
class Writer:
    """Writes the documents of one pile in one language, and notes where each statement stands."""

    pile: str
    language: str
    trade: Trade
    draw: random.Random
    lines: list[dict[str, str]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def say(self, english: str, chinese: str) -> str:
        return english if self.language == "en" else chinese

    def names(self, of: str) -> list[str]:
        """`people` or `firms` of this language."""
        return list(WORDS[self.language][of].split(","))

    def day(self) -> str:
        month, day, year = self.draw.randint(1, 12), self.draw.randint(1, 28), self.draw.randint(2023, 2025)
        return self.say(f"{year}-{month:02}-{day:02}", f"{year}年{month}月{day}日")

    def add(self, title: str, parts: Sequence[str | Statement]) -> None:
        document, text = f"{self.pile}-{self.language}-{len(self.lines):03}", ""
        for part in parts:
            said = part if isinstance(part, str) else part.text
            if isinstance(part, Statement) and part.question:
                span = (document, len(text), len(text) + len(said))
                name = f"{document}/{len(text)}"
                self.questions.append(Question(name, part.question, self.language, spans=(span,)))
            text += f"{said}\n\n"
        self.lines.append({"id": document, "title": title, "text": text})

    def told(self, site: str, thing: str) -> dict[str, str]:
        """Values for the gaps of a sentence about a thing at a place."""
        person, other = self.draw.sample(self.names("people"), 2)
        amount = self.say(f"{self.draw.randint(90, 4000):,} euros", f"{self.draw.randint(900, 40000):,}元")
        cause = self.draw.choice(self.trade.causes.split(","))
        told = {"site": site, "thing": thing, "person": person, "other": other, "cause": cause, "amount": amount}
        return told | {"date": self.day(), "other_date": self.day()}

    def mixed(self, statements: Sequence[Statement], filler: int) -> list[str | Statement]:
        """Statements among sentences that say nothing; as many of these name something."""
        named, words = (self.trade.sites.split(","), self.trade.things.split(",")), WORDS[self.language]
        remarks = [
            self.draw.choice(words["remarks"]).format(**self.told(*map(self.draw.choice, named))) for _ in range(filler)
        ]
        parts = list[str | Statement](statements)
        parts += [*self.draw.sample(words["filler"], min(filler, 10)), *remarks]
        self.draw.shuffle(parts)
        return parts


def statements(writer: Writer) -> Iterator[Statement]:
    """Those of every kind about distinct things at distinct places, of which some are asked for."""
    trade = writer.trade
    pairs = [(site, thing) for site in trade.sites.split(",") for thing in trade.things.split(",")]
    for kind, text, plainly, otherwise in WORDS[writer.language]["kinds"]:
        for number, pair in enumerate(writer.draw.sample(pairs, FACTS_A_KIND)):
            told = writer.told(*pair)
            question = (plainly, otherwise)[number % 2] if number < ASKED_A_KIND else ""
            yield Statement(kind, text.format(**told), question.format(**told))


def write_minutes(writer: Writer, said: Sequence[Statement]) -> None:
    """Minutes open with everyone who was there and every place that reported."""
    date, people = writer.day(), writer.draw.sample(writer.names("people"), 14)
    sites = writer.trade.sites.split(",")
    present = [f"{person} ({writer.draw.choice(sites)})" for person in people]
    opening = writer.say(
        f"Present: {', '.join(present)}. Reports: {', '.join(sites)}.",
        f"出席人员：{'、'.join(present)}。汇报单位：{'、'.join(sites)}。",
    )
    title = writer.say(f"Minutes of {date}", f"{date}会议纪要")
    writer.add(title, [opening, *writer.mixed(said, 3 * len(said))])


def write_letter(writer: Writer, said: Sequence[Statement]) -> None:
    firm, person = writer.draw.choice(writer.names("firms")), writer.draw.choice(writer.names("people"))
    greeting, close = writer.say(f"Dear {person},", f"{person}您好："), writer.say("Kind regards", "此致敬礼")
    title = writer.say(f"Letter from {firm}", f"{firm}来函")
    writer.add(title, [greeting, *writer.mixed(said, 2 * len(said)), f"{close} {firm}"])


def write_mail(writer: Writer, said: Sequence[Statement]) -> None:
    receivers = writer.draw.sample(writer.names("people"), 7)
    subject = writer.draw.choice(writer.trade.sites.split(","))
    head = writer.say(
        f"To: {'; '.join(receivers)}\nSubject: {subject}", f"收件人：{'；'.join(receivers)}\n主题：{subject}"
    )
    writer.add(writer.say(f"Re: {subject}", f"回复：{subject}"), [head, *writer.mixed(said, 2 * len(said))])


def write_policies(writer: Writer) -> None:
    """Rules that name nobody, five in a document, of which some are asked for."""
    rules = list(WORDS[writer.language]["rules"])
    writer.draw.shuffle(rules)
    told = [
        Statement("policy", text, (plainly, otherwise)[n % 2] if n < ASKED_RULES else "")
        for n, (text, plainly, otherwise) in enumerate(rules)
    ]
    writer.draw.shuffle(told)
    for number, start in enumerate((0, 5), start=1):
        title = writer.say(f"House rules, part {number}", f"内部规定（{number}）")
        writer.add(title, writer.mixed(told[start : start + 5], 3))


def write_lists(writer: Writer) -> None:
    """Registers that name places, things, people and firms, and answer nothing."""
    sites, things = writer.trade.sites.split(","), writer.trade.things.split(",")
    people, firms = writer.names("people"), writer.names("firms")
    for number, site in enumerate(sites):
        header = writer.say(
            "| Site | Equipment | Firm | Keyholder | Checked |", "| 地点 | 设备 | 公司 | 钥匙保管 | 检查 |"
        )
        rows = [
            f"| {site} | {thing} | {writer.draw.choice(firms)} | {writer.draw.choice(people)} | {writer.day()} |"
            for thing in things
        ]
        title = writer.say(f"Inventory {number + 1}", f"设备清单{number + 1}")
        writer.add(title, ["\n".join([header, "|---|---|---|---|---|", *rows])])
    for number in range(4):
        shifts = [f"{writer.day()}: {', '.join([*writer.draw.sample(people, 4), *writer.draw.sample(sites, 3)])}"
                  for _ in range(12)]  # fmt: skip
        writer.add(writer.say(f"Rota {number + 1}", f"排班表{number + 1}"), ["\n".join(shifts)])


WRITERS: Final = {"minutes": (write_minutes, 3), "letter": (write_letter, 2), "mail": (write_mail, 1)}
"""What writes a kind of document, and how many statements a short one holds."""


def office(name: str) -> QuestionSet:
    """The pile of a trade, in both languages.

    >>> len(office("clinic").questions)
    116
    """
    found = QuestionSet([], [])
    for language, words in WORDS.items():
        writer = Writer(name, language, Trade(**words["trades"][name]), random.Random(f"{SEED}/{name}/{language}"))
        said = list(statements(writer))
        writer.draw.shuffle(said)
        for kind, (write, size) in WRITERS.items():
            of_kind = [each for each in said if each.kind == kind]
            step = size * SIZES[name]
            for start in range(0, len(of_kind), step):
                write(writer, of_kind[start : start + step])
        write_policies(writer)
        write_lists(writer)
        found.lines.extend(writer.lines)
        found.questions.extend(writer.questions)
    return found


def bilingual() -> QuestionSet:
    """Two statements a language about each name, asked by its other name; registers say which two names are one.

    Other documents name three of them and answer nothing. No word of a question is one of its answer.

    >>> len(bilingual().questions)
    60
    """
    draw, names = random.Random(f"{SEED}/bilingual"), BILINGUAL["names"]
    writers = [Writer("bilingual", language, Trade("", "", ""), draw) for language in ("en", "zh")]
    for number, pair in enumerate(names):
        for side, writer in enumerate(writers):
            kinds, told = BILINGUAL[writer.language], {"name": pair[side]}
            parts = list[str | Statement](draw.sample(WORDS[writer.language]["filler"], 3))
            for text, asked in (kinds[(number + step) % len(kinds)] for step in (0, 2)):
                told["place"] = draw.choice(BILINGUAL["places"][writer.language])
                parts.insert(1, Statement("bilingual", text.format(**told), asked.format(name=pair[1 - side])))
            writer.add(writer.say(f"Note {number + 1}", f"记录{number + 1}"), parts)
        side = number % 2
        three = [each[side] for each in (pair, *draw.sample(names, 2))]
        writers[side].add(writers[side].say("Greetings", "贺信"), [BILINGUAL["passing"][side].format(*three)])
    for side, writer in enumerate(writers):
        members = [BILINGUAL["registers"][side].format(*pair) for pair in names[side::2]]
        writer.add(writer.say("Register", "名册"), members)
    english, chinese = writers
    return QuestionSet(english.lines + chinese.lines, english.questions + chinese.questions)


OFFICE: Final[dict[str, Callable[[], QuestionSet]]] = {f"office-{name}": partial(office, name) for name in SIZES} | {
    "office-bilingual": bilingual
}
"""Piles by name."""
