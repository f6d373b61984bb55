"""Things with several names, the passages that hold them, and a scripted model that knows which names are one thing.

`aliases.csv` has names and types alone, gathered from the texts that `../shared/data/README.md` lists: titles with
additions, full names of first sentences, `also known as`, abbreviations in brackets, 简称 and 又名, transliterations,
short forms; read through by hand, and without names of two things. Company names with and without their legal form are
taken from the texts by rule, because their licence keeps them out of the project.
"""

import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.extract.name_matching import title_name
from sag_retrieval.core.records import Document
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.words import is_cjk, normal_name
from tests.support.chat_server import first_prompt_of, schema_of
from tests.support.scripted_answers import known_names, numbered_events, numbered_pairs, read_well

FILE = Path(__file__).parent / "aliases.csv"
DATA = Path(__file__).parents[2] / "shared" / "data"
HALVES = ("tuning", "held_out")
_SETS = {"cmrc": "cmrc2018_trial", "hotpot": "sag_test_hotpot10", "musique": "musique_train", "twowiki": "twowiki"}
_LEGAL = re.compile(r"(?:,? (?:Inc|Ltd|Co|Corporation)\.?|(?:股份|集团)?有限公司|集团)$")
_NAME = re.compile(r"(?:[A-Z][\w'-]*(?: (?:of|the|de) (?=[A-Z])| )?)+|[“《]([^”》]+)[”》]")
_MOST_KEYS = 8


@dataclass(frozen=True)
class Thing:
    """One thing with its names; the first decides its half."""

    number: int
    key_type: str
    names: tuple[str, ...]

    @property
    def half(self) -> str:
        return HALVES[blake2b(self.names[0].encode(), digest_size=4).digest()[0] % 2]

    def is_narrow(self, name: str) -> bool:
        """Whether a name means this thing only beside another of its names: one word, a title without addition."""
        is_short = len(name) < 4 if is_cjk(name) else " " not in name and not (name.isupper() and len(name) > 2)
        return is_short or any(one != name and one.startswith((f"{name} (", f"{name},")) for one in self.names)


@dataclass(frozen=True)
class AliasSet:
    """Passages with the things that each names."""

    documents: list[Document]
    things: list[Thing]

    @cached_property
    def named(self) -> dict[str, dict[str, Thing]]:
        """Names that each document holds, longest first, with their things."""
        found = {}
        for document in self.documents:
            text = f"{document.title}\n{document.text}"
            own = {}
            for thing in self.things:
                here = [name for name in thing.names if _holds(text, name)]
                own |= {name: thing for name in here if len(here) > 1 or not thing.is_narrow(name)}
            found[document.document_id] = dict(sorted(own.items(), key=lambda one: -len(one[0])))
        return found

    @cached_property
    def thing_of(self) -> dict[str, Thing]:
        """Things by the normal names that are theirs, and by their titles without addition."""
        bare = {title_name(name): thing for thing in self.things for name in thing.names}
        return bare | {normal_name(name): thing for thing in self.things for name in thing.names}


def _holds(text: str, name: str) -> bool:
    at = text.find(name)
    while at >= 0 and not is_cjk(name):
        beside = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(map(str.isalnum, beside)):
            return True
        at = text.find(name, at + 1)
    return at >= 0


def read_set(count: int) -> AliasSet:
    """Passages, in a fixed order: those that hold a thing of the file first, those of hotpot and cmrc among them."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [(row["type"], tuple(row["names"].split(" | "))) for row in csv.DictReader(file)]
    firsts = {name for _, names in rows for name in names}
    passages = [
        Document(row["doc_id"], corpus, row["title"], row["text"], detect_language(row["text"]))
        for corpus, file_name in _SETS.items()
        for row in pq.read_table(DATA / f"{file_name}.docs.parquet").to_pylist()
    ]
    reports = list(_reports()) if count > 1_000 else []
    companies = dict.fromkeys(names for _, names in reports if len(names) > 1)
    owners = Counter(normal_name(name) for names in companies for name in names)
    rows += [("organisation", own) for own in companies if all(owners[normal_name(name)] == 1 for name in own)]
    passages.sort(key=lambda one: (one.title not in firsts, blake2b(one.document_id.encode()).digest()))
    chosen = [document for document, _ in reports] + passages[: count - len(reports)]
    chosen.sort(key=lambda one: blake2b(one.document_id.encode(), key=b"order").digest())
    return AliasSet(chosen, [Thing(number, key_type, names) for number, (key_type, names) in enumerate(rows)])


def _reports() -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Company reports with the names of the company: as given, and without its legal form where the text has that."""
    rows = pq.read_table(DATA / "dragonball.docs.parquet").to_pylist()
    for row in rows:
        if row["domain"] == "finance":
            short = _LEGAL.sub("", row["name"])
            rest = row["text"].replace(row["name"], "")
            names = (row["name"], short) if short != row["name"] and _holds(rest, short) else (row["name"],)
            yield Document(row["doc_id"], "reports", "", row["text"], row["language"]), names


class ScriptedModel:
    """Answers with names as they are written, and with the known key, if one is shown that is the same thing.

    It reads nothing but the prompt and knows which names are one thing, so that what is measured is what it is shown.
    """

    def __init__(self, given: AliasSet, *, says_same: bool, errors: float = 0.0) -> None:
        """`errors`: the share of pairs about which it is wrong."""
        self._given = given
        self._says_same = says_same
        self._errors = errors
        self._by_start: dict[str, list[str]] = defaultdict(list)
        for names in given.named.values():
            for name in names:
                self._by_start[name[:2]].append(name)
        self._by_start = {start: sorted(set(names), key=lambda n: -len(n)) for start, names in self._by_start.items()}

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = first_prompt_of(request)
        if schema_of(request) == "SamePairs":
            return {"same": [number for number, one, _, other, _ in numbered_pairs(prompt) if self._is_one(one, other)]}
        if not is_about_keys(request):
            return read_well(request)
        shown: dict[int, str] = {}
        for name in known_names(prompt):
            thing = self._given.thing_of.get(normal_name(name))
            if thing is not None:
                shown.setdefault(thing.number, name)
        events = [{"event": number, "keys": self._keys(text, shown)} for number, text in numbered_events(prompt)]
        return {"events": events}

    def _is_one(self, one: str, other: str) -> bool:
        found = [
            {
                self._given.thing_of[name(given)].number
                for name in (normal_name, title_name)
                if name(given) in self._given.thing_of
            }
            for given in (one, other)
        ]
        drawn = int.from_bytes(blake2b(f"{one}|{other}".encode(), digest_size=4).digest()) / 2**32
        return bool(found[0] & found[1]) != (drawn < self._errors)

    def _keys(self, text: str, shown: dict[int, str]) -> list[dict[str, Any]]:
        found: dict[int, tuple[Thing, list[str]]] = {}
        rest = text
        for name in self._names_in(text):
            if _holds(rest, name):
                rest = rest.replace(name, "\n")
                thing = self._given.thing_of[normal_name(name)]
                found.setdefault(thing.number, (thing, []))[1].append(name)
        keys = []
        for thing, names in found.values():
            value = shown.get(thing.number, names[0])
            others = [name for name in names if name != value]
            keys += (
                _written(thing.key_type, value, others)
                if self._says_same
                else [
                    {"type": thing.key_type, "value": name, "same_as": []}
                    for name in ([value] if thing.number in shown else names)
                ]
            )
        others = dict.fromkeys((name[1] or name[0]).strip() for name in _NAME.finditer(rest))
        keys += [{"type": "topic", "value": name, "same_as": []} for name in others if len(name) > 2]
        return keys[:_MOST_KEYS]

    def _names_in(self, text: str) -> list[str]:
        starts = {text[at : at + 2] for at in range(len(text))}
        return sorted((name for start in starts for name in self._by_start.get(start, ())), key=lambda n: (-len(n), n))


def _written(key_type: str, value: str, others: list[str]) -> list[dict[str, Any]]:
    return [{"type": key_type, "value": value, "same_as": others}]


def is_about_keys(request: dict[str, Any]) -> bool:
    """Whether a request asks for keys."""
    return schema_of(request) == "ExtractedKeys"


def title_thing(given: AliasSet, document: Document) -> str:
    """Which thing a document's title means: one of the set, else a thing of its own."""
    for name in (normal_name(document.title), title_name(document.title)):
        if name in given.thing_of:
            return f"t{given.thing_of[name].number}"
    return f"title {normal_name(document.title)}"
