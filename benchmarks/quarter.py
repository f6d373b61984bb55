"""A simulated quarter: does a home that is ingested every night stay in proportion to its documents?

    python benchmarks/quarter.py            90 nights
    python benchmarks/quarter.py --small    12 nights
    python benchmarks/quarter.py 30         30 nights

It begins with a home of version 0.1. Each night documents come, change and go; each week ends with a report. A row a
week: what the home and Dagster's records take, and the seconds and memory of its nights. The last line compares the
last week with the second, the first that has a whole week of history behind it, next to what the documents grew by.
"""

import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from sag_pipeline.jobs import run_ingest, run_report
from sag_retrieval import open_release
from tests.support.kept_home import unpack

PLACES = ("Port Ansel", "Mill Haven", "Grey Harbour", "South Quay", "Low Ferry")
FIRMS = ("Lumen Optics", "Quill Instruments", "Heron Works", "Ansel Freight", "North Cable")
ZH_PLACES = ("安塞港", "磨坊湾", "灰港", "南码头", "下渡口")
ZH_FIRMS = ("光澜公司", "翎羽公司", "海鹭公司", "安塞公司", "北缆公司")


def text_of(number: int, version: int = 0) -> str:
    """One document, in English or Chinese; another version says another number."""
    firm, place, year = number % 5, (number // 5) % 5, 1990 + number % 40
    count = 3 + number + 1000 * version
    if number % 2:
        one, where = ZH_FIRMS[firm], ZH_PLACES[place]
        return f"# 第{number}号记录\n\n{one}于{year}年在{where}售出{count}个浮标。{one}由第{number}号船队供货。\n"
    one, where = FIRMS[firm], PLACES[place]
    return (
        f"# Record {number}\n\n{one} sold {count} buoys in {where} in {year}. "
        f"{one} is served by Fleet Number {number}. The fleet sails from {where}.\n"
    )


def versions(name: str) -> list[str]:
    """All texts that a document of this name ever had in the first hundred nights."""
    number = int(name.removeprefix("record-").removesuffix(".md"))
    return [text_of(number, version) for version in range(100)]


def write(inbox: Path, number: int, version: int = 0) -> None:
    """Write one document."""
    inbox.mkdir(exist_ok=True)
    (inbox / f"record-{number}.md").write_text(text_of(number, version), encoding="utf-8")


def night(inbox: Path, which: int, added: int) -> None:
    """A night: some documents come, two change, and one goes."""
    for number in range(which * added, (which + 1) * added):
        write(inbox, number)
    for number in (which * added - 1, which * added // 2):
        if number > 0 and (inbox / f"record-{number}.md").exists():
            write(inbox, number, which)
    (inbox / f"record-{which * added // 3}.md").unlink(missing_ok=True)


ROOT = Path(__file__).parents[1]
ADDED, WEEK = 5, 7
KEEP = {"grace_hours": 0, "keep_runs": 14, "keep_reports": 4}
"""The grace is of real hours, so that a simulated quarter has none; the rest is smaller to be reached."""
FOLDERS = ("tables", "ledger", "vectors", "releases", "reports", ".dagster")


def measure(folder: Path) -> tuple[int, int]:
    """Bytes on disk, hard links once, and files."""
    seen = {(s.st_dev, s.st_ino): s.st_blocks * 512 for p in folder.rglob("*") if p.is_file() for s in [p.stat()]}
    return sum(seen.values()), sum(1 for path in folder.rglob("*") if path.is_file())


def week_of(number: int, seconds: list[float], home: Path) -> dict[str, Any]:
    """The row of a week."""
    sizes = {name: measure(home.parent / name if name[0] == "." else home / name) for name in FOLDERS}
    with open_release() as release:
        documents = release.manifest.counts["documents"]
    return {
        "week": number,
        "documents": documents,
        "seconds": round(sorted(seconds)[len(seconds) // 2], 2),
        "megabytes": round(sum(size for size, _ in sizes.values()) / 1e6, 1),
        "files": sum(count for _, count in sizes.values()),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **{f"{name.strip('.')}_mb": round(size / 1e6, 1) for name, (size, _) in sizes.items()},
    }


def run(count: int) -> dict[str, Any]:
    """The rows, and the ratios."""
    rows, seconds, started = [], list[float](), time.perf_counter()
    with TemporaryDirectory() as name:
        folder = Path(name)
        unpack(folder)
        shutil.copy(ROOT / "dagster.yaml", folder)
        os.chdir(folder)
        os.environ["SAG_HOME"] = str(folder / "home")
        for number in range(count):
            night(folder / "inbox", number, ADDED)
            begun = time.perf_counter()
            run_ingest(["inbox"], KEEP)
            seconds.append(time.perf_counter() - begun)
            if (number + 1) % WEEK == 0 or number + 1 == count:
                run_report()
                rows.append(week_of(len(rows) + 1, seconds[-WEEK:], folder / "home"))
                print(json.dumps(rows[-1]), flush=True)
        os.chdir("/")
    first, last = rows[min(1, len(rows) - 2)], rows[-1]
    names = ("documents", "seconds", "megabytes", "files", "memory_mb")
    ratios = {f"{name}_ratio": round(last[name] / first[name], 2) for name in names}
    return {"nights": count, **ratios, "total_seconds": round(time.perf_counter() - started)}


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:] if value.isdigit()]
    print(json.dumps(run(given[0] if given else 12 if "--small" in sys.argv else 90)))
