"""What `sag ingest --estimate` says is what the same call without it pays."""

from pathlib import Path

import pytest

from sag_pipeline.options import RunOptions
from sag_pipeline.runs.estimate import estimate_run
from sag_pipeline.runs.status import status_of
from sag_retrieval.core.options import build_options
from sag_retrieval.core.settings import load_settings
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

SHARE = 0.35
"""Tokens may differ by this share: they are counted by characters, answers are guessed."""
OPTION_SETS = {
    "defaults": ({}, "auto"),
    "few passages per call": ({"batch.parts": 2, "batch.tokens": 240, "concurrency": 1}, "auto"),
    "Chinese prompts, everything": (
        {"sections_by_model": True, "triples_by_model": True, "en_size": 200, "section.min_length": 600},
        "zh",
    ),
}


def long_text(number: int) -> str:
    """Sections under headings, each long enough to stand alone; every sentence names two firms."""
    parts = [f"# The harbour of Ansel, part {number}\n"]
    for place, name in enumerate(("Heron", "Egret", "Curlew")):
        sentences = [
            f"On day {day} the {name} Works sold {day + number} buoys to the {other} Guard of Ansel."
            for day, other in enumerate(["Coast", "Harbour", "Island", "River"] * 4, start=20 * place + 1)
        ]
        parts.append(f"## {name} Works\n\n" + " ".join(sentences) + "\n")
    return "\n".join(parts)


def long_text_zh(number: int) -> str:
    parts = [f"# 安塞港，第{number}部分\n"]
    for place, name in enumerate(("光澜", "海澜", "苍鹭")):
        sentences = [
            f"在第{day}天，{name}公司向{other}公司售出了{day + number}个浮标，双方当天就签订了合同。"
            for day, other in enumerate(["东港", "西港", "南港", "北港"] * 5, start=20 * place + 1)
        ]
        parts.append(f"## {name}公司\n\n" + "".join(sentences) + "\n")
    return "\n".join(parts)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "harbour.md").write_text(long_text(1), encoding="utf-8")
    (folder / "港口.md").write_text(long_text_zh(1), encoding="utf-8")
    (folder / "twice-a.txt").write_text("The Heron Works and the Coast Guard of Ansel met twice.", encoding="utf-8")
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with ChatServer(read_well) as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("SAG_HOME", str(tmp_path / "home"))
        yield found


def total(estimate: dict) -> dict:
    return estimate["steps"][-1]


@pytest.mark.parametrize("name", OPTION_SETS)
def test_an_estimate_tells_the_calls_of_the_run_and_nearly_its_tokens(
    name: str, server: ChatServer, documents: Path, monkeypatch: pytest.MonkeyPatch
):
    given, language = OPTION_SETS[name]
    monkeypatch.setenv("SAG_LANGUAGE", language)
    options = build_options(RunOptions, given, what="ingest")

    before = estimate_run([str(documents)], options)
    assert not server.calls
    bare_ingest([str(documents)], options)
    after = estimate_run([str(documents)], options)

    told, paid = total(before), status_of(load_settings())["calls"]
    planned = {row["step"]: row["calls"] for row in before["steps"][:-1] if row["calls"]}
    made = {row["step"]: row["calls"] for row in paid if row["calls"]}
    # which chunks name two things, and so have a question about triples, is known only when keys are extracted
    about_triples, asked_triples = planned.pop("triples", 0), made.pop("triples", 0)
    assert about_triples == pytest.approx(asked_triples, rel=0.2)
    about_keys, asked_keys = (
        planned.pop("keys"),
        made.pop("keys"),
    )  # where a wave ends follows from the number of events
    assert about_keys == pytest.approx(asked_keys, rel=0.2)
    at_most = planned.pop("revisions", 0)  # how many statements are revised is known when all are compared
    assert made.pop("revisions", 0) <= at_most
    assert planned == made
    assert told["calls"] - about_triples - about_keys - at_most == len(server.finished) - asked_triples - asked_keys
    assert told["input_tokens"] == pytest.approx(server.input_tokens, rel=SHARE)
    assert total(after)["calls"] == 0
