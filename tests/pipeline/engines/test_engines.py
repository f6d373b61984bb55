"""Every engine makes the same rows in the same order, and survives workers that die."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from pathlib import Path

import pyarrow as pa
import pytest

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.engine import LOCAL, close_engines, engine_for, load_ahead, workers_for
from sag_pipeline.engines.executors import ENDED, ProcessEngine
from sag_pipeline.engines.tasks import TaskCall, answer
from sag_pipeline.options import IngestOptions
from sag_pipeline.store.step_batch import STEP, Batch, Made
from sag_pipeline.store.store import Store
from sag_pipeline.tables import STORED, to_table
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.records import Document
from sag_retrieval.core.settings import load_settings
from tests.support.bare_ingest import bare_ingest
from tests.support.poisoned import DEAF, HUNGRY, POISON, SLEEPY, TASK

OPTIONS = IngestOptions()


def document(name: str, text: str) -> Document:
    return Document(name, "source", name, text, "en")


def batches(texts: list[str], size: int = 3) -> list[Batch]:
    """Batches of sections' work over documents with these texts."""
    documents = [document(f"d{n:03}", text) for n, text in enumerate(texts)]
    return [
        Batch(
            "sections",
            [each.document_id for each in documents[first : first + size]],
            {"documents": to_table("documents", documents[first : first + size])},
            OPTIONS,
            first,
            len(documents),
        )
        for first in range(0, len(documents), size)
    ]


def contents(made: Iterator[Made]) -> list[tuple[str, str]]:
    return [(output.content, output.reason) for each in made for output in each.outputs]


@pytest.fixture
def processes():
    """Engines that are closed after the test."""
    opened: list[ProcessEngine] = []

    def start(**given) -> ProcessEngine:
        opened.append(ProcessEngine(2, **given))
        return opened[-1]

    yield start
    for engine in opened:
        engine.close()


TEXTS = [
    f"# Heading {n}\n\nThe mill of Lumen {n} sold {n} buoys.\n\n## Further\n\n第{n}节写了水坝。" for n in range(10)
]


@pytest.mark.slow
def test_processes_make_the_same_rows_in_the_same_order(processes):
    there, here = list(processes().map("step", batches(TEXTS))), list(LOCAL.map("step", batches(TEXTS)))

    assert [each.outputs for each in there] == [each.outputs for each in here]
    assert [each.rows for each in there] == [each.rows for each in here]
    assert sum(len(each.outputs) for each in here) == len(TEXTS)


@pytest.mark.slow
def test_a_document_that_ends_its_worker_fails_alone(processes):
    texts = [*TEXTS[:4], POISON, *TEXTS[5:]]

    made = contents(processes().map(TASK, batches(texts)))

    assert [place for place, (_, reason) in enumerate(made) if reason] == [4]
    assert made[4][1] == ENDED
    well = contents(LOCAL.map("step", batches(TEXTS)))
    assert [each for place, each in enumerate(made) if place != 4] == [
        each for place, each in enumerate(well) if place != 4
    ]


@pytest.mark.slow
def test_work_of_a_worker_that_was_killed_is_done_again(processes, tmp_path):
    mark = tmp_path / "mark"
    mark.touch()

    made = contents(processes().map(TASK, batches(TEXTS), mark))

    assert not mark.exists()
    assert made == contents(LOCAL.map("step", batches(TEXTS)))


@pytest.mark.slow
def test_workers_load_the_rules_while_documents_are_read(tmp_path):
    script = """
import os
from multiprocessing import forkserver
from sag_pipeline.progress import listening
from tests.support.bare_ingest import bare_ingest
started = {}
def listen(step, *_, **__):
    started[step] = forkserver._forkserver._forkserver_pid is not None
for engine in ("local", "processes:2"):
    os.environ |= {"SAG_ENGINE": engine, "SAG_HOME": engine[:5]}
    with listening(listen):
        bare_ingest(["inbox"])
    print(started["documents"])
"""
    (tmp_path / "inbox").mkdir()
    for n, text in enumerate(TEXTS[:3]):
        (tmp_path / "inbox" / f"{n}.md").write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip

    assert done.stdout.splitlines()[-2:] == ["False", "True"]


def test_workers_leave_ctrl_c_to_the_run_from_their_first_instruction():
    load_ahead("processes:2", 10)

    server = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text(encoding="ascii")
    blocked = int(server.partition("SigBlk:")[2].split()[0], 16)
    assert blocked & 1 << (signal.SIGINT - 1)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_no_process_behind():
    script = """
from sag_pipeline.engines.engine import engine_for
from tests.pipeline.engines.test_engines import TEXTS, batches
from tests.support.poisoned import SLEEPY, TASK
for made in engine_for("processes:2", 10).map(TASK, batches([*TEXTS[:6], SLEEPY])):
    print(len(made.outputs), flush=True)
"""
    run = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert run.stdout
    assert run.stdout.readline() == "3\n"

    run.kill()

    run.communicate(timeout=300)  # to the end of the output, which every process that is left would hold open


@pytest.mark.slow
@pytest.mark.parametrize(("word", "seconds", "reason"), [
    (HUNGRY, 300, "it needs more than 200,000,000 bytes of memory; split the document, or raise the bound"),
    (SLEEPY, 5, "it needs more than 5 s; split the document, or raise the bound"),
    (DEAF, 3, "ended its worker"),
])  # fmt: skip
def test_a_document_that_takes_too_much_fails_alone(processes, word, seconds, reason):
    """The time is that of a wall clock: other documents take a hundredth of it, also on a busy machine."""
    engine = processes(bounds=WorkerBounds(worker_seconds=seconds, worker_memory=200_000_000))

    made = contents(engine.map(TASK, batches([*TEXTS[:4], word, *TEXTS[5:]], size=1)))

    assert [(place, reason in said) for place, (_, said) in enumerate(made) if said] == [(4, True)]
    well = contents(LOCAL.map("step", batches(TEXTS)))
    assert [*made[:4], *made[5:]] == [*well[:4], *well[5:]]


def test_a_slice_of_a_table_travels_without_the_rest():
    whole = to_table("documents", [document(f"d{n}", "text " * 1_000) for n in range(50)])
    batch = Batch("sections", ["d3"], {"documents": whole.slice(3, 1)}, OPTIONS)

    sent = pickle.dumps(batch)

    assert len(sent) < 20_000
    assert pickle.loads(sent).tables["documents"].equals(whole.slice(3, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("most", "sizes"), [(10**9, [10]), (18_000, [3, 3, 3, 1]), (1, [1] * 10)])
def test_long_texts_travel_in_smaller_batches(most, sizes):
    (whole,) = batches(["text " * 1_000] * 10, size=10)

    pieces = [*whole.pieces(most)]

    assert [len(each.documents) for each in pieces] == sizes
    assert [each.first for each in pieces] == [sum(sizes[:place]) for place in range(len(sizes))]
    assert pa.concat_tables([each.tables["documents"] for each in pieces]) == whole.tables["documents"]


@pytest.mark.slow
def test_no_more_batches_are_taken_than_the_window_allows(processes):
    taken = 0

    def counted() -> Iterator[Batch]:
        nonlocal taken
        for batch in batches(TEXTS, size=1):
            taken += 1
            yield batch

    for done, _ in enumerate(processes().map("step", counted()), 1):
        assert taken <= done + 4

    assert taken == len(TEXTS)


def test_a_worker_with_other_code_refuses():
    (batch,) = batches(TEXTS[:1])

    with pytest.raises(SettingsError, match=r"this worker has sag .*, the run has sag 0.0.1; install the same version"):
        answer(TaskCall("step", batch, code="0.0.1"))


def test_a_failed_document_does_not_fail_its_batch():
    (batch,) = batches(["# A\n\nText.", "# B\n\nText."], size=2)
    broken = Batch("summaries", [*batch.documents, "unknown"], batch.tables, OPTIONS)

    made = STEP.do(broken)

    assert [bool(output.reason) for output in made.outputs] == [False, False, True]
    assert [output.row_count for output in made.outputs] == [1, 1, 0]


def test_every_table_that_is_made_by_a_rule_names_one_that_exists():
    from sag_pipeline.store.step_batch import rule_of

    assert {name for name, table in STORED.items() if not table.rule} == {"documents"}
    assert all(callable(rule_of(name)) for name, table in STORED.items() if table.rule)


@pytest.mark.parametrize(("setting", "pending", "workers"), [
    ("local", 10_000, 1),
    ("processes:3", 1, 3),
    ("auto", 3, 1),
])  # fmt: skip
def test_the_setting_says_how_many_workers_there_are(setting, pending, workers):
    assert workers_for(setting, pending) == workers


def test_auto_stays_in_this_process_for_little_work():
    assert engine_for("auto", 3) is LOCAL


@pytest.mark.parametrize("wrong", ["processes:0", "processes:two", "threads", "local:2"])
def test_a_wrong_engine_is_refused_by_name(monkeypatch, wrong):
    monkeypatch.setenv("SAG_ENGINE", wrong)

    with pytest.raises(SettingsError, match="SAG_ENGINE"):
        load_settings()


@pytest.mark.slow
def test_an_ingest_on_processes_gives_the_same_parts_and_release(home, monkeypatch):
    Path("inbox").mkdir()
    for number in range(40):
        text = f"# Report {number}\n\nLumen Optics sold {number} buoys to Kestrel in 2021.\n\n2022年，海澜公司买了{number}台。"
        Path(f"inbox/{number:03}.md").write_text(text, encoding="utf-8")

    def parts(engine: str) -> tuple[str, dict[str, list[str]]]:
        monkeypatch.setenv("SAG_ENGINE", engine)
        monkeypatch.setenv("SAG_HOME", f"home-{engine.partition(':')[0]}")
        release = bare_ingest(["inbox"])["release"]
        store = Store(Path(os.environ["SAG_HOME"]))
        return release, {table: sorted(store.parts.names(table)) for table in STORED}

    assert parts("processes:2") == parts("local")


def threads() -> ThreadPoolExecutor:
    """Any executor will do."""
    return ThreadPoolExecutor(2)


def test_any_executor_can_be_named(monkeypatch):
    monkeypatch.setenv("SAG_ENGINE", "executor:tests.pipeline.engines.test_engines:threads")

    engine = engine_for(load_settings().engine, 1)
    try:
        made = contents(engine.map("step", batches(TEXTS)))
    finally:
        close_engines()

    assert made == contents(LOCAL.map("step", batches(TEXTS)))


def test_an_executor_that_cannot_be_made_is_said_in_one_sentence():
    with pytest.raises(SettingsError, match=r"SAG_ENGINE=executor:no\.such:place: .*; name a function") as error:
        engine_for("executor:no.such:place", 1)

    assert "\n" not in str(error.value)
