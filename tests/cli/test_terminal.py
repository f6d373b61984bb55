"""What users see in a terminal: results are never drawn over, long work shows what it does, Ctrl-C says how to go on."""

import json
import re
import sys
from pathlib import Path

import pytest

from sag_pipeline.cli.demo import PACKAGED, QUESTIONS
from tests.support import forked
from tests.support.terminal import run_in_terminal, words_of

pytestmark = pytest.mark.slow

BAR = "━"
ASKED = {
    line["id"]: line
    for line in map(json.loads, (PACKAGED / "questions.jsonl").read_text(encoding="utf-8").splitlines())
}
ANSWERS = {"q01": ("顾明远教授", "2025年5月"), "q08": ("0.3 metres above", "raised to 5 metres")}
"""What an answer to a question of the demo has to say: each of its two parts."""


def test_nothing_that_the_demo_prints_is_drawn_over(home, tmp_path):
    run = run_in_terminal("demo", folder=tmp_path, columns=80, rows=24)

    said = words_of(run.lines)
    assert run.exit_code == 0, run.text
    for name in QUESTIONS:
        asked = words_of(ASKED[name]["question"])
        assert said.count(asked) == 2  # searched and answered
        answer = said.rpartition(asked)[2]
        assert all(words_of(part) in answer for part in ANSWERS[name])
    heads = ("1. Read documents", "2. Search", "3. Answer with citations", "4. Write a report", "Where the results are")
    assert [head for head in heads if words_of(head) not in said] == []
    assert len(re.findall(r"1[01]\.\d\d", said)) >= 2  # rank and score of the first hit of each search
    assert "310people" in said
    assert [line for line in run.lines if "##" in line or "**" in line or line.strip().startswith("#")] == []
    assert BAR not in run.text
    last = [line for line in run.screen if line]
    assert any("Next: `sag search" in line for line in last)
    assert any(line.startswith(" release") for line in last)
    assert BAR in run.written  # the work before was shown while it ran


def test_the_questions_of_the_demo_are_one_in_each_language_with_known_answers():
    assert [ASKED[name]["question"].isascii() for name in QUESTIONS] == [False, True]
    assert set(QUESTIONS) == set(ANSWERS)


def test_an_ingest_shows_each_step_and_the_file_under_way(home, source, tmp_path):
    source({f"notes/file-{n:03}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021.\n" for n in range(40)})

    run = run_in_terminal("ingest", "inbox", folder=tmp_path)

    assert run.exit_code == 0, run.text
    steps = ("starting", "documents", "sections", "events", "keys", "event_keys", "idf", "vectors", "release")
    assert [step for step in steps if f" {step} " not in run.written] == []
    assert "notes/file-000.md" in run.written
    assert "/40" in run.written
    assert not re.search(r"(?:event_keys|idf|release) [━╸╺]* ?[\d,]+/", run.written)  # nothing is counted there
    assert "vectors, full text and rows" in run.written
    assert BAR not in run.text
    assert "is current (new)" in words_around(run.text)


def words_around(text: str) -> str:
    return " ".join(text.split())


def is_past_the_first_commit(screen: str) -> bool:
    """Documents are committed in batches; one that Ctrl-C interrupts is read again."""
    found = re.search(r"([\d,]+)/1,600", screen)
    return found is not None and int(found[1].replace(",", "")) > 300


def test_ctrl_c_says_what_is_kept_and_how_to_go_on(home, source, tmp_path):
    source({f"file-{n:04}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021.\n" for n in range(1_600)})

    stopped = run_in_terminal("ingest", "inbox", folder=tmp_path, columns=200, stop_when=is_past_the_first_commit)
    resumed = forked.sag("ingest", "inbox", cwd=tmp_path)

    assert stopped.exit_code == 1
    assert BAR not in stopped.text
    said = words_around(stopped.text)
    assert "Error: stopped; " in said
    assert "documents are read and kept, no release is published yet; `sag ingest inbox` continues" in said
    assert "Traceback" not in said
    kept = int(said.partition("stopped; ")[2].partition(" ")[0].replace(",", ""))
    assert 0 < kept <= 1_600  # all, if it went on reading before it was told to stop
    assert resumed.returncode == 0, resumed.stderr
    table = next(line.split() for line in resumed.stdout.splitlines() if line.split()[:1] == ["documents"])
    assert int(table[1].replace(",", "")) == 1_600 - kept


def test_ctrl_c_during_a_query_has_the_words_by_which_it_is_known():
    import subprocess

    from sag_retrieval.core.errors import QUERY_INTERRUPTED

    query = "SELECT sum(hash(a.range + b.range)) FROM range(1000000) AS a, range(400) AS b"
    code = (
        "import duckdb, os, signal, threading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job of a shell ignores it
        "threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"duckdb.sql({query!r}).fetchall()"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert f"RuntimeError: {QUERY_INTERRUPTED}" in run.stderr


def test_a_missing_terminal_gets_results_without_progress(home, source, tmp_path):
    source({"heron.md": "# Heron\n\nLumen Optics built the Heron buoy in 2021.\n"})

    run = forked.sag("ingest", "inbox", cwd=tmp_path)

    assert (run.returncode, run.stderr) == (0, "")
    assert "starting" not in run.stdout
    assert BAR not in run.stdout
    assert Path("home/CURRENT").is_file()
