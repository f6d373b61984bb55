"""Judged places of documents that no rule was tuned on: shares of usable events, wrong keys and types, missed names.

    python benchmarks/judged_places.py [--book DIR]      the shares, by corpus and in all
    python benchmarks/judged_places.py --draw            draw the sample (once)
    python benchmarks/judged_places.py --show [--new]    events with keys; only those without a verdict
    python benchmarks/judged_places.py --note NOTES      add judgements to `judged_places.csv`

`judged_places.csv` holds places, hashes and verdicts. A verdict about an event holds for what it said then; a changed
one counts as unlabelled until it is judged. Of a place without an event, a usable statement is `lost`. Notes are those
of `judged_events.py`; only events and keys without a verdict are read from them.
"""

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from event_sample import Sampled, digest, key_mark
from judged_events import ENTITY, EVENT_FAULTS, RIGHT, USABLE, Row, judge, read_judged, shares
from place_sample import BOOK, Made, Place, draw, made_at, read_rows

from sag_retrieval.core.records import Event

JUDGED = Path(__file__).parent / "judged_places.csv"
FIELDS = ("corpus", "document", "start", "end", "content", "key", "type", "verdict")
PLACED = "place"
"""The row of a place of which nothing is said yet."""


class Labels:
    """What was judged, by place."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        """Sort rows by what they speak of."""
        self.places: list[Place] = []
        self.events: dict[tuple[Place, str], str] = {}
        self.keys: defaultdict[Place, dict[tuple[str, str], str]] = defaultdict(dict)
        for row in rows:
            place = Place(row["corpus"], row["document"], int(row["start"]), int(row["end"]))
            if row["verdict"] == PLACED:
                self.places.append(place)
            elif row["key"]:
                self.keys[place][row["key"], row["type"]] = row["verdict"]
            else:
                self.events[place, row["content"]] = row["verdict"]

    def count(self, made: Made) -> Counter[str]:
        """What is to be counted of a place, its event and its keys."""
        known = self.keys[made.place]
        if made.event is None:
            verdicts = {verdict for (place, _), verdict in self.events.items() if place == made.place}
            lost = sum(verdict == RIGHT for verdict in known.values())
            return Counter({"lost": 1, "missed": lost} if USABLE in verdicts else {"left out": 1})
        verdict = self.events.get((made.place, content_mark(made.event)))
        if verdict is None:
            return Counter({"unlabelled": 1})
        marks = [key_mark(key.key_type, key.value, key.unit) for key in made.keys]
        named = {mark[0] for mark in marks}
        missed = {mark[0] for mark, said in known.items() if said == RIGHT} - named
        found = Counter(f"key {known.get(mark, 'unlabelled')}" for mark in marks)
        entities = sum(key.key_type == ENTITY for key in made.keys)
        return found + Counter({f"event {verdict}": 1, "missed": len(missed), "keys": len(marks), ENTITY: entities})

    def is_new(self, made: Made) -> bool:
        """Whether something of a place has no verdict."""
        count = self.count(made)
        return bool(count["unlabelled"] or count["key unlabelled"])


def content_mark(event: Event) -> str:
    """The hash of what an event says."""
    return digest(event.content)


def _rows(place: Place, content: str, row: Row) -> dict[str, str]:
    values = (place.corpus, place.document, str(place.start), str(place.end), content, row.key, row.type, row.verdict)
    return dict(zip(FIELDS, values, strict=True))


def _sampled(made: Made) -> Sampled:
    content = made.event.content if made.event else ""
    return Sampled(made.place.corpus, "", made.place.mark, content, made.place.document, made.keys)


def note(labels: Labels, every: Iterable[Made], notes: list[str]) -> Iterator[dict[str, str]]:
    """The rows that notes say about places; a verdict that is known stays."""
    for made in every:
        if made.event is None or not labels.is_new(made):
            continue
        content = content_mark(made.event)
        for row in judge([_sampled(made)], notes):
            if row.key:
                if (row.key, row.type) not in labels.keys[made.place]:
                    yield _rows(made.place, "", row)
            elif (made.place, content) not in labels.events:
                yield _rows(made.place, content, row)


def write(rows: Iterable[dict[str, str]]) -> None:
    """Write the table of labels."""
    with JUDGED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: tuple(row.values())))


def _drawn(book: Path) -> list[dict[str, str]]:
    judged = {row.event for row in read_judged()}
    places = draw(book, lambda name, event: digest(name, event.content) in judged)
    return [_rows(place, "", Row("", "", "", "", "", PLACED)) for place in places]


def _line(made: Made) -> str:
    keys = " | ".join(
        f"{number}:{key.key_type}={key.value}{' ' + key.unit if key.unit else ''}"
        for number, key in enumerate(made.keys, start=1)
    )
    content = made.event.content[:420] if made.event else "(none)"
    return f"{made.place.mark[:6]} [{made.place.corpus}: {made.place.document[:30]}] {content}\n      {keys}"


def print_shares(labels: Labels, every: Iterable[Made]) -> None:
    """Print the shares by corpus and in all; a lost statement is an event that is not usable."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for made in every:
        for name in (made.place.corpus, "all"):
            counts[name] += labels.count(made)
    result = {}
    for name, count in sorted(counts.items()):
        judged = sum(count[f"event {verdict}"] for verdict in (USABLE, *EVENT_FAULTS)) + count["lost"]
        usable = round(100 * count[f"event {USABLE}"] / max(1, judged), 1)
        result[name] = {**shares(count), "usable": usable, "lost": count["lost"], "left out": count["left out"]}
    print(json.dumps(result, indent=1, ensure_ascii=False))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--book", type=Path, default=BOOK, help="HTML pages of a manual")
    parser.add_argument("--draw", action="store_true", help="draw the sample; refused where there is one")
    parser.add_argument("--show", action="store_true", help="print the events at the places")
    parser.add_argument("--new", action="store_true", help="of these only what has no verdict")
    parser.add_argument("--note", type=Path, help="a file with judgements")
    chosen = parser.parse_args()
    rows = read_rows(JUDGED)
    if chosen.draw:
        if rows:
            parser.error(f"{JUDGED.name} has a sample; delete the file to draw another one")
        write(_drawn(chosen.book))
        return
    labels = Labels(rows)
    every = list(made_at(labels.places, chosen.book))
    if chosen.note:
        write([*rows, *note(labels, every, chosen.note.read_text(encoding="utf-8").splitlines())])
    elif chosen.show:
        print("\n".join(_line(made) for made in every if not chosen.new or labels.is_new(made)))
    else:
        print_shares(labels, every)


if __name__ == "__main__":
    main()
