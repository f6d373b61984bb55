"""What do reports of several homes look like, and how much of them is worth reading?

    python benchmarks/reports.py HOME …                      this checkout
    python benchmarks/reports.py HOME … --against CHECKOUT   and another one, in turn
    python benchmarks/reports.py --planted 10000 100000      events made for the purpose: processor seconds of a report
    python benchmarks/reports.py --judged                    what a reader counted, before and after the rules changed

Printed for each: themes with an article, how many of them rest on three documents or more, the share of filler among
200 statements of the page (`communities/statements.py`), height at 1280 and 390 pixels, kilobytes, labels of pictures
that are cut, cover another or are lower than 14 pixels, violations that axe finds on the page and on that of its first
theme, light and dark, and processor seconds.

`judged_pages.csv` holds the questions and the faults counted on the first screen, the titles and one theme of sets of
documents, in four states: before themes, and with three versions of the rules (`before>0063>0072>0082`; sets that
nobody had looked at have no first one). `judged_statements.csv` holds the hash (SHA-256, 12 digits) of statements of
such pages and whether a reader called them filler. `tuning` are of the pages before, looked at while rules were made;
`last` of 0063, looked at once; `drawn` of 0063, drawn with a fixed seed and judged before rules changed again; `again`
drawn in the same way with 0072, looked at once; `held 0072` and `held 0078` up to 60 by their hash from pages of three
sets that nobody had read, before and after 0078, judged once. `odd before` and `odd 0082` have an odd hash, of up to 60
by hash of each page, and were looked at while the rules of 0082 were written; `even before` and `even 0082` an even one
(of two sets all), judged once without knowing which state they are of.
"""

import argparse
import csv
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from axe_playwright_python.sync_playwright import Axe
from lxml import html
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from sag_retrieval.topics.themes import build_themes  # noqa: E402

from sag_retrieval.reports.options import ReportOptions  # noqa: E402
from sag_retrieval.reports.report import write_report  # noqa: E402
from sag_retrieval.statements.scorer import by_features  # noqa: E402
from tests.support.planted import planted  # noqa: E402  this checkout before an installed one

SAMPLE = 200
SPREAD = 3
STATEMENTS = (
    "//li[contains(@class, 'event')]/span[not(contains(@class, 'badge'))]"
    " | //p[@class='summary']/span | //ol[@class='highlights']//p/span"
)


FAULTY_LABELS = """() => [...document.querySelectorAll('figure svg')].flatMap((svg) => {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) return [];
    const texts = [...svg.querySelectorAll('text')];
    const boxes = texts.map((each) => each.getBoundingClientRect());
    return texts.filter((text, place) => {
        const area = text.closest('.area')?.querySelector('rect').getBoundingClientRect() || frame;
        const box = boxes[place];
        const size = parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width;
        const covers = boxes.some((other, at) => at < place &&
            Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
            Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 5);
        return covers || size < 13.9 || text.textContent.endsWith('…') ||
            box.right > area.right + 1 || box.left < area.left - 1 || box.bottom > area.bottom + 2;
    });
}).length"""


def write(checkout: Path, home: Path, out: Path) -> float:
    """Write a report of a home with the code of a checkout; the processor seconds of the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "report", "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(checkout), "SAG_HOME": str(home)}
    subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@dataclass(frozen=True)
class Looks:
    """Height of the page in pixels on a wide and a narrow screen, and the faults found on both."""

    tall: int
    narrow: int
    labels: int
    violations: int


def looked_at(out: Path) -> Looks:
    """Measure the page and that of its first theme, wide and narrow, light and dark."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    heights, labels, violations = {}, 0, 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width, is_dark in product((1280, 390), (False, True)):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme="dark" if is_dark else "light", bypass_csp=True
            )
            shown = context.new_page()
            for page in sorted((out / "themes").glob("1-*.html"))[:1]:
                shown.goto(page.as_uri())
                violations += len(Axe().run(shown).response["violations"])
            shown.goto((out / "report.html").as_uri())
            heights[width] = int(shown.evaluate("document.documentElement.scrollHeight"))
            if not is_dark:
                labels += int(shown.evaluate(FAULTY_LABELS))
            violations += len(Axe().run(shown).response["violations"])
            context.close()
        browser.close()
    return Looks(heights[1280], heights[390], labels, violations)


def filler(page: Path) -> float:
    """Share of filler among statements of a page, evenly chosen."""
    tree = html.fromstring(page.read_text(encoding="utf-8"))
    texts = [" ".join(each.text_content().split()) for each in tree.xpath(STATEMENTS)]
    step = max(1, len(texts) // SAMPLE)
    found = by_features(texts[::step][:SAMPLE])
    return sum(each.quotable < 1 / 2 for each in found) / max(1, len(found))


def themes(out: Path) -> tuple[int, int]:
    """Themes with an article, and those of them over three documents or more."""
    rows = pq.read_table(out / "report_communities.parquet").to_pylist()
    ranked = {row["community_id"] for row in rows if row["rank"]}
    documents: defaultdict[str, set[str]] = defaultdict(set)
    for row in pq.read_table(out / "report_events.parquet", columns=["community_id", "document_id"]).to_pylist():
        documents[row["community_id"]].add(row["document_id"])
    return len(ranked), sum(len(documents[each]) >= SPREAD for each in ranked)


def compare(homes: list[Path], checkouts: list[Path]) -> None:
    """Write and measure every report."""
    print(
        "| home | checkout | themes | over 3 documents | filler | px at 1280 | px at 390 | kB | labels | axe | CPU s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for home in homes:
        for checkout in checkouts:
            with TemporaryDirectory() as folder:
                seconds = write(checkout, home.resolve(), Path(folder))
                page = Path(folder) / "report.html"
                count, wide = themes(Path(folder))
                looks = looked_at(Path(folder))
                share, size = filler(page), page.stat().st_size / 1e3
                name = "this" if checkout == ROOT else "other"
                print(
                    f"| {home.name} | {name} | {count} | {wide / max(count, 1):.0%} | {share:.0%} "
                    f"| {looks.tall:,} | {looks.narrow:,} | {size:,.0f} | {looks.labels} | {looks.violations} "
                    f"| {seconds:.1f} |",
                    flush=True,
                )


def grow(sizes: list[int]) -> None:
    """Processor seconds of themes and page for planted events."""
    print("| events | themes: CPU s | page: CPU s | kB |")
    print("|---|---|---|---|")
    for size in sizes:
        events, options = planted(size)[0], ReportOptions(release="r1")
        started = time.process_time()
        communities = build_themes(events, options.cluster, "en")
        grouped = time.process_time()
        with TemporaryDirectory() as folder:
            report = write_report(events, communities, options, Path(folder))
            spent = time.process_time() - grouped
        print(
            f"| {len(events):,} | {grouped - started:.1f} | {spent:.1f} | {report.page_bytes / 1e3:,.0f} |", flush=True
        )


def judged() -> None:
    """What a reader counted: faults of each set of documents, and the share of filler among statements."""
    folder = Path(__file__).parent
    with (folder / "judged_pages.csv").open(encoding="utf-8") as file:
        questions = list(csv.DictReader(file))
    with (folder / "judged_statements.csv").open(encoding="utf-8") as file:
        statements = list(csv.DictReader(file))
    halves = ["tuning", "last", "drawn", "again", "held 0072", "held 0078"]
    halves += ["odd before", "odd 0082", "even before", "even 0082"]
    print(f"| documents | faults before | 0063 | 0072 | 0082 | {' | '.join(f'filler {half}' for half in halves)} |")
    print(f"|{'---|' * (5 + len(halves))}")
    sets = [name for name in questions[0] if name not in {"question", "counted"}]
    further = sorted({each["documents"] for each in statements} - set(sets))
    for name in (*sets, *further, ""):
        states = [
            each[one].split(">") for each in questions for one in ([name] if name in sets else [] if name else sets)
        ]
        faults = [sum(int(state[place] or 0) for state in states) for place in range(4)]
        said: Counter[tuple[str, str]] = Counter(
            (each["half"], each["filler"]) for each in statements if name in {"", each["documents"]}
        )
        counted = {half: said[half, "0"] + said[half, "1"] for half in halves}
        shares = [
            f"{said[half, '1'] / counted[half]:.0%} of {counted[half]}" if counted[half] else "–" for half in halves
        ]
        print(f"| {name or 'all'} | {' | '.join(map(str, faults))} | {' | '.join(shares)} |")


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="*", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--planted", nargs="+", type=int, default=[])
    parser.add_argument("--judged", action="store_true")
    chosen = parser.parse_args()
    if chosen.homes:
        compare(chosen.homes, [ROOT, *([chosen.against.resolve()] if chosen.against else [])])
    if chosen.planted:
        grow(chosen.planted)
    if chosen.judged:
        judged()


if __name__ == "__main__":
    main()
