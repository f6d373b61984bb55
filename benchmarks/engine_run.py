"""One ingest of `engines.py`, in a process of its own: prints what it made and cost as a line of JSON.

python benchmarks/engine_run.py SOURCE… [--kill]
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from sag_pipeline.defs.assets import release as release_assets
from sag_pipeline.defs.assets import report as report_assets
from sag_pipeline.engines.engine import cores
from sag_pipeline.jobs import run_ingest
from sag_pipeline.progress import listening
from sag_pipeline.publish import publish
from sag_pipeline.store.store import Store
from sag_pipeline.tables import STORED
from sag_retrieval.core.settings import load_settings
from sag_retrieval.topics import stored as of_release

_THIS = psutil.Process()
_apart: dict[str, float] = {}


def cpu(process: psutil.Process) -> float:
    """Processor seconds of a process so far; 0 if it is gone."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def cpu_of_ended() -> float:
    """Processor seconds of children that have ended: they converted files."""
    times = _THIS.cpu_times()
    return float(times.children_user + times.children_system)


def apart(name: str, *modules: ModuleType) -> None:
    """Count the processor seconds of a function by itself, wherever it is named."""
    whole: Callable[..., Any] = getattr(modules[0], name)

    def counted(*given: object, **named: object) -> object:
        before = time.process_time()
        try:
            return whole(*given, **named)
        finally:
            _apart[name] = _apart.get(name, 0.0) + time.process_time() - before

    for module in modules:
        setattr(module, name, counted)


def workers() -> list[psutil.Process]:
    """Processes that work for this one: its children's children; of those that a Ray node starts, its workers."""
    found: list[psutil.Process] = []
    for child in _THIS.children():
        with suppress(psutil.NoSuchProcess):
            is_node = child.name() == "raylet"
            found += [each for each in child.children() if not is_node or each.name().startswith("ray::")]
    return found


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A Ray head without cores and two nodes of one core, on this machine; connected."""
    import ray  # noqa: PLC0415  an extra
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


class Killer:
    """Kills one worker, or one Ray node, when the step `keys` has begun."""

    def __init__(self, cluster: Any) -> None:  # noqa: ANN401  of Ray
        self._cluster = cluster
        self.killed = ""

    def __call__(self, step: str, done: int, total: int, item: str = "") -> None:  # noqa: ARG002  as every listener
        if step != "keys" or self.killed or not total or done < total // 4:
            return
        if self._cluster is not None:
            node = min(self._cluster.worker_nodes, key=lambda each: str(each.node_id))
            self._cluster.remove_node(node, allow_graceful=False)
            self.killed = "one Ray node"
        else:
            victim = max(workers(), key=cpu)
            victim.kill()
            self.killed = f"process {victim.pid}"


def main() -> None:
    """Ingest and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--kill", action="store_true")
    given = parser.parse_args()
    settings = load_settings()
    apart("publish", publish, release_assets)
    apart("release_communities", of_release, report_assets)
    with two_nodes() if settings.engine == "ray" else none() as cluster:
        before, ended, started = cpu(_THIS), cpu_of_ended(), time.perf_counter()
        killer = Killer(cluster) if given.kill else None
        with listening(killer) if killer else none():
            release = run_ingest(given.sources)["release"]
        seconds, driver = time.perf_counter() - started, cpu(_THIS) - before
        worked = sum(map(cpu, workers())) + sum(cpu(each) for each in _THIS.children() if settings.engine != "ray")
        worked += cpu_of_ended() - ended
    store = Store(Path(settings.home))
    print(
        json.dumps(
            {
                "release": release,
                "state": {table: store.state_hash([table]) for table in STORED},
                "parts": {table: sorted(store.parts.names(table)) for table in STORED},
                "seconds": seconds,
                "driver": driver,
                "apart": _apart,
                "workers": worked,
                "killed": killer.killed if killer else "",
                "cores": cores(),
            }
        )
    )


@contextmanager
def none() -> Iterator[None]:
    """Nothing around it."""
    yield


if __name__ == "__main__":
    main()
    sys.stdout.flush()
