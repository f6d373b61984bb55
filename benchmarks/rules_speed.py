"""How much processor time the rules take, against the same rules in another checkout, and whether they make the same.

    python benchmarks/rules_speed.py OTHER_CHECKOUT [--rounds N] [--set NAME]

OTHER_CHECKOUT is a folder that `git worktree add OTHER_CHECKOUT COMMIT` made. Both versions read the same texts in
turns, slice by slice, each in a process of its own, so that a busy machine slows both alike. Printed by set: the median
over all slices of this version's time by that of the other (below 1: faster), megabytes of text per second of processor
time of both, and whether events, keys and triples are equal.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
_SLICES = 8
_CHARACTERS = 400_000
"""The most that is read of a set."""


def work() -> None:
    """Read slices of texts named on standard input; write the seconds that each took, and a hash of what was made."""
    from sag_pipeline.rules.events import offline_events  # noqa: PLC0415  of the checkout that PYTHONPATH names
    from sag_pipeline.rules.keys import offline_keys  # noqa: PLC0415
    from sag_pipeline.rules.relations import derive_triples  # noqa: PLC0415
    from sag_pipeline.rules.sections import offline_sections  # noqa: PLC0415
    from sag_pipeline.steps.chunks import ChunkOptions, split_chunks  # noqa: PLC0415
    from sag_pipeline.steps.sections import SectionOptions  # noqa: PLC0415
    from sag_retrieval.core.records import Document  # noqa: PLC0415

    options = SectionOptions(), ChunkOptions()
    for line in sys.stdin:
        rows = json.loads(Path(line.strip()).read_text(encoding="utf-8"))
        digest, started = blake2b(digest_size=8), time.process_time()
        for row in rows:
            document = Document(row["id"], "s", row["title"], row["text"], row["language"])
            chunks = split_chunks(document, offline_sections(document, options[0]), options[1])
            events = [event for found in offline_events(document, chunks) for event in found]
            keys = offline_keys(document, chunks, events)
            triples = derive_triples(document.document_id, events, keys, document.language)
            digest.update(repr((events, keys, triples)).encode("utf-8", "surrogatepass"))
        print(json.dumps([time.process_time() - started, digest.hexdigest()]), flush=True)


def sets() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Texts by set, with the language that both versions read them in."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    passages = pq.read_table(DATA / "musique_train.docs.parquet").to_pylist()
    reports = pq.read_table(DATA / "dragonball.docs.parquet").to_pylist()
    files = sorted((DATA / "business" / "documents").rglob("*.md"))
    yield "passages en", [_row(n, r["text"], "en", r["title"]) for n, r in enumerate(passages)]
    yield "reports zh", [_row(n, r["text"], "zh") for n, r in enumerate(reports) if r["language"] == "zh"]
    yield "reports en", [_row(n, r["text"], "en") for n, r in enumerate(reports) if r["language"] == "en"]
    yield "business md", [_row(n, path.read_text(encoding="utf-8"), "en") for n, path in enumerate(files)]


def _row(number: int, text: str, language: str, title: str = "title") -> dict[str, str]:
    return {"id": f"d{number}", "title": title, "text": text, "language": language}


def _slices(rows: list[dict[str, str]], folder: Path) -> list[Path]:
    total = 0
    taken = [row for row in rows if (total := total + len(row["text"])) <= _CHARACTERS]
    made = []
    for number in range(_SLICES):
        path = folder / f"{number}.json"
        path.write_text(json.dumps(taken[number::_SLICES]), encoding="utf-8")
        made.append(path)
    return made


def _reader(checkout: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).absolute()), "--work"]
    environment = {**os.environ, "PYTHONPATH": str(checkout.absolute())}
    return subprocess.Popen(
        command, cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _ask(reader: subprocess.Popen[str], path: Path) -> tuple[float, str]:
    assert reader.stdin is not None
    assert reader.stdout is not None
    print(path, file=reader.stdin, flush=True)
    seconds, digest = json.loads(reader.stdout.readline())
    return seconds, digest


def compare(other: Path, rounds: int, only: str = "") -> dict[str, dict[str, float | bool]]:
    """Ratio of seconds, megabytes per second and equality of what was made, by set; `only`: of one set."""
    found: dict[str, dict[str, float | bool]] = {}
    with TemporaryDirectory() as name:
        for kind, rows in sets():
            if only not in {"", kind}:
                continue
            ratios, same, seconds, read = [], True, [0.0, 0.0], 0
            slices = _slices(rows, Path(name))
            for turn in range(rounds):  # new processes: what one keeps in memory tells nothing about the first reading
                readers = [_reader(checkout) for checkout in ((ROOT, other) if turn % 2 else (other, ROOT))]
                for path in slices:
                    (first, made), (second, made_too) = (_ask(reader, path) for reader in readers)
                    mine, others = (first, second) if turn % 2 else (second, first)
                    ratios.append(mine / others)
                    seconds = [seconds[0] + mine, seconds[1] + others]
                    read += sum(len(row["text"].encode()) for row in json.loads(path.read_text(encoding="utf-8")))
                    same &= made == made_too
                for reader in readers:
                    reader.communicate()
            speeds = [round(read / 1e6 / each, 3) for each in seconds]
            found[kind] = {
                "ratio": round(median(ratios), 3),
                "mb_per_second": speeds[0],
                "other_mb_per_second": speeds[1],
                "same": same,
            }
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--set", default="", help="only this set, such as `passages en`")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
    elif given.other is None:
        parser.error("name another checkout, made by `git worktree add FOLDER COMMIT`")
    else:
        print(json.dumps(compare(given.other, given.rounds, given.set), indent=1))
