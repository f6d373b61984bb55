"""Recorded cases of published implementations: all of them where they lie beside the project, else a slice of them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WHOLE = ROOT.parent / "shared" / "golden"
SLICE = ROOT / "tests" / "data" / "golden"
IS_WHOLE = WHOLE.is_dir()


@cache
def recorded(name: str) -> Any:
    """The content of a file of recorded cases, named without `_golden.json`."""
    return json.loads(((WHOLE if IS_WHOLE else SLICE) / f"{name}_golden.json").read_text(encoding="utf-8"))


def enough(checked: int, of_all: int) -> bool:
    """Whether a test has compared as many cases as it must: `of_all` of the whole set, some of the slice."""
    return checked >= (of_all if IS_WHOLE else max(1, of_all // 20))
