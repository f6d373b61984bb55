"""Hostile and broken files through the real reading of a source: is any run stopped, any record lost or doubled?

python benchmarks/bombs.py            every hostile file and 20,000 mutations of good files
python benchmarks/bombs.py --small    hostile files that are quickly made and 300 mutations, for every change
"""

import argparse
import os
import random
import re
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.options import IngestOptions
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import Store
from sag_pipeline.sync import bounded, sync
from sag_pipeline.sync.bounded import _PATIENCE, BoundedReader
from sag_retrieval.core.records import Document, Quarantined
from tests.support.hostile_files import archive, bombs, good

SMALL = SourceOptions(unpacked_bytes=50_000_000, conversion_seconds=1, conversion_memory=512 << 20)
LONG = SourceOptions(unpacked_bytes=100_000_000, conversion_seconds=3, conversion_memory=1 << 30)
LONG_ONLY = frozenset(
    """bzip2-part.xlsx cdata.html commas.csv declarations.html deep-arrays.pdf deep-dictionaries.pdf deep-tables.docx
    deep.html entities.html inflating-thrice.pdf inflating-twice.pdf instructions.html length-loop.pdf long-string.pdf
    lzma-part.docx lzw.pdf many-attributes.docx many-attributes.html many-attributes.xlsx many-empty-paragraphs.docx
    many-large-parts.pptx many-lines.pdf many-merged.xlsx many-names.xlsx many-namespaces.docx many-saves.pdf
    many-texts.pdf million-empty-cells.xlsx million-empty-rows.xlsx one-long-run.docx only-header.pdf
    open-attributes.html open-parentheses.pdf open-tags.html runs.pdf same-page-often.pdf spans.html
    texts-in-one-place.pdf unclosed.html wide-table.docx wide-table.html""".split()
)
"""Hostile files that take long to make, or until they break a bound like another one that is not here."""
SLACK = 10
"""Seconds beyond the bounds before a file counts as a hang; the machine may be busy."""


@dataclass(slots=True)
class Seen:
    seconds: dict[str, float] = field(default_factory=dict)
    reads: Counter[str] = field(default_factory=Counter)
    peak: int = 0


SEEN = Seen()


class TimedReader(BoundedReader):
    def read(self, raw: RawDocument) -> Document | Quarantined:
        started = time.perf_counter()
        try:
            return super().read(raw)
        finally:
            SEEN.seconds[raw.path] = time.perf_counter() - started
            SEEN.reads[f"{raw.path}:{raw.line}"] += 1


@contextmanager
def watched() -> Iterator[None]:
    stop = threading.Event()

    def watch() -> None:
        me = psutil.Process(os.getpid())
        while not stop.wait(0.02):
            for child in me.children():
                try:
                    SEEN.peak = max(SEEN.peak, child.memory_info().rss)
                except psutil.Error:
                    continue

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def mutated(payload: bytes, chance: random.Random) -> bytes:
    """The bytes with a few of them flipped, inserted, deleted, repeated, or the end cut off."""
    changed = bytearray(payload)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(changed) + 1)
        length = chance.choice((1, 1, 2, 8, 64))
        match chance.randrange(5):
            case 0 if place < len(changed):
                changed[place] ^= 1 << chance.randrange(8)
            case 1:
                changed[place:place] = chance.randbytes(length)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = changed[place : place + length] * chance.randint(1, 50)
            case _ if chance.random() < 0.2:
                del changed[place:]
    return bytes(changed) or b"x"


def mutation(payload: bytes, chance: random.Random) -> bytes:
    """A mutation of a file; every other one of an office file is inside one of its parts."""
    if payload[:2] != b"PK" or chance.random() < 0.5:
        return mutated(payload, chance)
    with zipfile.ZipFile(BytesIO(payload)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    wanted = [n for n in parts if re.search("document|sheet1|slide1|workbook|rels|Types|presentation", n)]
    name = chance.choice(wanted)
    return archive(parts | {name: mutated(parts[name], chance)})


def write(folder: Path, mutations: int, *, is_small: bool) -> tuple[int, set[str]]:
    chance = random.Random(20)
    hostile = {name: make for name, make in bombs().items() if not (is_small and name in LONG_ONLY)}
    for name, make in hostile.items():
        (folder / name).write_bytes(make())
    samples = good()
    kinds = sorted(samples)
    for number in range(mutations):
        suffix = kinds[number % len(kinds)]
        (folder / f"mutation-{number:05}{suffix}").write_bytes(mutation(samples[suffix], chance))
    names = {f"{place}-good{suffix}" for place in ("0", "m", "z") for suffix in kinds}
    for name in names:
        (folder / name).write_bytes(samples[name[name.index(".") :]])
    return len(hostile), names


def kind_of(reason: str) -> str:
    """A reason without its numbers, names and quotes."""
    for start in ("broken", "no text", "converting it needs more", "the converter", "could not be read"):
        if reason.startswith(start):
            return " ".join(reason.split(";", maxsplit=1)[0].split(":", maxsplit=1)[0].split()[:9])
    return re.sub(r"\S*[\d/.']\S*", "…", reason)[:60]


def violations(folder: Path, store: Store, names: set[str]) -> list[str]:
    entries = store.ledger.entries("step = 'documents'")
    found = Counter(entry.path for entry in entries)
    wanted = dict.fromkeys((path.name for path in folder.iterdir()), 1)
    for path in folder.glob("*.jsonl"):
        wanted[path.name] = max(1, sum(bool(line.strip()) for line in path.read_bytes().split(b"\n")))
    wrong = [f"{n}: {found[n]} entries instead of {wanted[n]}" for n in wanted if found[n] != wanted[n]]
    done = {entry.path for entry in entries if entry.status == "done"}
    ids = [entry.unit for entry in entries if entry.status == "done"]
    rows = store.read("documents", ids)
    wrong += [f"{unit}: {len(rows[unit])} rows" for unit in ids if len(rows[unit]) != 1]
    wrong += [f"{e.path}: no reason" for e in entries if e.status != "done" and not e.reason]
    wrong += [f"{name}: good, yet skipped" for name in sorted(names - done)]
    return wrong


def run(
    folder: Path, home: Path, options: SourceOptions, names: set[str]
) -> tuple[list[Entry], list[str], list[float]]:
    """Follow the folder twice: the entries, what is wrong, and the seconds of each run."""
    step = step_of("documents", IngestOptions(source=options))
    seconds = []
    with Store.locked(home) as store, watched():
        for _ in range(2):
            reads, before = SEEN.reads.total(), store.ledger.entries("step = 'documents'")
            started = time.perf_counter()
            sync.sync_source(store, step, str(folder), sync.SyncOptions(source=options))
            seconds.append(time.perf_counter() - started)
        entries, wrong = store.ledger.entries("step = 'documents'"), violations(folder, store, names)
    if SEEN.reads.total() != reads:
        wrong.append(f"{SEEN.reads.total() - reads} files were read again though nothing changed")
    if entries != before:
        wrong.append("the second run changed what the first one had found")
    most = _PATIENCE * options.conversion_seconds + SLACK
    wrong += [f"{name}: hung for {s:.1f} s" for name, s in SEEN.seconds.items() if s > most]
    return entries, wrong, seconds


def show(entries: list[Entry], wrong: list[str], seconds: list[float]) -> None:
    aside = [entry for entry in entries if entry.status != "done"]
    print(f"converted {len(entries) - len(aside):,}, skipped {len(aside):,}:")
    for reason, number in Counter(kind_of(entry.reason) for entry in aside).most_common(40):
        print(f"  {number:>6,}  {reason}")
    slowest = max(SEEN.seconds, key=lambda name: SEEN.seconds[name])
    print(f"slowest file {SEEN.seconds[slowest]:.1f} s ({slowest}); runs {seconds[0]:.0f} s and {seconds[1]:.1f} s")
    print(f"peak memory of the converting process {SEEN.peak / 1e6:.0f} MB")
    print(f"hung {sum(': hung' in line for line in wrong)}; lost, doubled, read again or hung: {len(wrong)}")
    for line in wrong[:50]:
        print(f"  {line}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    given = parser.parse_args()
    options = SMALL if given.small else LONG
    count = 300 if given.small else 20_000
    bounded.BoundedReader = TimedReader  # type: ignore[misc]  the same reader, with a clock
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "source"
        folder.mkdir()
        hostile, names = write(folder, count, is_small=given.small)
        print(f"bounds: {options}")
        print(f"{hostile} hostile files, {count:,} mutations, {len(names)} good files")
        entries, wrong, seconds = run(folder, Path(temporary) / "home", options, names)
        show(entries, wrong, seconds)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
