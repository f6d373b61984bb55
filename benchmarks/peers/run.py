"""Run other packages and `sag` on the same 200 MuSiQue passages, with the same scripted model and vectors.

    python -m benchmarks.peers.run [--peers bm25s,lancedb,lightrag] [--envs FOLDER] [--out FILE]

Each package is installed into a virtual environment of its own and runs there, indexing and asking as separate
processes that talk to a server on 127.0.0.1. The model says what a recorded model found in a passage (entities and
triples) to all alike; vectors are hashed words. The passages: all that answer the 60 questions, filled to 200 by the
lowest hashes. Prints recall@5, processor milliseconds a query, processor seconds and tokens to index. Needs the
network once, to install.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.server import DIMENSION, PeerServer, RecordedModel, recorded
from sag_retrieval.evaluation import bootstrap, paired_difference
from sag_retrieval.evaluation.metrics import recall_at

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
PASSAGES, CUT, TOP_K = 200, 5, 20
OURS = "sag"


@dataclass(frozen=True)
class Peer:
    """A package: its script, what is installed for it (nothing: it runs where this runs), and its model."""

    script: str
    packages: tuple[str, ...] = ()
    model: str = "scripted"


PEERS = {
    "bm25s": Peer("with_bm25s.py", ("bm25s==0.3.16", "PyStemmer")),
    "lancedb": Peer("with_lancedb.py", ("lancedb==0.40.0", "openai")),
    "lightrag": Peer("with_lightrag.py", ("lightrag-hku==1.5.7", "openai")),
    "zleap-sag": Peer("with_zleap.py", ("zleap-sag==0.15.0",)),
    "sag-rules": Peer("with_sag.py", model="rules"),
    OURS: Peer("with_sag.py"),
}


def main() -> None:
    """Run the chosen peers and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help=f"names, separated by commas: {', '.join(PEERS)}")
    parser.add_argument("--envs", type=Path, help="where environments are kept between runs")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    names = [name.strip() for name in given.peers.split(",")] if given.peers else list(PEERS)
    if set(names) - set(PEERS):
        parser.error(f"no peer {sorted(set(names) - set(PEERS))}; there are {list(PEERS)}")
    passages, gold, questions = corpus()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        envs = (given.envs or Path(scratch) / "envs").resolve()
        for name in names:
            task = {"passages": passages, "questions": questions, "dimension": DIMENSION, "top_k": TOP_K}
            try:
                found[name] = measured(name, task, envs, Path(scratch) / name)
            except subprocess.CalledProcessError as error:
                print(f"{name}: left out, {reason(error)}", flush=True)
    print("\n".join(table(found, gold)))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def corpus() -> tuple[list[dict[str, str]], dict[str, list[str]], list[dict[str, str]]]:
    """The passages, gold of each question, and the questions."""
    rows = pd.read_parquet(DATA / "musique_train.questions.parquet")
    gold = {row.qid: list(row.gold_doc_ids) for row in rows.itertuples()}
    every = pd.read_parquet(DATA / "musique_train.docs.parquet").set_index("doc_id")
    needed = {document for documents in gold.values() for document in documents}
    others = sorted(set(every.index) - needed, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    chosen = every.loc[sorted([*needed, *others[: PASSAGES - len(needed)]])]
    passages = [{"id": row.Index, "title": row.title, "text": row.text} for row in chosen.itertuples()]
    return passages, gold, [{"id": row.qid, "text": row.question} for row in rows.itertuples()]


def measured(name: str, task: Mapping[str, Any], envs: Path, folder: Path) -> dict[str, Any]:
    """Index and ask with one peer: its own report of both, and what the server saw."""
    peer = PEERS[name]
    python = environment(peer, envs / name) if peer.packages else Path(sys.executable)
    (folder / "index").mkdir(parents=True)
    ids = {each["id"] for each in task["passages"]}
    extraction = pd.read_parquet(DATA / "musique_train.extraction.parquet")
    texts = pd.read_parquet(DATA / "musique_train.docs.parquet")[["doc_id", "text"]]
    rows = extraction[extraction.doc_id.isin(ids)].drop(columns=["text"], errors="ignore").merge(texts, on="doc_id")
    with PeerServer(RecordedModel(recorded(rows.itertuples()))) as server:
        given = {**task, "base_url": server.base_url, "model": peer.model, "folder": str(folder / "index")}
        (folder / "task.json").write_text(json.dumps(given), encoding="utf-8")
        told: dict[str, Any] = {}
        for phase in ("index", "query"):
            before, started = server.used(), time.monotonic()
            answer = folder / f"{phase}.json"
            command = [str(python), str(HERE / peer.script), phase, str(folder / "task.json"), str(answer)]
            subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
            used = {kind: count - before[kind] for kind, count in server.used().items()}
            told[phase] = json.loads(answer.read_text()) | {"used": used, "wall": time.monotonic() - started}
    print(f"{name}: done", flush=True)
    return told


def environment(peer: Peer, folder: Path) -> Path:
    """The interpreter of a peer's environment, made once; pip is called by the names of packages."""
    python = folder / "bin" / "python"
    mark = folder / "installed.json"
    if not mark.is_file() or json.loads(mark.read_text()) != list(peer.packages):
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", *peer.packages], check=True, capture_output=True, text=True
        )
        mark.write_text(json.dumps(peer.packages))
    return python


def reason(error: subprocess.CalledProcessError) -> str:
    """The last line that a failed process wrote."""
    lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'no reason given'} (exit code {error.returncode})"


def table(found: Mapping[str, Mapping[str, Any]], gold: Mapping[str, list[str]]) -> list[str]:
    """One line a peer, and what `sag` gains over it."""
    head = (f"R@{CUT}", "query CPU ms", "index CPU s", "chat calls", "chat tokens", "embedding tokens")
    lines = [f"{'':12}{head[0]:>7}" + "".join(f"{name:>18}" for name in head[1:])]
    recall = {
        name: {qid: recall_at(told["query"]["ranked"][qid], gold[qid], CUT) for qid in gold}
        for name, told in found.items()
    }
    for name, told in found.items():
        index = told["index"]
        figures = (
            f"{1000 * float(np.median(told['query']['seconds'])):.1f}", f"{index['cpu']:.1f}", index["used"]["calls"],
            f"{index['used']['chat']:,}", f"{index['used']['embedding']:,}",
        )  # fmt: skip
        mean = 100 * bootstrap(list(recall[name].values())).mean
        lines.append(f"{name:12}{mean:7.1f}" + "".join(f"{figure:>18}" for figure in figures))
    for name in recall.keys() - {OURS} if OURS in recall else ():
        gained = paired_difference(recall[OURS], recall[name])
        lines.append(f"{OURS} − {name}: {100 * gained.mean:+.1f} [{100 * gained.low:+.1f}, {100 * gained.high:+.1f}]")
    return lines


if __name__ == "__main__":
    main()
