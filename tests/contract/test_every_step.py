"""Every prompt file is used by one run over all steps, and what that run cost adds up."""

from pathlib import Path

import pytest

from sag_retrieval.models.protocols import Prices
from tests.support.every_step import DOCUMENTS, run_every_step, table_of

pytestmark = pytest.mark.slow
NAMES = ("502AI创立故事.md", "kestrel-7-recall-2022.md", "kestrel-7-supply-agreement.md", "海澜潮汐能源简介.md")


def test_one_run_uses_every_prompt_file_and_its_costs_add_up(tmp_path: Path):
    revised = [tmp_path / f"{month}.md" for month in ("May", "June")]
    for path, share in zip(revised, (31, 27), strict=True):
        path.write_text(
            f"# {path.stem}\n\n3 {path.stem} 2025\n\nThe market share of Orin Pumps is {share} %.\n", encoding="utf-8"
        )

    calls, refused = run_every_step(tmp_path, [*(DOCUMENTS / name for name in NAMES), *revised], sections=3)

    *steps, whole = table_of(calls, refused, 1_000_000, Prices(1.0, 2.0))
    assert [row["step"] for row in steps if not row["calls"]] == []
    assert whole["calls"] == len(calls)
    assert whole["input_tokens"] == sum(call.input_tokens for call in calls)
    assert whole["cost_per_million"] == pytest.approx(sum(row["cost_per_million"] for row in steps), abs=0.02)
    assert whole["refused"] == sum(refused.values())
