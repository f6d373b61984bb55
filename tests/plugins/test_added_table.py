"""A table by document is added with files of its own and one line."""

import json
import os
import shutil
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("sag_pipeline", "sag_retrieval")
REGISTRY = "sag_retrieval/release/schema.py"
OWN = {
    "sag_retrieval/release/questions.py": '''\
"""The table `questions` of a release."""

import pyarrow as pa

from sag_retrieval.release.table import Table, columns

TABLE = Table(
    "questions",
    columns(
        document_id=(pa.string(), "its document"),
        chunk_id=(pa.string(), "the chunk that asks it"),
        question_index=(pa.int32(), "place in the chunk, from 0"),
        text=(pa.string(), "its words"),
    ),
    order=("document_id", "chunk_id", "question_index"),
    refers={"document_id": "documents", "chunk_id": "chunks"},
)
''',
    "sag_pipeline/extract/questions.py": '''\
"""Questions that documents ask."""

import re
from dataclasses import dataclass

from sag_pipeline.table import StepInput, StoredTable


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence that asks."""

    document_id: str
    chunk_id: str
    question_index: int
    text: str


TABLE = StoredTable(
    name="questions", record=Question, reads=("chunks",), rule="sag_pipeline.extract.questions:questions_of"
)


def questions_of(inputs: StepInput, _: object) -> list[Question]:
    """The questions of a document's chunks, in their order."""
    return [
        Question(chunk.document_id, chunk.chunk_id, place, found.strip())
        for chunk in inputs.tables["chunks"]
        for place, found in enumerate(re.findall(r"[^.?!。？！\\n]+[?？]", chunk.text))
    ]
''',
    "sag_pipeline/defs/assets/questions.py": '''\
"""Asset `questions`: sentences that ask."""

import dagster as dg

from sag_pipeline.defs.corpus_assets import corpus_asset
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.tables import INPUTS


@corpus_asset(group="extract", deps=INPUTS["questions"], kinds={"parquet", "python"})
def questions(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:
    """One row a question."""
    return sag.make(context, "questions")
''',
}
NIGHTS = """
import json
from pathlib import Path
from sag_pipeline.jobs import run_ingest
from sag_pipeline.runs.status import status_of
from sag_retrieval import open_release
from sag_retrieval.core.settings import load_settings

run_ingest(["inbox"])
with open_release() as release:
    rows = release.table("questions")
    found = release.search("tide", sql="SELECT chunk_id FROM questions WHERE text LIKE '%tide%'")
    told = {"texts": sorted(rows.text), "found": [hit.document_id for hit in found.hits]}
    told["counted"] = release.manifest.counts["questions"]
told["status"] = {each["table"]: each["rows"] for each in status_of(load_settings())["tables"]}
Path("inbox/钟.md").unlink()
Path("inbox/bell.md").write_text("# Bell\\n\\nWho cast the bell? Lin did.\\n", encoding="utf-8")
run_ingest(["inbox"])
with open_release() as release:
    told["texts after"] = sorted(release.table("questions").text)
print(json.dumps(told))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Both packages with the table added."""
    folder = tmp_path / "copy"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)  # with what is compiled
    for name, text in OWN.items():
        (folder / name).write_text(text, encoding="utf-8")
    registry = folder / REGISTRY
    text = registry.read_text(encoding="utf-8")
    assert text.count("ADDED: Final[tuple[str, ...]] = ()") == 1
    registry.write_text(text.replace("= ()", '= ("questions",)', 1), encoding="utf-8")
    return folder


def files(folder: Path) -> dict[str, list[str]]:
    """Lines of every module, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8").splitlines()
        for package in PACKAGES
        for path in (folder / package).rglob("*.py")
    }


def test_it_is_made_published_and_searched_after_one_line(copy):
    inbox = copy.parent / "inbox"
    inbox.mkdir()
    (inbox / "tide.md").write_text("# Tides\n\nWhen does the tide turn? It turns at noon.\n", encoding="utf-8")
    (inbox / "钟.md").write_text("# 钟\n\n谁造了这口钟？是林工。\n", encoding="utf-8")

    variables = {name: value for name, value in os.environ.items() if not name.startswith("SAG_")}
    done = subprocess.run(
        [sys.executable, "-c", NIGHTS],
        capture_output=True, text=True, check=False, cwd=copy.parent,
        env=variables | {"PYTHONPATH": str(copy), "SAG_HOME": str(copy.parent / "home")},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["texts"] == ["When does the tide turn?", "谁造了这口钟？"]
    assert told["found"] == ["tide.md"]
    assert told["counted"] == told["status"]["questions"] == 2
    assert told["texts after"] == ["When does the tide turn?", "Who cast the bell?"]


def test_nothing_is_touched_but_its_own_files_and_one_line(copy):
    before, after = files(ROOT), files(copy)

    changed = {name for name in after if name in before and before[name] != after[name]}
    lines = [
        line
        for name in changed
        for line in unified_diff(before[name], after[name], n=0, lineterm="")
        if line.startswith("+") and not line.startswith("+++")
    ]

    assert after.keys() - before.keys() == set(OWN)
    assert before.keys() - after.keys() == set()
    assert len(lines) == 1
