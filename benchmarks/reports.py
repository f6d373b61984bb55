"""What do reports of several homes look like, and how much of them is worth reading?

    python benchmarks/reports.py HOME …                      this checkout
    python benchmarks/reports.py HOME … --against CHECKOUT   and another one, in turn

Printed for each: themes with an article, how many of them rest on three documents or more, the share of filler among
200 statements of the page (`communities/statements.py`), height at 1280 and 390 pixels, kilobytes, processor seconds.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
from lxml import html
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from sag_retrieval.communities.statements import share_of_filler  # noqa: E402  this checkout before an installed one

SAMPLE = 200
SPREAD = 3
STATEMENTS = (
    "//li[contains(@class, 'event')]/span[not(contains(@class, 'badge'))]"
    " | //p[@class='summary']/span | //ol[@class='highlights']//p/span"
)


def write(checkout: Path, home: Path, out: Path) -> float:
    """Write a report of a home with the code of a checkout; the processor seconds of the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "sag_retrieval.cli.main", "report", "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(checkout), "SAG_HOME": str(home)}
    subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def heights(page: Path) -> tuple[int, int]:
    """Height of a page in pixels on a wide and on a narrow screen."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = []
        for width in (1280, 390):
            shown = browser.new_page(viewport={"width": width, "height": 900})
            shown.goto(page.as_uri())
            found.append(int(shown.evaluate("document.documentElement.scrollHeight")))
        browser.close()
    return found[0], found[1]


def filler(page: Path) -> float:
    """Share of filler among statements of a page, evenly chosen."""
    tree = html.fromstring(page.read_text(encoding="utf-8"))
    texts = [" ".join(each.text_content().split()) for each in tree.xpath(STATEMENTS)]
    step = max(1, len(texts) // SAMPLE)
    return share_of_filler(texts[::step][:SAMPLE])


def themes(out: Path) -> tuple[int, int]:
    """Themes with an article, and those of them over three documents or more."""
    rows = pq.read_table(out / "report_communities.parquet").to_pylist()
    ranked = {row["community_id"] for row in rows if row["rank"]}
    documents: defaultdict[str, set[str]] = defaultdict(set)
    for row in pq.read_table(out / "report_events.parquet", columns=["community_id", "document_id"]).to_pylist():
        documents[row["community_id"]].add(row["document_id"])
    return len(ranked), sum(len(documents[each]) >= SPREAD for each in ranked)


def main() -> None:
    """Write and measure every report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="+", type=Path)
    parser.add_argument("--against", type=Path)
    chosen = parser.parse_args()
    checkouts = [ROOT, *([chosen.against.resolve()] if chosen.against else [])]
    print("| home | checkout | themes | over 3 documents | filler | px at 1280 | px at 390 | kB | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for home in chosen.homes:
        for checkout in checkouts:
            with TemporaryDirectory() as folder:
                seconds = write(checkout, home.resolve(), Path(folder))
                page = Path(folder) / "report.html"
                count, wide = themes(Path(folder))
                tall, narrow = heights(page)
                share, size = filler(page), page.stat().st_size / 1e3
                name = "this" if checkout == ROOT else "other"
                print(
                    f"| {home.name} | {name} | {count} | {wide / max(count, 1):.0%} | {share:.0%} "
                    f"| {tall:,} | {narrow:,} | {size:,.0f} | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
