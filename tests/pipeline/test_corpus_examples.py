"""The examples that feed a corpus from DuckDB and by dlt run as they stand, and a second run removes what is deleted."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sag_pipeline.store.store import Store
from sag_retrieval import open_release
from tests.support import forked

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "corpora"
START = """
import os, runpy, sys
quiet = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
for posts in ("", *sys.argv[2:]):
    if posts:
        os.environ["SAG_EXAMPLE_POSTS"] = posts
    job = runpy.run_path(sys.argv[1])["defs"].resolve_job_def("everything")
    done = job.execute_in_process(run_config=quiet)
    assert done.success
"""


def fresh(code: str, *words: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process that ends as those of users do."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(
        command, cwd=cwd, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def run(example: str, folder: Path, *later: Path, after: str = "", started: Any = forked.python) -> str:
    """Run the job of an example in a folder, then again with each later state of its source; what it printed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SAG_", "DAGSTER_"))}
    done = started(START + after, str(EXAMPLES / example), *map(str, later), cwd=folder, env=own)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_articles_of_a_database_are_found_with_their_author_and_one_without_text_is_skipped(tmp_path):
    told = run("articles_in_duckdb.py", tmp_path, started=fresh)

    assert "Traceback" not in told
    assert "leaked" not in told
    with open_release(tmp_path / "homes/news") as release:
        assert set(release.table("documents").document_id) == {"heron-1", "heron-2", "loan-1"}
        assert "sensors" in release.search("Who makes the sensors of the buoys?").hits[0].text
        assert "安平银行" in release.search("三号变电站的贷款", where={"metadata.author": "李文"}).hits[0].text
    (aside,) = Store(tmp_path / "homes/news").ledger.entries("kind = 'aside'")
    assert "text" in aside.reason


def test_posts_that_the_interface_no_longer_mentions_stay_and_deleted_ones_go(tmp_path):
    later = tmp_path / "later"
    later.mkdir()
    recorded = json.loads((EXAMPLES / "posts" / "page-1.json").read_text(encoding="utf-8"))
    deleted = [{**post, "deleted": True} for post in recorded["posts"] if post["id"] == 12]
    (later / "page-1.json").write_text(json.dumps({"next": None, "posts": deleted}), encoding="utf-8")

    run("posts_by_dlt.py", tmp_path, later)

    with open_release(tmp_path / "homes/blog") as release:
        assert set(release.table("documents").document_id) == {"11", "13"}
        assert "北河电力公司" in release.search("谁负责三号变电站的运行？").hits[0].text


def test_assets_of_ones_own_read_chunks_and_vectors_downstream_of_a_release(tmp_path):
    (tmp_path / "documents").mkdir()
    texts = {"a.md": "# Heron\n\nLumen Optics sold 120 buoys in 2021.", "b.md": "# 海澜\n\n海澜能源公司由沈若溪创立。"}
    for name, text in texts.items():
        (tmp_path / "documents" / name).write_text(text, encoding="utf-8")

    told = run(
        "chunks_downstream.py",
        tmp_path,
        after="print(done.output_for_node('characters').to_json(), done.output_for_node('dimensions'))",
    )

    with open_release(tmp_path / "homes/news") as release:
        chunks = release.table("chunks")
        assert (
            f'"chunks":{{"en":1,"zh":1}},"characters":{{"en":{len(chunks.text[0])},"zh":{len(chunks.text[1])}}}' in told
        )
        assert f"}} {len(release.vector('Heron'))}" in told
