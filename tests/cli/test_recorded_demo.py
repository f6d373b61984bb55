"""`sag demo --recorded`: what a language model brings, without one."""

import json
import os
from pathlib import Path

import pytest

from sag_retrieval.api import open_release
from sag_retrieval.models.recording import UNANSWERED
from tests.support import forked

pytestmark = pytest.mark.slow


def test_the_recorded_demo_answers_every_prompt_without_a_network(tmp_path: Path):
    settings = {"SAG_HOME": str(tmp_path), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "none"}
    told = forked.sag("demo", "--recorded", "--json", env=os.environ | settings, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    with open_release(tmp_path) as release:
        models = set(release.table("calls")["model"])
    page = Path(json.loads(told.stdout)["places"]["report"]).read_text(encoding="utf-8")

    asked = sorted(each.name for each in (tmp_path / UNANSWERED).glob("*.md"))
    assert not asked, f"record these again, see docs/how-to/own-model.md: {asked}"
    assert "Substation No. 3 stayed dry because it had been raised to 5" in " ".join(told.stderr.split())
    assert models == {"recorded:written by hand"}
    assert "三个标段2600万元，比预算低200万元（2800万元 − 2600万元 = 200万元）" in page
