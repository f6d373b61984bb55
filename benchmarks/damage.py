"""What a reader does with a damaged release: refuse it, answer as before, answer wrongly, or die.

    python benchmarks/damage.py [500] [--small] [--seed 3] [--home HOME]

Each damage is done to a copy. Another process opens it and searches by every method, with and without SQL, asks, reads
every table and writes a report. Fails on an answer that the undamaged release does not give, a dead process and an
error that is not the project's own.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_retrieval import open_release
from sag_retrieval.api import Release
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import SagError
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.reader import open_reader
from sag_retrieval.release.releases import Releases
from sag_retrieval.search.registry import METHODS
from sag_retrieval.topics.stored import release_communities

PAGE: Final = 4096
SWAP: Final = "swap"


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done to which file; `place` is a share of its length, `other` the second file of a swap."""

    kind: str
    file: str
    place: float
    other: str = ""

    def __str__(self) -> str:
        where = f" with {self.other}" if self.other else f" at {self.place:.4f}" if self.kind in _AT_A_PLACE else ""
        return f"{self.kind} {self.file}{where}"


def draw(files: Sequence[str], count: int, seed: int) -> Iterator[Damage]:
    random_of = random.Random(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        file = random_of.choice(files)
        other = random_of.choice([each for each in files if each != file]) if kind == SWAP else ""
        yield Damage(kind, file, random_of.random(), other)


def inflict(folder: Path, damage: Damage) -> bool:
    """Do a damage; files of other links to the same bytes stay as they are. Whether any byte differs now."""
    path = folder / damage.file
    if damage.kind == SWAP:
        other = folder / damage.other
        draft = path.with_name(f"{path.name}.swapped")
        path.rename(draft)
        other.rename(path)
        draft.rename(other)
        return path.read_bytes() != other.read_bytes()
    before = path.read_bytes()
    path.unlink()
    if damage.kind == "folder instead":
        path.mkdir()
    if damage.kind not in CHANGES:
        return True
    after = CHANGES[damage.kind](before, damage.place)
    path.write_bytes(after)
    return before != after


def _flip(before: bytes, place: float) -> bytes:
    after = bytearray(before)
    if after:
        after[int(place * len(after))] ^= 1 << int(place * 8191) % 8
    return bytes(after)


def _zero_page(before: bytes, place: float) -> bytes:
    start = int(place * len(before)) // PAGE * PAGE
    return before[:start] + bytes(len(before[start : start + PAGE])) + before[start + PAGE :]


CHANGES: Final[dict[str, Callable[[bytes, float], bytes]]] = {
    "flip a bit": _flip,
    "truncate": lambda before, place: before[: int(place * len(before))],
    "extend": lambda before, place: before + random.Random(place).randbytes(1 + int(place * PAGE)),
    "zero a page": _zero_page,
    "empty": lambda *_: b"",
}
KINDS: Final = sorted([*CHANGES, "delete", "folder instead", SWAP])
_AT_A_PLACE: Final = ("flip a bit", "truncate", "zero a page")


class Copy:
    """A folder of links to the files of another one, damaged and mended again without copying them."""

    def __init__(self, original: Path, root: Path) -> None:
        self.original = original
        self._root = root
        self._number = 0
        self.folder = root / "0"
        shutil.copytree(original, self.folder, copy_function=os.link)

    def damage(self, damage: Damage, below: str = "") -> bool:
        """Do one damage below a folder of the copy, which gets a new name: no cache knows it. Whether bytes differ."""
        self._number += 1
        self.folder = self.folder.rename(self._root / str(self._number))
        return inflict(self.folder / below, damage)

    def mend(self, damage: Damage, below: str = "") -> None:
        for name in filter(None, (damage.file, damage.other)):
            path = self.folder / below / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            path.hardlink_to(self.original / below / name)


DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"
QUESTIONS = ("Who built the buoy, and where?", "谁制造了浮标？")
SECONDS = 120.0
SAME, REFUSED, WRONG, RAW, DEAD = "same answers", "refused", "WRONG", "RAW", "DEAD"
Answers = dict[str, list[object]]
"""By what was asked: `answer`, `refused` or `raw`, and what came."""
WORST = (SAME, REFUSED, WRONG, RAW, DEAD)


def operations(out: Path) -> dict[str, Callable[[Release], object]]:
    asked: dict[str, Callable[[Release], object]] = {}
    for method in METHODS:
        for number, question in enumerate(QUESTIONS):
            asked[f"search {method} {number}"] = lambda r, m=method, q=question: found(r, q, method=m)
    english = "SELECT document_id FROM documents WHERE language = 'en'"
    asked["search sql"] = lambda r: found(r, QUESTIONS[0], sql=english)
    asked["search where"] = lambda r: found(r, QUESTIONS[1], where={"language": "zh"})
    asked["ask"] = lambda r: [answer.text for answer in (r.ask(question) for question in QUESTIONS)]
    asked["tables"] = lambda r: [hashed(repr(r.table(name).to_dict("list"))) for name in r.index.rows]
    asked["report"] = lambda r: told(r, out)
    return asked


def found(release: Release, question: str, **options: Any) -> list[object]:  # noqa: ANN401  what `search` takes
    hits = release.search(question, **options).hits
    return [[hit.chunk_id, round(hit.score, 9), hashed(repr((hit.text, hit.events, hit.keys)))] for hit in hits]


def told(release: Release, out: Path) -> list[str]:
    with tempfile.TemporaryDirectory(dir=out) as folder:
        release.report(where={"language": "en"}, out=folder)
        return [hashed(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.md"))]


def hashed(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def serve(pipe: Connection) -> None:
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  as long as the process
    while True:
        home, answers = pipe.recv(), Answers()
        try:
            release = open_release(home)
        except SagError as error:
            answers["open"] = ["refused", str(error)]
        except BaseException:  # noqa: BLE001  what it is, is the finding
            answers["open"] = ["raw", traceback.format_exc()]
        else:
            with release:
                answers |= {name: answered(ask, release) for name, ask in operations(home).items()}
        pipe.send(answers)


def answered(ask: Callable[[Release], object], release: Release) -> list[object]:
    try:
        return ["answer", ask(release)]
    except SagError as error:
        return ["refused", f"{type(error).__name__}: {error}"]
    except BaseException:  # noqa: BLE001  what it is, is the finding
        return ["raw", traceback.format_exc()]


class Reader:
    """A process that reads releases, started again when it died or hung."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=serve, args=(far,), daemon=True)
        self._process.start()
        far.close()

    def ask(self, home: Path) -> Answers | None:
        """The answers; None from a process that died or gave none in time."""
        try:
            self._pipe.send(home)
            if self._pipe.poll(SECONDS):
                answers: Answers = self._pipe.recv()
                return answers
        except (EOFError, OSError):
            pass
        self.close()
        self._start()
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.join()


def judge(answers: Answers | None, truth: Answers) -> tuple[str, str]:
    if answers is None:
        return DEAD, "the process ended or hung"
    worst, shown = SAME, ""
    for name, (kind, value) in answers.items():
        is_same = [kind, value] == truth.get(name)
        one = {"raw": RAW, "refused": REFUSED}.get(kind, SAME if is_same else WRONG)
        if WORST.index(one) > WORST.index(worst):
            worst, shown = one, f"{name}: {value}"
    return worst, shown


@contextmanager
def release_home(given: Path | None) -> Iterator[Path]:
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        ingest = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", str(DOCUMENTS)]
        subprocess.run(ingest, env=os.environ | {"SAG_HOME": str(home)}, cwd=folder, check=True, capture_output=True)
        release_communities(open_reader(home, None, open_embedder), ClusterOptions())
        yield home


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=2_000, help="damages, 2,000 if not given")
    parser.add_argument("--small", action="store_true", help="60 damages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", type=Path, help="damage copies of the current release here")
    options = parser.parse_args()
    with release_home(options.home) as home:
        return damage_all(home, 60 if options.small else options.count, options.seed)


def damage_all(home: Path, count: int, seed: int) -> int:
    original = Releases(home).path()
    files = sorted(path.relative_to(original).as_posix() for path in original.rglob("*") if path.is_file())
    table: dict[str, Counter[str]] = defaultdict(Counter)
    bad: list[str] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=home.parent) as root:
        copy, reader = Copy(home, Path(root)), Reader()
        below = f"releases/{original.name}"
        truth = reader.ask(copy.folder)
        if truth is None or any(kind != "answer" for kind, _ in truth.values()):
            sys.exit(f"the undamaged release does not answer: {truth}")
        for damage in draw(files, count, seed):
            is_changed = copy.damage(damage, below)
            outcome, shown = judge(reader.ask(copy.folder), truth)
            copy.mend(damage, below)
            table[damage.kind][outcome if is_changed else "no byte differs"] += 1
            if outcome in WORST[2:]:
                bad.append(f"{outcome}: {damage}: {shown}")
        reader.close()
    show(table, bad, time.perf_counter() - started, len(files))
    return 1 if bad else 0


def show(table: dict[str, Counter[str]], bad: list[str], seconds: float, files: int) -> None:
    outcomes = (REFUSED, SAME, "no byte differs", WRONG, RAW, DEAD)
    print(f"{'':16}" + "".join(f"{outcome:>17}" for outcome in outcomes))
    for kind in sorted(table):
        print(f"{kind:16}" + "".join(f"{table[kind][outcome]:17}" for outcome in outcomes))
    total = sum(table.values(), Counter[str]())
    print(f"{'all':16}" + "".join(f"{total[outcome]:17}" for outcome in outcomes))
    print(f"{total.total()} damages to {files} files in {seconds:.0f} s")
    for each in bad[:20]:
        print(f"\n{each}")


if __name__ == "__main__":
    sys.exit(main())
