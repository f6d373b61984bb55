"""A cluster of two Ray nodes makes the same rows, whatever dies; it starts once, or the tests are skipped."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.embed import tasks as embedding_tasks
from sag_pipeline.embed.tasks import EMBED, EmbedderOf, TextBatch, texts_at_once
from sag_pipeline.engines import tasks
from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.engine import LOCAL, engine_for
from sag_retrieval.core.errors import SettingsError
from tests.pipeline.engines.test_engines import TEXTS, batches, contents
from tests.support.poisoned import HUNGRY, POISON, SLEEPY, TASK
from tests.support.stand_in import MOST, StandIn


@pytest.fixture(scope="module")
def cluster():
    """A head that does no work and two nodes of one core, on this machine."""
    pytest.importorskip("ray", reason="Ray is an extra")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    from ray.cluster_utils import Cluster

    try:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            made.add_node(num_cpus=1)
    except Exception as error:  # noqa: BLE001  its agents need more than 15 s on a loaded machine
        pytest.skip(f"Ray does not start here: {error}")
    yield made
    import ray

    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def engine(cluster):
    from sag_pipeline.engines.ray_engine import RayEngine

    opened = RayEngine(cluster.address, WorkerBounds(worker_seconds=20, worker_memory=300_000_000))
    yield opened
    opened.close()


@pytest.mark.slow
def test_documents_that_break_their_worker_fail_alone_on_two_nodes(engine):
    made = contents(engine.map(TASK, batches([POISON, *TEXTS[1:4], SLEEPY, *TEXTS[5:8], HUNGRY, TEXTS[9]])))

    well = contents(LOCAL.map("step", batches(TEXTS)))
    assert [place for place, (_, reason) in enumerate(made) if reason] == [0, 4, 8]
    assert [each for n, each in enumerate(made) if n not in {0, 4, 8}] == [
        each for n, each in enumerate(well) if n not in {0, 4, 8}
    ]
    said = [made[place][1] for place in (0, 4, 8)]
    assert "ended its worker" in said[0]
    assert "more than 20 s" in said[1]
    assert "bytes of memory" in said[2]


@pytest.mark.slow
def test_what_workers_do_is_sent_to_the_cluster_once(engine):
    from ray.experimental.internal_kv import _internal_kv_list

    before = len(_internal_kv_list(b"RemoteFunction:", namespace=b"fun"))

    made = contents(engine.map("step", batches(TEXTS, size=1)))

    assert made == contents(LOCAL.map("step", batches(TEXTS, size=1)))
    assert 1 <= before <= len(_internal_kv_list(b"RemoteFunction:", namespace=b"fun")) <= before + 1


@pytest.mark.slow
def test_each_actor_loads_a_model_once_and_halves_what_does_not_fit(engine):
    texts = [f"text {n} of the mill" for n in range(100)]
    actors = engine.with_models()

    try:
        found = [
            *actors.map(
                "tests.pipeline.engines.test_ray:NOTED",
                [TextBatch(pa.array(texts[n : n + 25])) for n in range(0, 100, 25)],
                EmbedderOf("tests.support.stand_in:StandIn"),
            )
        ]
    finally:
        actors.close()

    expected = [StandIn().embed(texts[n : n + MOST]) for n in range(0, 100, MOST)]
    assert np.array_equal(np.concatenate([rows for rows, _, _ in found]), np.concatenate(expected))
    assert len({process for _, process, _ in found}) == len({loader for _, _, loader in found}) == 2


@pytest.mark.slow
def test_another_version_of_the_driver_is_refused_in_one_sentence(engine, monkeypatch):
    from sag_pipeline.engines.ray_engine import RayEngine

    monkeypatch.setattr(tasks, "VERSION", "0.0.1")

    with pytest.raises(SettingsError, match=r"node .*: this worker has sag .*, the run has sag 0\.0\.1; install") as e:
        RayEngine()
    assert "\n" not in str(e.value)


@pytest.mark.slow
def test_a_node_that_is_killed_loses_nothing_and_doubles_nothing(cluster, engine):
    made = engine.map("step", batches(TEXTS, size=1))
    first = next(made)

    cluster.remove_node(min(cluster.worker_nodes, key=lambda node: node.node_id), allow_graceful=False)

    assert contents(iter([first, *made])) == contents(LOCAL.map("step", batches(TEXTS, size=1)))


class _Noted:
    """Embeds as the task `embed`, and says in which process, and which one loaded the model."""

    split, failed = staticmethod(EMBED.split), staticmethod(EMBED.failed)

    @staticmethod
    def do(batch: TextBatch, shared: EmbedderOf):
        model = _loaded(shared.model)
        return EMBED.do(batch, EmbedderOf(shared.model, model)), os.getpid(), model.loaded_by


_models: dict[str, StandIn] = {}


def _loaded(name: str) -> StandIn:
    return _models.setdefault(name, StandIn(name))


NOTED = _Noted()


def test_what_does_not_fit_in_memory_is_embedded_in_halves(monkeypatch):
    monkeypatch.setattr(embedding_tasks, "_at_once", 64)
    model = StandIn()
    texts = [f"text {n}" for n in range(70)]

    vectors = EMBED.do(TextBatch(pa.array(texts)), EmbedderOf("stand-in", model))

    assert vectors.shape == (70, 26)
    assert np.array_equal(vectors[65:], StandIn().embed(texts[65:]))
    assert model.largest == embedding_tasks._at_once == 8
    assert texts_at_once(320_000_000) == 20


def test_a_text_that_does_not_fit_alone_is_an_error(monkeypatch):
    monkeypatch.setattr(embedding_tasks, "_at_once", 0)
    monkeypatch.setattr("tests.support.stand_in.MOST", 0)

    with pytest.raises(MemoryError):
        EMBED.do(TextBatch(pa.array(["one"])), EmbedderOf("stand-in", StandIn()))


def test_an_address_where_no_cluster_answers_is_said_soon():
    pytest.importorskip("ray", reason="Ray is an extra")
    started = time.monotonic()

    with pytest.raises(SettingsError, match="no Ray cluster answers there"):
        engine_for("ray:127.0.0.1:9", 1)

    assert time.monotonic() - started < 120


def test_ray_that_is_not_installed_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(SettingsError, match=r'SAG_ENGINE=ray needs Ray: pip install "sag\[ray\]"') as error:
        engine_for("ray", 1)

    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_script_without_a_guard_is_not_run_again_by_its_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from pathlib import Path
        from sag_pipeline.jobs import run_ingest
        with Path("runs").open("a") as runs:
            runs.write("run\\n")
        run_ingest(["inbox"])
        """),
        encoding="utf-8",
    )
    (tmp_path / "inbox").mkdir()
    for n in range(3):
        (tmp_path / "inbox" / f"{n}.md").write_text(TEXTS[n], encoding="utf-8")

    subprocess.run(
        [sys.executable, script],
        cwd=tmp_path, check=True, capture_output=True, timeout=300,
        env={**os.environ, "SAG_ENGINE": "processes:2", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip

    assert (tmp_path / "runs").read_text(encoding="utf-8") == "run\n"
