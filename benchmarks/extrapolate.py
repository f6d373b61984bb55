"""What an ingest costs at a size that was not measured: fits figures of small ingests, and says how far off they are.

    python -m benchmarks.extrapolate [--documents 300 1000 2500] [--held-out 5000] [--chunks 1000000]
    python -m benchmarks.extrapolate --points points.json      fit points that were measured before

Each size is ingested in a process and a home of its own, by rules. Of each figure two curves are fitted, `a + b n` and
`c n^p` (n: chunks), and the one that predicts each measured point better from the others is kept. The largest ingest
takes no part in the fit: its error is what the prediction of a larger size is worth, at best. What the other curve
says is printed too: how far the two are apart shows how little few small ingests say of a large one.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.engines import ROOT, write_source

_RUN = """
import json, resource, sys, time
from pathlib import Path
from sag_pipeline.jobs import run_ingest
from sag_pipeline.runs.disk_usage import sizes_of
from sag_retrieval import open_release

def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime

home = Path(sys.argv[2])
run_ingest([sys.argv[1]])
both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
found = {"cpu_seconds": sum(map(cpu, both)), "peak_mb": resource.getrusage(both[0]).ru_maxrss / 1e3}
sizes = sizes_of(home)
found |= {f"{kind}_mb": sizes[kind] for kind in ("tables", "ledger", "vectors", "releases")}
with open_release(home) as release:
    counts = dict(release.manifest.counts)
    questions = [row[0] for row in release.sql(sys.argv[3]).to_pandas().itertuples(index=False)]
    release.search(questions[0])
    before = time.process_time()
    for question in questions:
        release.search(question)
    found["search_cpu_ms"] = (time.process_time() - before) * 1e3 / len(questions)
print(json.dumps(found | {name: counts[name] for name in ("documents", "chunks", "events", "keys")}))
"""
_QUESTIONS = "SELECT title FROM documents ORDER BY document_id LIMIT 40"
_FIGURES = ("cpu_seconds", "peak_mb", "tables_mb", "ledger_mb", "vectors_mb", "releases_mb", "search_cpu_ms")
Point = Mapping[str, float]
Curve = Callable[[float], float]


def measure(documents: int, engine: str) -> dict[str, float]:
    """Figures of one ingest of this many documents."""
    with TemporaryDirectory() as folder:
        source, home = Path(folder) / "documents.jsonl", Path(folder) / "home"
        write_source(source, documents)
        environment = {**os.environ, "SAG_HOME": str(home), "SAG_ENGINE": engine, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _RUN, str(source), str(home), _QUESTIONS]
        ran = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stderr)
        return dict(json.loads(ran.stdout.splitlines()[-1]))


def line(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """`a + b n` with the least squares of relative errors."""
    n, y = np.asarray(sizes, float), np.asarray(values, float)
    weights = 1 / np.maximum(np.abs(y), 1e-12)
    a, b = np.linalg.lstsq(np.stack([weights, weights * n], axis=1), weights * y, rcond=None)[0]
    return lambda size: float(a + b * size)


def power(sizes: Sequence[float], values: Sequence[float]) -> Curve:
    """`c n^p`, fitted as a line of logarithms."""
    p, c = np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-12)), 1)
    return lambda size: float(np.exp(c) * size**p)


FORMS = {"a + b n": line, "c n^p": power}


def fitted(sizes: Sequence[float], values: Sequence[float]) -> tuple[str, Curve]:
    """The form whose fits without one point each predict that point best, fitted to all points."""

    def missed(form: Callable[[Sequence[float], Sequence[float]], Curve]) -> float:
        total = 0.0
        for out in range(len(sizes)):
            others = [each for each in range(len(sizes)) if each != out]
            curve = form([sizes[each] for each in others], [values[each] for each in others])
            total += abs(curve(sizes[out]) / values[out] - 1)
        return total

    name = min(FORMS, key=lambda form: missed(FORMS[form]))
    return name, FORMS[name](sizes, values)


def predict(points: Sequence[Point], held_out: Point, chunks: float) -> list[dict[str, float | str]]:
    """Each figure: its form, prediction, value and error at the held-out size, and what it says of `chunks`."""
    sizes = [point["chunks"] for point in points]
    rows: list[dict[str, float | str]] = []
    for figure in _FIGURES:
        form, curve = fitted(sizes, [point[figure] for point in points])
        said, true = curve(held_out["chunks"]), held_out[figure]
        values = {"predicted": said, "measured": true, "error_percent": 100 * (said / true - 1)}
        other = next(name for name in FORMS if name != form)
        values |= {"other_at_chunks": FORMS[other](sizes, [point[figure] for point in points])(chunks)}
        rows.append({"figure": figure, "form": form, **values, "at_chunks": curve(chunks)})
    return rows


def main() -> None:
    """Measure or read points, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[300, 1000, 2500])
    parser.add_argument("--held-out", type=int, default=5000)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--points", type=Path, help="points as JSON, the held-out one last; written if it is not there")
    given = parser.parse_args()
    if len(given.documents) < 3:
        raise SystemExit(f"--documents has {len(given.documents)} sizes, a fit needs 3 or more")
    if given.points and given.points.is_file():
        points = json.loads(given.points.read_text(encoding="utf-8"))
    else:
        points = []
        for documents in (*given.documents, given.held_out):
            points.append(measure(documents, given.engine))
            print(json.dumps(points[-1]), flush=True)
        if given.points:
            given.points.write_text(json.dumps(points), encoding="utf-8")
    *known, held_out = sorted(points, key=lambda point: point["chunks"])
    print(f"{'figure':14} {'form':8} {'predicted':>12} {'measured':>12} {'error':>8}", end=" ")
    print(f"{given.chunks:>14,} chunks   by the other form")
    for row in predict(known, held_out, given.chunks):
        print(
            f"{row['figure']:14} {row['form']:8} {row['predicted']:12,.1f} {row['measured']:12,.1f} "
            f"{row['error_percent']:+7.1f}% {row['at_chunks']:14,.1f} {row['other_at_chunks']:20,.1f}"
        )


if __name__ == "__main__":
    main()
