"""An ingest for tests that begin with what it leaves in a home: done once by a process, then copied."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sag_pipeline.jobs import run_ingest
from sag_pipeline.options import RunOptions
from sag_pipeline.runs.unchanged import CONFIG
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_retrieval.core.settings import load_settings


def bare_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `run_ingest`, but without records of runs though a test stands in the repository, whose `dagster.yaml` asks
    for them: they take five times as long as the rest."""
    if not Path(CONFIG).is_file():
        return run_ingest(sources, options, follow)
    places = [str(Path(each).absolute()) if Path(each).exists() else each for each in sources]
    with tempfile.TemporaryDirectory() as elsewhere, chdir(elsewhere):
        return run_ingest(places, options, follow)


def kept_ingest(
    sources: Sequence[str],
    options: RunOptions | Mapping[str, Any] | None = None,
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `bare_ingest`, but done once by a process: the same of the same files into a home with the same files is a copy.

    For what tests begin with. What a test has patched is not seen, nor is a model asked again.
    """
    home = Path(load_settings().home)
    place = _kept() / _digest(home, sources, options, follow)
    if not (place / "said.json").is_file():
        said = bare_ingest(sources, options, follow)
        place.mkdir()
        _copy(home, place / "home")
        (place / "said.json").write_text(json.dumps(said), encoding="utf-8")
    else:
        shutil.rmtree(home, ignore_errors=True)
        _copy(place / "home", home)
        listed = SourceList(Store(home))
        for source in list(listed):
            listed.put(replace(source, path=str(Path(source.name).absolute())))
    return dict(json.loads((place / "said.json").read_text(encoding="utf-8")))


@cache
def _kept() -> Path:
    place = Path(tempfile.mkdtemp(prefix="sag-kept-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _copy(home: Path, to: Path) -> None:
    """With its hard links: a release shares files with the home."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", home, to], check=True)


def _digest(home: Path, sources: Sequence[str], *given: object) -> str:
    """Of all that decides what an ingest leaves, but for what a server of a test answers."""
    names = ("SAG_", "OPENAI_")
    variables = sorted(each for each in os.environ.items() if each[0].startswith(names))
    varying = {"SAG_HOME", "OPENAI_BASE_URL"}
    digest = blake2b(repr((sources, given, [each for each in variables if each[0] not in varying])).encode())
    for folder in (home, *map(Path, sources)):
        for name, content in _files(folder):
            digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:32]


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    found = sorted(place.rglob("*")) if place.is_dir() else [place]
    return ((path.relative_to(place).as_posix(), path.read_bytes()) for path in found if path.is_file())
