"""What a month of nightly ingests costs, of this checkout alone or beside another one in the same run.

    python benchmarks/day.py                                  2,000 documents, 30 nights
    python benchmarks/day.py --small                          150 documents, 3 nights
    python benchmarks/day.py --against CHECKOUT               2,000 documents, 30 nights, both in turn
    python benchmarks/day.py --small --against CHECKOUT       the same, and how many times as much CHECKOUT needs

Each night 1 % of the documents are added, .3 % change and .1 % go (at least one each); both checkouts read the same
folder, one after the other, each into a home of its own. A row a night: processor seconds and seconds of `sag ingest`
as a process, megabytes that it wrote, bytes and files of its home, milliseconds of processor of a search (p50 / p95).
At the end: the first publish, the median night, a single changed document, and bytes on disk for each byte of text.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PARAGRAPHS = 12
ADDED, CHANGED, REMOVED = 0.01, 0.003, 0.001
ROUNDS = 3


@dataclass
class Night:
    """What one ingest cost, and what a search of its release costs."""

    documents: int
    cpu_s: float
    s: float
    written_mb: float
    disk_mb: float
    files: int
    search_p50: float
    search_p95: float
    hits: list[list[str]] = field(repr=False)

    def line(self, what: str, who: str) -> str:
        """One row of the table."""
        values = (self.documents, self.cpu_s, self.s, self.written_mb, self.disk_mb, self.files)
        told = "  ".join(f"{value:9.1f}" if isinstance(value, float) else f"{value:9}" for value in values)
        return f"{what:10} {who:7} {told}  {self.search_p50:6.2f} / {self.search_p95:.2f}"


def write(inbox: Path, number: int, version: int = 0) -> int:
    """Write one document of some paragraphs in one language; its bytes."""
    from benchmarks.nights import text_of  # noqa: PLC0415  after the path is set

    first = 2 * PARAGRAPHS * number + number % 2
    text = "\n".join(text_of(first + 2 * place, version) for place in range(PARAGRAPHS))
    path = inbox / f"file-{number}.md"
    path.write_text(text, encoding="utf-8")
    return path.stat().st_size


def nights(inbox: Path, count: int, of: int) -> Iterator[str]:
    """Change the folder, night by night: new numbers come at the end, the oldest go, and some between change."""
    last, gone = of, 0
    for number in range(of):
        write(inbox, number)
    yield "first"
    for night in range(1, count + 1):
        for _ in range(max(1, round(ADDED * last))):
            write(inbox, last)
            last += 1
        for place in range(max(1, round(CHANGED * last))):
            write(inbox, gone + (7919 * night + 104_729 * place) % (last - gone - 10) + 5, night)
        for _ in range(max(1, round(REMOVED * last))):
            (inbox / f"file-{gone}.md").unlink()
            gone += 1
        yield f"night {night}"
    write(inbox, last - 1, count + 1)
    yield "one"


def questions() -> list[str]:
    """Questions in both languages about what the documents say."""
    return [
        question
        for number in range(0, 400, 40)
        for question in (f"Who is served by Fleet Number {number}?", f"第{number + 1}号船队为哪家公司供货?")
    ]


def search(home: str) -> dict[str, object]:
    """Milliseconds of the processor of one search, and what was found."""
    from sag_retrieval import open_release  # noqa: PLC0415  of the checkout that is measured

    with open_release(home) as release:
        hits = [[hit.text for hit in release.search(question, top_k=10).hits] for question in questions()]
        times = []
        for question in questions() * ROUNDS:
            start = time.thread_time()
            release.search(question, top_k=10)
            times.append(1000 * (time.thread_time() - start))
    times.sort()
    return {"p50": statistics.median(times), "p95": times[int(0.95 * (len(times) - 1))], "hits": hits}


def installed(checkout: Path, folder: Path) -> str:
    """Write a checkout's entry points into a folder, as installing it would; the code of its command `sag`.

    What is installed may be another version, whose entry points name modules that the checkout does not have.
    """
    told = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"console_scripts": told["scripts"], **told.get("entry-points", {})}
    lines = [f"[{group}]\n" + "\n".join(f"{n} = {v}" for n, v in names.items()) for group, names in groups.items()]
    info = folder / f"{told['name']}-{told['version']}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    header = f"Metadata-Version: 2.1\nName: {told['name']}\nVersion: {told['version']}\n"
    (info / "METADATA").write_text(header, encoding="utf-8")
    module, _, function = told["scripts"]["sag"].partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def run(checkout: Path, folder: Path, inbox: Path) -> Night:
    """Ingest with a checkout, then search with it."""
    (folder / "dagster").mkdir(exist_ok=True)
    (folder / "entries").mkdir(exist_ok=True)
    command = installed(checkout, folder / "entries")
    path = os.pathsep.join([str(folder / "entries"), str(checkout)])
    told = {"SAG_HOME": str(folder / "home"), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    told |= {"DAGSTER_HOME": str(folder / "dagster"), "SAG_CHAT_MODEL": "offline", "SAG_EMBEDDING_MODEL": "hashing"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", command, "ingest", str(inbox)],
        env=os.environ | told, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{checkout}: {done.stderr[-2000:] or done.stdout[-2000:]}")
    asked = [sys.executable, str(Path(__file__).resolve()), "--search", str(folder / "home")]
    found = json.loads(subprocess.run(asked, env=os.environ | told, capture_output=True, text=True, check=True).stdout)
    disk, files = on_disk(folder / "home")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    written = (after.ru_oublock - before.ru_oublock) * 512 / 1e6
    shown = (len(list(inbox.iterdir())), cpu, seconds, written, disk / 1e6, files)
    return Night(*shown, found["p50"], found["p95"], found["hits"])


def on_disk(folder: Path) -> tuple[int, int]:
    """Bytes of the files, each hard link once, and how many files there are."""
    listed = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum({(each.st_dev, each.st_ino): each.st_blocks * 512 for each in listed}.values()), len(listed)


def summary(rows: dict[str, Night], text: float) -> dict[str, float]:
    """The figures that a reader asks for first."""
    months = [row for name, row in rows.items() if name.startswith("night")]
    last = rows["one"]
    return {
        "first publish, cpu s": rows["first"].cpu_s,
        "a night, cpu s": statistics.median(row.cpu_s for row in months),
        "a night, written MB": statistics.median(row.written_mb for row in months),
        "one document, cpu s": last.cpu_s,
        "disk, bytes for a byte of text": last.disk_mb / text,
        "files": last.files,
        "search p50, cpu ms": last.search_p50,
        "search p95, cpu ms": last.search_p95,
    }


def measure(documents: int, count: int, checkouts: dict[str, Path]) -> dict[str, object]:
    """All rows, printed as they come, and the summary of each checkout."""
    rows: dict[str, dict[str, Night]] = {name: {} for name in checkouts}
    with TemporaryDirectory() as name:
        inbox = Path(name) / "inbox"
        inbox.mkdir()
        print(f"{'':18} documents      cpu s          s  written MB   disk MB     files  search ms p50 / p95")
        for step in nights(inbox, count, documents):
            for who, checkout in checkouts.items():
                folder = Path(name) / who
                folder.mkdir(exist_ok=True)
                rows[who][step] = run(checkout, folder, inbox)
                print(rows[who][step].line(step, who), flush=True)
        text = sum(path.stat().st_size for path in inbox.iterdir()) / 1e6
    told: dict[str, object] = {"text MB": round(text, 2)}
    figures = {who: summary(each, text) for who, each in rows.items()}
    for who, each in figures.items():
        told[who] = {name: round(figure, 2) for name, figure in each.items()}
    if len(figures) > 1:
        now, other = figures.values()
        told["against / now"] = {name: round(other[name] / now[name], 2) for name in now if now[name]}
        pairs = zip(*(each["one"].hits for each in rows.values()), strict=True)
        told["same hits"] = round(statistics.mean(len({*a} & {*b}) / max(1, len({*a} | {*b})) for a, b in pairs), 3)
    return told


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--search", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        print(json.dumps(search(given.search)))
        return
    if given.nights < 1:
        parser.error(f"--nights {given.nights} must be at least 1")
    sys.path.insert(0, str(ROOT))
    checkouts = {"now": ROOT} | ({"against": given.against.resolve()} if given.against else {})
    documents, count = (150, 3) if given.small else (given.documents, given.nights)
    print(json.dumps(measure(documents, count, checkouts), indent=1))


if __name__ == "__main__":
    main()
