"""One ingest on several engines: the same tables, and what each costs.

    python benchmarks/engines.py [--documents 2500] [--engines local processes:2 ray]

Every engine gets a process and a home of its own. Printed: whether the parts of every table and the release are those
of the first engine, seconds by the clock, and processor seconds of the driver and of its workers. The first engine is
run once more at the end, so that a machine that gets faster or slower shows.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
_DATA = ROOT.parent / "shared" / "data"
_RUN = """
import json, sys, time
from pathlib import Path
import psutil
from sag_pipeline.runs import run_ingest
from sag_pipeline.store.store import Store
from sag_pipeline.tables import STORED

def cpu(process):
    times = process.cpu_times()
    return times.user + times.system

this = psutil.Process()
before, started = cpu(this), time.perf_counter()
release = run_ingest([sys.argv[1]])["release"]
seconds, driver = time.perf_counter() - started, cpu(this) - before
workers = sum(cpu(child) for child in this.children(recursive=True))
if sys.argv[2].startswith("ray"):
    workers += sum(cpu(each) for each in psutil.process_iter(["name"]) if each.info["name"].startswith("ray::"))
ended = this.cpu_times()
store = Store(Path(sys.argv[3]))
parts = {table: sorted(store.parts.names(table)) for table in STORED}
found = {"release": release, "parts": parts, "seconds": seconds, "driver": driver}
print(json.dumps(found | {"workers": workers + ended.children_user + ended.children_system}))
"""


def write_source(path: Path, documents: int) -> int:
    """Passages of the data sets, in their order, as lines of JSON; returns their number."""
    import pandas as pd  # noqa: PLC0415  only in the process that measures

    rows = pd.concat([pd.read_parquet(_DATA / f"{name}.docs.parquet") for name in ("musique_train", "twowiki")])
    chosen = rows.drop_duplicates("text").head(documents)
    lines = (
        json.dumps({"id": f"{place}", "title": str(row.title), "text": str(row.text)}, ensure_ascii=False)
        for place, row in enumerate(chosen.itertuples())
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(chosen)


def measure(engine: str, source: Path, home: Path) -> dict[str, object]:
    """One ingest in a process of its own."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SAG_")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(source), engine, str(home)],
        check=True, capture_output=True, text=True, cwd=home.parent,
        env=variables | {"SAG_ENGINE": engine, "SAG_HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print a line per engine; exit with 1 if one makes something else than the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2_500)
    parser.add_argument("--engines", nargs="+", default=["local", "processes:2"])
    given = parser.parse_args()
    is_same = True
    with TemporaryDirectory() as folder:
        source = Path(folder) / "passages.jsonl"
        print(f"{write_source(source, given.documents):,} passages")
        first: dict[str, object] = {}
        for place, engine in enumerate([*given.engines, given.engines[0]]):
            found = measure(engine, source, Path(folder) / f"home{place}")
            first = first or found
            same = (found["parts"], found["release"]) == (first["parts"], first["release"])
            is_same &= same
            seconds, driver, workers = (float(str(found[name])) for name in ("seconds", "driver", "workers"))
            print(
                f"  {engine:14} {'same' if same else 'OTHER'} parts and release   {seconds:6.1f} s   "
                f"driver {driver:6.1f}, workers {workers:6.1f} CPU s   "
                f"ratio {float(str(first['seconds'])) / seconds:.2f}"
            )
    sys.exit(0 if is_same else 1)


if __name__ == "__main__":
    main()
