"""Run other packages and `sag` on the same 200 MuSiQue passages, with the same scripted model and vectors.

    python -m benchmarks.peers.run [--peers bm25s,lancedb,lightrag] [--envs FOLDER]

Each package runs in a virtual environment of its own and asks a server on 127.0.0.1. The model says what a recorded
model found in a passage to all alike; vectors are hashed words. The passages: all that answer the 60 questions, filled
to 200 by the lowest hashes. Ends with 1 where keys by the model find significantly less than keys by rules. Needs the
network once, to install.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import venv
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from aiohttp import web

from benchmarks.sets import DATA, hash_of, recorded_triples
from sag_retrieval.evaluation import bootstrap, paired_difference
from sag_retrieval.evaluation.metrics import recall_at
from tests.support.chat_server import ChatServer, Request, count_tokens, prompt_of, schema_of
from tests.support.scripted_answers import numbered_events, read_well

HERE = Path(__file__).parent
PASSAGES, CUT, TOP_K = 200, 5, 20
DIMENSION = 512
_WORD = re.compile(r"\w+")
OURS, RULES = "sag", "sag-rules"


@dataclass(frozen=True)
class Peer:
    """A package as `packages.py` names it, what is installed for it (nothing: it runs where this runs), its model."""

    name: str
    packages: tuple[str, ...] = ()
    model: str = "scripted"


PEERS = {
    "bm25s": Peer("bm25s", ("bm25s==0.3.16", "PyStemmer")),
    "lancedb": Peer("lancedb", ("lancedb==0.40.0", "openai")),
    "lightrag": Peer("lightrag", ("lightrag-hku==1.5.7", "openai")),
    "zleap-sag": Peer("zleap", ("zleap-sag==0.15.0",)),
    RULES: Peer("sag", model="rules"),
    OURS: Peer("sag"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help=f"names, separated by commas: {', '.join(PEERS)}")
    parser.add_argument("--envs", type=Path, help="where environments are kept between runs")
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
    ranked = {name: told["query"]["ranked"] for name, told in found.items()}
    recall = {name: {qid: recall_at(own[qid], gold[qid], CUT) for qid in gold} for name, own in ranked.items()}
    print("\n".join(table(found, recall)))
    return int({OURS, RULES} <= recall.keys() and paired_difference(recall[OURS], recall[RULES]).high < 0)


def corpus() -> tuple[list[dict[str, str]], dict[str, list[str]], list[dict[str, str]]]:
    rows = pd.read_parquet(DATA / "musique_train.questions.parquet")
    gold = {row.qid: list(row.gold_doc_ids) for row in rows.itertuples()}
    every = pd.read_parquet(DATA / "musique_train.docs.parquet").set_index("doc_id")
    needed = {document for documents in gold.values() for document in documents}
    others = sorted(set(every.index) - needed, key=hash_of)
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
            script = [str(python), str(HERE / "packages.py"), peer.name]
            command = [*script, phase, str(folder / "task.json"), str(answer)]
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
        install = [python, "-m", "pip", "install", "-q", *peer.packages]
        subprocess.run(install, check=True, capture_output=True, text=True)
        mark.write_text(json.dumps(peer.packages))
    return python


def reason(error: subprocess.CalledProcessError) -> str:
    lines = [line for line in (error.stderr or "").splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'no reason given'} (exit code {error.returncode})"


def table(found: Mapping[str, Mapping[str, Any]], recall: Mapping[str, Mapping[str, float]]) -> list[str]:
    head = (f"R@{CUT}", "query CPU ms", "index CPU s", "chat calls", "chat tokens", "embedding tokens")
    lines = [f"{'':12}{head[0]:>7}" + "".join(f"{name:>18}" for name in head[1:])]
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


def hashed(text: str) -> list[float]:
    """A vector from words and the three-letter pieces of words, each hashed to a place and a sign."""
    row = [0.0] * DIMENSION
    for word in _WORD.findall(text.lower()):
        padded = f"<{word}>"
        pieces = {padded: 1.0} | {padded[n : n + 3]: 0.3 for n in range(len(padded) - 2)}
        for piece, weight in pieces.items():
            digest = zlib.crc32(piece.encode())
            row[digest % DIMENSION] += weight if digest & 0x10000 else -weight
    length = sum(value * value for value in row) ** 0.5 or 1.0
    return [value / length for value in row]


class PeerServer(ChatServer):
    def __init__(self, script: "RecordedModel") -> None:
        super().__init__(script)
        self.embedding_tokens = 0

    def used(self) -> dict[str, int]:
        chat = self.input_tokens + self.output_tokens
        return {"calls": len(self.calls), "chat": chat, "embedding": self.embedding_tokens}

    async def _embed(self, http: web.Request) -> web.Response:
        request = await http.json()
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        used = sum(map(count_tokens, texts))
        self.embedding_tokens += used
        data = [{"object": "embedding", "index": n, "embedding": hashed(text)} for n, text in enumerate(texts)]
        usage = {"prompt_tokens": used, "total_tokens": used}
        return web.json_response({"object": "list", "data": data, "model": request["model"], "usage": usage})


@dataclass(frozen=True)
class Recorded:
    text: str
    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]

    @property
    def names(self) -> list[str]:
        ends = (end for head, _, tail in self.triples for end in (head, tail))
        return list(dict.fromkeys([*self.entities, *ends]))


@dataclass(frozen=True)
class RecordedModel:
    """The script: says of a passage what was recorded of it, in the form that the prompt asks for."""

    passages: Mapping[str, Recorded]

    def __call__(self, request: Request) -> Any:  # noqa: ANN401  text or JSON
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        if "<|COMPLETE|>" in prompt:
            return self._lightrag(prompt_of(request))
        if '"high_level_keywords"' in prompt:
            question = prompt_of(request).rsplit("User Query:", 1)[-1].split("---Output---")[0].strip()
            return {"high_level_keywords": [question], "low_level_keywords": self._names_in(question)}
        shape = json.dumps(request.get("response_format", {}))
        if '"named_entities"' in shape:
            return {"named_entities": self._names_in(prompt_of(request))[:15]}
        if '"FullExtractionResponse"' in shape:
            return self._zleap(prompt_of(request))
        if schema_of(request) == "ExtractedKeys":
            return self._keys(prompt_of(request))
        return read_well(request)

    def _lightrag(self, prompt: str) -> str:
        found = self._shown(prompt)
        lines = [f"entity<|#|>{name}<|#|>Other<|#|>{name}" for each in found for name in each.names]
        lines += [f"relation<|#|>{h}<|#|>{t}<|#|>{r}<|#|>{h} {r} {t}" for each in found for h, r, t in each.triples]
        return "\n".join([*lines, "<|COMPLETE|>"])

    def _zleap(self, prompt: str) -> dict[str, Any]:
        """One event of the whole chunk, with the entities recorded of its passage that stand in it."""
        items = json.loads(prompt)["data"]["items"]
        content = "".join(item["content"] for item in items)
        padded = _folded(content)
        names = [name for each in self._shown(content) for name in each.names if _folded(name) in padded]
        event = {
            "reason": "recorded", "title": content.split("\n")[0][:200], "summary": content[:200], "content": content,
            "references": [item["id"] for item in items], "is_valid": True, "children": [],
            "entities": [{"type": "concept", "name": name, "description": name} for name in dict.fromkeys(names)],
        }  # fmt: skip
        return {"type": "response", "data": {"items": [event]}}

    def _keys(self, prompt: str) -> dict[str, Any]:
        numbered = numbered_events(prompt)
        names = [[{"type": "entity", "value": n, "same_as": []} for n in self._names_in(text)] for _, text in numbered]
        return {"events": [{"event": n, "keys": own} for (n, _), own in zip(numbered, names, strict=True)]}

    def _shown(self, prompt: str) -> list[Recorded]:
        return [each for each in self.passages.values() if each.text[:120] in prompt]

    def _names_in(self, text: str) -> list[str]:
        """Recorded names that stand in a text, the longest where one lies in another."""
        padded = _folded(text)
        every = {_folded(name): name for each in self.passages.values() for name in each.names}
        found = [folded for folded in every if len(folded) > 4 and folded in padded]
        return [every[name] for name in found if not any(name != other and name in other for other in found)]


def _folded(text: str) -> str:
    """Its words in lower case, with a space on either side."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def recorded(rows: Any) -> dict[str, Recorded]:  # noqa: ANN401  rows of pandas
    found = {}
    for row in rows:
        triples = tuple(tuple(each) for each in recorded_triples(row) if all(each))
        found[row.doc_id] = Recorded(row.text, tuple(filter(None, row.entities)), triples)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
