"""Examples in README, docs and docstrings run as tests, against a release made of data/documents."""

import fcntl
import gc
import os
import shutil
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

gc.disable()  # a third of the time of a collection: what is imported and collected stays
ROOT = Path(__file__).parent
_FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
_LONGEST = (
    "deploy/test_killed_processes.py",
    "pipeline/test_second_project.py",
    "architecture/test_linear.py",
    "deploy/test_compose.py",
    "plugins/test_plugins.py",
    "contract/test_wrong_calls.py",
    "contract/test_mending.py",
    "contract/test_telemetry.py",
    "contract/test_disks.py",
    "pipeline/publish/test_layers_on_disk.py",
    "remote/test_bucket_home.py",
    "pipeline/test_judged_floors.py",
    "pipeline/test_communities_of_a_release.py",
    "pipeline/publish/test_histories.py",
    "contract/test_tour.py",
    "pipeline/engines/test_engines.py",
    "retrieval/statements/test_scorer.py",
)
"""Files of tests that take more than half a minute of one worker."""


@pytest.hookimpl(optionalhook=True)  # unknown under `-p no:xdist`
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Give a file to one worker: its homes and releases are made once, and examples of a page build on one another."""
    config.option.loadscopereorder = False  # the order of `pytest_collection_modifyitems`, not that of counts
    return LoadFileScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, the longest first, so that no worker waits for another one at the end."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    first = {ROOT / "tests" / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: (first.get(item.path, len(first)), item.path not in long))


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make alone."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one release, made of data/documents by the job `ingest` with the offline models."""
    from sag_pipeline.jobs import run_ingest  # Dagster takes seconds to import; most tests need none of it

    own = tmp_path_factory.mktemp("demo")
    made = (tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "demo-made"
    with made.with_suffix(".lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker makes it, the others copy it
        if not (made / "whole").exists():
            made.mkdir()
            _use(patch, made / "home", made)
            run_ingest([str(ROOT / "data" / "documents")])
            (made / "whole").touch()
    return Path(shutil.copytree(made / "home", own / "home"))


@pytest.fixture
def demo(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand where a reader of README stands: in the repository, after `sag demo`."""
    _use(monkeypatch, demo_home, ROOT)


def _use(patch: pytest.MonkeyPatch, home: Path, folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("SAG_", "OPENAI_"))]:
        patch.delenv(name)
    patch.setenv("SAG_HOME", str(home))
    patch.chdir(folder)


_pages = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=_FLAGS), SkipParser()],
    patterns=["README.md", "docs/**/*.md", "docs/*.md"],
    fixtures=["demo"],
)
_FACE = [
    "sag_retrieval/api.py",
    "sag_retrieval/documents.py",
    "sag_retrieval/core/public.py",
    "sag_retrieval/release/releases.py",
    "sag_retrieval/search/result.py",
    "sag_retrieval/search/methods/tiers/result.py",
    "sag_retrieval/ask/answer.py",
    "sag_retrieval/reports/report.py",
]
"""Modules whose examples open a release."""
_modules = [path for package in ("sag_retrieval", "sag_pipeline") for path in sorted((ROOT / package).rglob("*.py"))]
_docstrings = Sybil(
    parsers=[DocTestParser(optionflags=_FLAGS)],
    patterns=[str(path.relative_to(ROOT)) for path in _modules if ">>>" in path.read_text(encoding="utf-8")],
    excludes=_FACE,
    document_types={".py": PythonDocStringDocument},
)
_face = Sybil(
    parsers=[DocTestParser(optionflags=_FLAGS)],
    patterns=_FACE,
    document_types={".py": PythonDocStringDocument},
    fixtures=["demo"],
)

_examples = SybilCollection([_pages, _docstrings, _face]).pytest()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Examples of pages and packages; no pattern is for the files of tests, which are the most."""
    return None if file_path.is_relative_to(ROOT / "tests") else _examples(file_path, parent)
