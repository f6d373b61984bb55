"""What many tests share."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.browser import browser  # noqa: F401  a fixture

SHARED = Path(__file__).parents[1].parent / "shared"

# A busy machine is no fault of the code: how long an example takes decides nothing.
hypothesis.settings.register_profile("sag", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# The same examples in every run; `--hypothesis-profile sag` draws others, and more.
hypothesis.settings.register_profile(
    "sag-fixed", parent=hypothesis.settings.get_profile("sag"), derandomize=True, max_examples=50
)
hypothesis.settings.register_profile("sag-many", parent=hypothesis.settings.get_profile("sag"), max_examples=2000)
hypothesis.settings.load_profile("sag-fixed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs the demo's release waits for an ingest, and is slow."""
    for item in items:
        if "demo_home" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def shared() -> Path:
    """The folder of evaluation data beside the project; tests that need it are skipped without it."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"evaluation data not found at ../{SHARED.name}")
    return SHARED


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh SAG_HOME; settings of the environment do not reach the test."""
    for name in ("SOURCE", "CHAT_MODEL", "EMBEDDING_MODEL", "LANGUAGE"):
        monkeypatch.delenv(f"SAG_{name}", raising=False)
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path: Path) -> Callable[[Mapping[str, str]], str]:
    """Write files below a source folder; the folder's name."""

    def write(files: Mapping[str, str]) -> str:
        for name, text in files.items():
            path = tmp_path / "inbox" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return "inbox"

    return write


def json_lines(rows: list[Mapping[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
