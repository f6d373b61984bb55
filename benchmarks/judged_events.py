"""Judged events and keys made without a model: shares of usable events, of wrong keys and types, and of missed names.

    python benchmarks/judged_events.py [--manuals DIR]             the shares, by half
    python benchmarks/judged_events.py --show dev                  sampled events of a half with their keys
    python benchmarks/judged_events.py --note NOTES --show dev     add judgements to `judged_events.csv`

`judged_events.csv` holds hashes and verdicts alone. An event of the sample that has no verdict counts as unlabelled, as
does a key that is neither right nor known to be wrong; a name that was wanted and is no key of its event is missed.

A line of notes is the start of an event's hash and what is to be said of it; all else is usable and right:

    00aa11 cut                the event is: cut, joined, nothing (states nothing), who (of whom or what is left open)
    00aa11 2 wrong            its second key is: wrong (cut or joined), stray, or `type person`: is a person
    00aa11 + person Ada Byron a name was missed
"""

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))


import gzip
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pyarrow.parquet as pq

from sag_retrieval.core.records import Key

sys.path.insert(0, str(Path(__file__).parent))

from scripted_server import ROOT
from sets import locomo

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.records import TITLE, Document
from sag_retrieval.language.detection import detect_language
from sag_retrieval.language.words import normal_name

DATA = ROOT.parent / "shared" / "data"
_HALVES = ("dev", "held_out")
_RANGE = 2**32


class Sampled(NamedTuple):
    """An event of the sample with its keys but the title."""

    corpus: str
    half: str
    event: str
    content: str
    title: str
    keys: tuple[Key, ...]


class Corpus(NamedTuple):
    """Documents, and the share of their events that the sample holds."""

    documents: Callable[[], Iterator[Document]]
    share: float


def read_folder(folder: Path) -> Iterator[Document]:
    """The documents of a folder."""
    for raw in list_source(str(folder)):
        read = parse_document(raw) if isinstance(raw, RawDocument) else raw
        if isinstance(read, Document):
            yield read


def _long(name: str) -> Iterator[Document]:
    text = gzip.decompress((DATA / "longdocs" / name).read_bytes()).decode("utf-8", "replace")
    yield Document(name, "longdocs", name.partition(".")[0], text, detect_language(text))


def _pages(folder: Path) -> Iterator[Document]:
    yield from read_folder(DATA / "business" / "documents" / "policies")
    if folder.is_dir():
        yield from read_folder(folder)


def _lihua() -> Iterator[Document]:
    for row in pq.read_table(DATA / "lihua_world.docs.parquet").to_pylist():
        yield Document(row["doc_id"], "lihua", row["doc_id"], row["text"], detect_language(row["text"]))


def _locomo() -> Iterator[Document]:
    for line in locomo().lines:
        yield Document(line["id"], "locomo", line["title"], line["text"], "en")


def of_domain(domain: str, language: str) -> Iterator[Document]:
    """The documents of a domain of DragonBall in a language."""
    for row in pq.read_table(DATA / "dragonball.docs.parquet").to_pylist():
        if row["domain"] == domain and row["language"] == language:
            yield Document(row["doc_id"], domain, row["name"], row["text"], language)


def _tables() -> Iterator[Document]:
    yield from read_folder(DATA / "business" / "documents" / "finance")
    yield from read_folder(DATA / "business" / "documents" / "invoices")


def corpora(manuals: Path) -> dict[str, Corpus]:
    """The corpora by name; `manuals` is the folder that `manuals/build.py` of the evaluation data writes."""
    return {
        "reports-zh": Corpus(lambda: _long("alibaba_fy2025_interim_zh.md.gz"), 0.025),
        "reports-en": Corpus(lambda: _long("nike_2023_annual_report.txt.gz"), 0.0138),
        "manuals": Corpus(lambda: _pages(manuals), 0.0083),
        "chats-lihua": Corpus(_lihua, 0.0034),
        "chats-locomo": Corpus(_locomo, 0.009),
        "law-zh": Corpus(lambda: of_domain("law", "zh"), 0.0245),
        "law-en": Corpus(lambda: of_domain("law", "en"), 0.0215),
        "tables": Corpus(_tables, 0.076),
    }


def digest(*parts: str) -> str:
    """The hash that stands for some text in the labels."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def half_of(event: str) -> str:
    """The half that an event belongs to."""
    return _HALVES[int(event[-2:], 16) % 2]


def sampled(name: str, corpus: Corpus) -> tuple[list[Sampled], dict[str, int]]:
    """The sampled events of a corpus, each content once; and of all its events, how many keys have each type."""
    found: dict[str, Sampled] = {}
    types: dict[str, int] = {}
    for document in corpus.documents():
        chunks = split_chunks(document, offline_sections(document))
        events = with_context_dates(document, [event for made in offline_events(document, chunks) for event in made])
        keys: dict[str, list[Key]] = {}
        for link in offline_keys(document, chunks, events):
            if link.key.key_type != TITLE:
                types[link.key.key_type] = types.get(link.key.key_type, 0) + 1
                keys.setdefault(link.event_id, []).append(link.key)
        for event in events:
            identity = digest(name, event.content)
            if int(identity[:8], 16) < corpus.share * _RANGE:
                own = tuple(keys.get(event.event_id, ()))
                found.setdefault(
                    identity, Sampled(name, half_of(identity), identity, event.content, document.title, own)
                )
    return sorted(found.values(), key=lambda one: one.event), types


def key_mark(key_type: str, value: object, unit: str | None = None) -> tuple[str, str]:
    """What stands for a key in the labels: the hash of its value, and its type."""
    bare = normal_name(value) if isinstance(value, str) else json.dumps([value, unit])
    return digest("key", bare), key_type


JUDGED = Path(__file__).parent / "judged_events.csv"
FIELDS = ("corpus", "half", "event", "key", "type", "verdict")
USABLE, RIGHT = "usable", "right"
EVENT_FAULTS = ("cut", "joined", "nothing", "who")
KEY_FAULTS = ("wrong", "stray", "type")
ENTITY = "entity"


class Row(NamedTuple):
    """A verdict about an event, or about a key of it."""

    corpus: str
    half: str
    event: str
    key: str
    type: str
    verdict: str


class Verdicts:
    """What was judged, by event."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Sort rows by what they speak of."""
        self.events: dict[str, str] = {}
        self.keys: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        for row in rows:
            if row.key:
                self.keys[row.event][row.key, row.type] = row.verdict
            else:
                self.events[row.event] = row.verdict

    def count(self, event: Sampled) -> Counter[str]:
        """What is to be counted of an event and its keys."""
        if event.event not in self.events:
            return Counter({"unlabelled": 1})
        known = self.keys[event.event]
        made = [_mark(key) for key in event.keys]
        named = {mark[0] for mark in made}
        missed = {mark[0] for mark, verdict in known.items() if verdict == RIGHT} - named
        found = Counter(f"key {known.get(mark, 'unlabelled')}" for mark in made)
        entities = sum(key.key_type == ENTITY for key in event.keys)
        return found + Counter(
            {f"event {self.events[event.event]}": 1, "missed": len(missed), "keys": len(made), ENTITY: entities}
        )


def _mark(key: Key) -> tuple[str, str]:
    return key_mark(key.key_type, key.value, key.unit)


def read_judged() -> list[Row]:
    """The verdicts that are stored."""
    if not JUDGED.exists():
        return []
    with JUDGED.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def judge(events: Sequence[Sampled], notes: Iterable[str]) -> Iterator[Row]:
    """The rows that notes say about events; what no note names is usable and right."""
    said: defaultdict[str, list[list[str]]] = defaultdict(list)
    for line in notes:
        if line.strip():
            start, *words = line.split()
            said[start].append(words)
    for event in events:
        own = [words for start, each in said.items() if event.event.startswith(start) for words in each]
        base = (event.corpus, event.half, event.event)
        yield Row(*base, "", "", next((words[0] for words in own if words[0] in EVENT_FAULTS), USABLE))
        by_place = {int(words[0]): words[1:] for words in own if words[0].isdigit()}
        for place, key in enumerate(event.keys, start=1):
            verdict, *kind = by_place.get(place, [RIGHT])
            yield Row(*base, *_mark(key), verdict)
            if kind:
                yield Row(*base, _mark(key)[0], kind[0], RIGHT)
        for words in own:
            if words[0] == "+":
                name, kind_of_name = key_mark(words[1], " ".join(words[2:]))
                yield Row(*base, name, kind_of_name, RIGHT)


def note(events: Sequence[Sampled], notes: Iterable[str]) -> None:
    """Store judgements; of what was judged before, those of the same events and keys are replaced."""
    rows = {(row.event, row.key, row.type): row for row in (*read_judged(), *judge(events, notes))}
    with JUDGED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows(sorted(rows.values()))


def shares(counts: Counter[str]) -> dict[str, Any]:
    """Percent: usable of judged events, faults of judged keys, missed of wanted names, `entity` of all keys."""
    events = sum(counts[f"event {verdict}"] for verdict in (USABLE, *EVENT_FAULTS))
    keys = sum(counts[f"key {verdict}"] for verdict in (RIGHT, *KEY_FAULTS))
    wanted = counts["key right"] + counts["key type"] + counts["missed"]
    percent = {
        "usable": (counts[f"event {USABLE}"], events),
        "wrong or stray": (counts["key wrong"] + counts["key stray"], keys),
        "wrong type": (counts["key type"], keys),
        "missed": (counts["missed"], wanted),
        ENTITY: (counts[ENTITY], counts["keys"]),
    }
    return {
        "events": events,
        "unlabelled": counts["unlabelled"],
        "keys": keys,
        "unlabelled_keys": counts["key unlabelled"],
        **{name: round(100 * part / max(1, of), 1) for name, (part, of) in percent.items()},
        "faults": {name: n for name in EVENT_FAULTS if (n := counts[f"event {name}"])},
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manuals", type=Path, default=DATA / "manuals" / "pages", help="what manuals/build.py wrote")
    parser.add_argument("--show", choices=("dev", "held_out"), help="print the sampled events of a half")
    parser.add_argument("--unlabelled", action="store_true", help="of these only what has no verdict")
    parser.add_argument("--note", type=Path, help="a file with judgements of the events that would be shown")
    chosen = parser.parse_args()
    verdicts = Verdicts(read_judged())
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, float] = {}
    shown: list[Sampled] = []
    for name, corpus in corpora(chosen.manuals).items():
        events, kinds = sampled(name, corpus)
        types[name] = round(100 * kinds.get(ENTITY, 0) / max(1, sum(kinds.values())), 1)
        for event in events:
            found = verdicts.count(event)
            counts[f"{name} {event.half}"] += found
            counts[event.half] += found
            is_wanted = not chosen.unlabelled or found["unlabelled"] or found["key unlabelled"]
            shown += [event] if event.half == chosen.show and is_wanted else []
    if chosen.note:
        note(shown, chosen.note.read_text(encoding="utf-8").splitlines())
    elif chosen.show:
        print("\n".join(map(_line, shown)))
    else:
        result = {name: shares(count) for name, count in sorted(counts.items())}
        print(json.dumps({**result, "entity of all keys": types}, indent=1, ensure_ascii=False))


def _line(event: Sampled) -> str:
    keys = " | ".join(
        f"{place}:{key.key_type}={key.value}{' ' + key.unit if key.unit else ''}"
        for place, key in enumerate(event.keys, start=1)
    )
    return f"{event.event[:6]} [{event.corpus}: {event.title[:30]}] {event.content[:420]}\n      {keys}"


if __name__ == "__main__":
    main()
