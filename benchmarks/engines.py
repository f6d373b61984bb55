"""One ingest on several engines: the same tables, and what each costs.

    python benchmarks/engines.py [--documents 2500] [--files 300] [--engines local processes:2 ray]
    python benchmarks/engines.py --kill     a worker process, or a Ray node, is killed while `keys` are made
    python benchmarks/engines.py --poison   documents that end their worker, eat memory, or never end
    python benchmarks/engines.py --model    a scripted model at 200 ms a call: calls on each engine, and in a second run

Every engine gets a process and a home of its own; `ray` is two nodes on this machine. Printed: whether the hashes of
the state and the names of the parts of every table, and the release, are those of the first engine, and a digest of
each; seconds by the clock; processor seconds of the driver (of them publishing and communities, which no engine
shares) and of its workers. The first engine is run once more at the end, so that a machine that gets
faster or slower shows.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
_DATA = ROOT.parent / "shared" / "data"
_COMPARED = ("release", "state", "parts")


def passages(count: int) -> list[tuple[str, str]]:
    """Titles and texts of the data sets, in their order."""
    import pandas as pd  # noqa: PLC0415  only where passages are written

    rows = pd.concat([pd.read_parquet(_DATA / f"{name}.docs.parquet") for name in ("musique_train", "twowiki")])
    chosen = rows.drop_duplicates("text").head(count)
    return [(str(row.title), str(row.text)) for row in chosen.itertuples()]


def write_source(path: Path, documents: int) -> int:
    """Passages as lines of JSON; returns their number."""
    found = passages(documents)
    lines = (
        json.dumps({"id": f"{place}", "title": title, "text": text}, ensure_ascii=False)
        for place, (title, text) in enumerate(found)
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(found)


def write_office(folder: Path, files: int) -> int:
    """Passages as files of Word and OpenDocument, ten each; returns their number."""
    from tests.support.hostile_files import docx  # noqa: PLC0415  of the tests
    from tests.support.small_files import odt  # noqa: PLC0415

    folder.mkdir()
    found = passages(10 * files)
    for place in range(len(found) // 10):
        texts = [escape(text) for _, text in found[10 * place : 10 * place + 10]]
        if place % 2:
            body = "".join(f"<text:p>{text}</text:p>" for text in texts)
            (folder / f"{place:03}.odt").write_bytes(odt(body))
        else:
            body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
            (folder / f"{place:03}.docx").write_bytes(docx(body))
    return len(found) // 10


def measure(engine: str, sources: Sequence[Path], home: Path, *more: str, **variables: str) -> dict[str, Any]:
    """One ingest in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SAG_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "engine_run.py"), *map(str, sources), *more],
        check=False, capture_output=True, text=True, cwd=home.parent,
        env=kept | {"SAG_ENGINE": engine, "SAG_HOME": str(home), "PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{engine}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def digests(found: Mapping[str, Any]) -> str:
    """Short digests of what is compared."""
    return "  ".join(f"{name} {sha256(repr(found[name]).encode()).hexdigest()[:12]}" for name in _COMPARED)


def compare(found: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """`same`, or what differs."""
    return " ".join(name for name in _COMPARED if found[name] != first[name]) or "same"


def run_engines(engines: Sequence[str], sources: Sequence[Path], folder: Path, *, kill: bool) -> bool:
    """Print a line per engine; whether all make the same."""
    first: dict[str, Any] = {}
    same = True
    for place, engine in enumerate([*engines, *([] if kill else engines[:1])]):
        is_killed = kill and engine != "local"
        found = measure(engine, sources, folder / f"home{place}", *(["--kill"] if is_killed else []))
        first = first or found
        verdict = compare(found, first)
        same &= verdict == "same" and (not is_killed or bool(found["killed"]))
        driver, apart, workers = found["driver"], sum(found["apart"].values()), found["workers"]
        total, shared = driver + workers, driver + workers - apart
        killed = found["killed"] and f"killed {found['killed']}"
        print(
            f"  {engine:12} {verdict:6} {found['seconds']:6.1f} s  ratio {first['seconds'] / found['seconds']:.2f}  "
            f"driver {driver:5.1f} CPU s ({driver / total:.0%}; "
            f"without publishing and communities {driver - apart:5.1f}, {(driver - apart) / shared:.0%})  "
            f"workers {workers:5.1f}  sum {total / (first['driver'] + first['workers']):.2f} x  {killed}\n"
            f"  {'':12} {digests(found)}",
            flush=True,
        )
    return same


def run_poison(engines: Sequence[str]) -> bool:
    """Print what becomes of three documents among 60 that break their worker; whether the others are done."""
    from sag_pipeline.engines.bounds import WorkerBounds  # noqa: PLC0415  needs the project
    from sag_pipeline.engines.engine import LOCAL, close_engines, engine_for  # noqa: PLC0415
    from sag_pipeline.options import IngestOptions  # noqa: PLC0415
    from sag_pipeline.store.step_batch import Batch  # noqa: PLC0415
    from sag_pipeline.tables import to_table  # noqa: PLC0415
    from sag_retrieval.core.records import Document  # noqa: PLC0415
    from tests.support.poisoned import HUNGRY, POISON, SLEEPY, TASK  # noqa: PLC0415

    words = {10: POISON, 30: HUNGRY, 50: SLEEPY}

    def batches(*, broken: bool) -> list[Batch]:
        texts = [f"# Part {n}\n\nThe mill sold buoys." for n in range(60)]
        for place, word in words.items() if broken else ():
            texts[place] = word
        documents = [Document(f"d{n:02}", "source", f"d{n}", text, "en") for n, text in enumerate(texts)]
        return [
            Batch(
                "sections",
                [one.document_id for one in documents[first : first + 15]],
                {"documents": to_table("documents", documents[first : first + 15])},
                IngestOptions(),
                first,
                60,
            )
            for first in range(0, 60, 15)
        ]

    whole = [each for made in LOCAL.map("step", batches(broken=False)) for each in made.outputs]
    is_right = True
    for engine in (each for each in engines if each != "local"):
        opened = engine_for(engine, 60, WorkerBounds(worker_seconds=5, worker_memory=300_000_000))
        found = [each for made in opened.map(TASK, batches(broken=True)) for each in made.outputs]
        close_engines()
        aside = {place: each.reason for place, each in enumerate(found) if each.reason}
        others = all(found[n] == whole[n] for n in range(60) if n not in words)
        is_right &= others and set(aside) == set(words)
        print(f"  {engine}: {len(found)} documents, others as without them: {others}")
        for place, reason in aside.items():
            print(f"    {words.get(place, '?'):8} {reason}")
    return is_right


def run_model(engines: Sequence[str], folder: Path) -> bool:
    """Print how many calls each engine costs, and a second run; whether they are the same, and none."""
    from tests.support.chat_server import ChatServer  # noqa: PLC0415  of the tests
    from tests.support.scripted_answers import read_well  # noqa: PLC0415

    source = folder / "passages.jsonl"
    write_source(source, 60)
    paid: list[int] = []
    first: dict[str, Any] = {}
    is_right = True
    for place, engine in enumerate(engines):
        with ChatServer(read_well, delay=0.2) as server:
            named = {"SAG_CHAT_MODEL": "openai:scripted", "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
            found = measure(engine, [source], folder / f"model{place}", **named)
            paid.append(len(server.calls))
            again = measure(engine, [source], folder / f"model{place}", **named)
            more = len(server.calls) - paid[-1]
        first = first or found
        verdict = compare(found, first)
        is_right &= verdict == "same" and again["release"] == found["release"] and not more and paid[-1] == paid[0]
        print(
            f"  {engine:12} {verdict}: {paid[-1]} calls, {more} in a second run, {found['seconds']:.1f} s\n"
            f"  {'':12} {digests(found)}",
            flush=True,
        )
    return is_right


def main() -> None:
    """Print a line per engine; exit with 1 if one makes something else than the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=2_500)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--engines", nargs="+", default=["local", "processes:2"])
    for mode in ("--kill", "--poison", "--model"):
        parser.add_argument(mode, action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        if given.poison:
            is_right = run_poison(given.engines)
        elif given.model:
            is_right = run_model(given.engines, folder)
        else:
            sources = [folder / "passages.jsonl"]
            print(f"{write_source(sources[0], given.documents):,} passages")
            if given.files:
                sources.append(folder / "office")
                print(f"{write_office(sources[1], given.files)} office files")
            is_right = run_engines(given.engines, sources, folder, kill=given.kill)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
