"""One recorded run over every step that asks a language model: calls, tokens, refused rows and cost.

python -m tests.support.every_step [--documents 20] [--prices 0.25/2] [--record FILE]

A scripted server answers (`tests/support/small_model.py`). The demo's documents are ingested with every option that
asks a model, a report is written, and questions are asked in every mode, by every method and by a pipeline. A step is
a prompt file: if no call used one, the run ends with 1.
"""

import argparse
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from sag_pipeline.jobs import run_ingest, run_job
from sag_pipeline.options import RunOptions
from sag_pipeline.store.store import Store
from sag_retrieval import GraphOptions, TiersOptions, open_release
from sag_retrieval.ask.options import MODES
from sag_retrieval.core.options import build_options
from sag_retrieval.models.protocols import Prices, Usage
from sag_retrieval.prompts import load_prompt, prompt_names
from tests.support.chat_server import Call, ChatServer, count_tokens, first_prompt_of
from tests.support.small_model import SmallModel

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"
PACKAGES = ("sag_pipeline.llm.prompts", "sag_retrieval.prompts")
INGEST = {
    "sections_by_model": True,
    "triples_by_model": True,
    "revisions_by_model": True,
    "header": "full",
    "header.title_by_model": True,
    "section.min_length": 400,
    "align.pairs_per_event": 0.5,
}
QUESTIONS = ("Which company made the O-ring that leaked?", "502ai的创始人是谁的学生？")
COUNTED = "How many O-rings did the suppliers replace?"
"""Asks for a number that no table gives: a model may write SQL."""
REPORT = {
    "ops": {"communities": {"config": {"by_rules": False}}, "write_report": {"config": {"prompt_tokens": 300}}},
}
SEARCHES = (
    ("think-on-graph", GraphOptions(use_multi_hop=True)),
    ("tiers", TiersOptions()),
    ("tiers", TiersOptions(method="llm")),
)
PIPELINE = """stages:
  - retrieve: {method: sag, top_k: 8}
  - rerank_model
  - refine_model: 600
  - prompt
  - generate
"""
_REFUSED = re.compile(r"(\w+): ([\d,]+) of a model's answers refused")
_LEFT_OUT = "report_left_out.parquet"


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_every_step(folder: Path, documents: Sequence[Path], sections: int = 12) -> tuple[list[Call], Counter[str]]:
    """The calls of an ingest, a report and all ways to ask, and the refused rows by step."""
    source = folder / "documents"
    source.mkdir()
    for path in documents:
        shutil.copy(path, source / path.name)
    (source / "long.md").write_text(_long(documents, sections), encoding="utf-8")
    with ChatServer(SmallModel()) as server:
        settings = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", "SAG_CHAT_MODEL": "openai:scripted"}
        with chdir(folder), _environment(**settings, SAG_HOME=str(folder / "home")):  # not where records are asked for
            run_ingest([str(source)], build_options(RunOptions, INGEST, what="ingest"))
            report = run_job("report", REPORT)["report"]
            _ask_every_way(folder)
            refused = _refused(folder / "home", Path(str(report["page"])).parent)
        return server.finished, refused


def _long(documents: Iterable[Path], sections: int) -> str:
    """A document of many sections, each long enough for one, which has a summary and is divided by the model."""
    read = (path.read_text(encoding="utf-8").splitlines() for path in documents if path.suffix == ".md")
    texts = ["\n".join(line for line in lines if not line.startswith("#")) for lines in read]
    return "\n\n".join(f"# Part {number}\n\n{text}" for number, text in enumerate(texts[:sections], 1))


def _ask_every_way(folder: Path) -> None:
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(PIPELINE, encoding="utf-8")
    with open_release() as release:
        for question in QUESTIONS:
            for mode in MODES:
                release.ask(question, mode=mode)
            for method, options in SEARCHES:
                release.search(question, method=method, options=options)
            release.run(pipeline, question)
        release.ask(COUNTED, mode="normal")


def _refused(home: Path, report: Path) -> Counter[str]:
    """Rows that checks left out, by step, from the warnings of documents and the files of the report."""
    import pyarrow.parquet as pq

    found: Counter[str] = Counter()
    for entry in Store(home).ledger.entries("status <> 'failed'"):
        for table, count in _REFUSED.findall(entry.reason or ""):
            found[table] += int(count.replace(",", ""))
    left_out = report / _LEFT_OUT
    if left_out.is_file():
        found["theme"] += pq.read_metadata(left_out).num_rows
    return found


def step_of(call: Call) -> str:
    """The prompt file of a call, by its system message and by how its prompt begins."""
    system = "\n".join(one["content"] for one in call.request["messages"] if one["role"] == "system")
    prompt = first_prompt_of(call.request)
    for package in PACKAGES:
        for name in prompt_names(package):
            for language in ("en", "zh"):
                found = load_prompt(name, language, package)
                if prompt.startswith(found.text.partition("$")[0]) and system == found.system:
                    return name
    raise ValueError(f"no prompt file begins as {prompt[:80]!r} does")


def table_of(calls: Sequence[Call], refused: Counter[str], corpus: int, prices: Prices) -> list[dict[str, Any]]:
    """A row for each prompt file, then the sum; what it costs is for a million tokens of the corpus."""
    rows: dict[str, Usage] = {name: Usage() for package in PACKAGES for name in prompt_names(package)}
    for call in calls:
        rows[step_of(call)] += Usage(1, 0, call.input_tokens, call.output_tokens)
    rows["all"] = sum(rows.values(), Usage())
    return [
        {
            "step": name,
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "refused": sum(refused.values()) if name == "all" else refused[name],
            "cost_per_million": round(prices.cost(usage) * 1e6 / corpus, 3),
        }
        for name, usage in rows.items()
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100, help="documents of the demo at most")
    parser.add_argument("--prices", default="0.25/2", help="for a million tokens sent and received")
    parser.add_argument("--record", type=Path, help="a file for the calls, one JSON object a line")
    asked = parser.parse_args()
    documents = sorted(DOCUMENTS.iterdir())[: asked.documents]
    with TemporaryDirectory() as folder:
        calls, refused = run_every_step(Path(folder), documents)
        corpus = sum(count_tokens(path.read_text(encoding="utf-8")) for path in (Path(folder) / "documents").iterdir())
    rows = table_of(calls, refused, corpus, Prices.parse(asked.prices))
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))
    if asked.record:
        lines = (json.dumps({"step": step_of(call), "request": call.request}, ensure_ascii=False) for call in calls)
        asked.record.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unused = [row["step"] for row in rows if not row["calls"]]
    if unused:
        sys.exit(f"no call used {', '.join(unused)}")


if __name__ == "__main__":
    main()
