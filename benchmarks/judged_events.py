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

from event_sample import DATA, Sampled, corpora, key_mark, sampled

from sag_retrieval.core.records import Key

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
