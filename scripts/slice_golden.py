"""Takes the slice of the recorded cases that tests use where the whole set is not next to the project.

    python -m scripts.slice_golden ../shared/golden

From each list of each file it takes cases at even distances, small ones first, up to a budget of bytes.
"""

import json
import sys
from pathlib import Path
from typing import Any

SLICE = Path(__file__).parents[1] / "tests" / "data" / "golden"
UNUSED = ("bm25_okapi", "kg_multi_hop_query")
"""Files that no test reads."""
_MOST_CASES = 12
_MOST_BYTES = 9_000


def some_of(cases: list[Any]) -> list[Any]:
    """Up to twelve cases at even distances, while their JSON fits the budget; at least two."""
    step = max(1, len(cases) // _MOST_CASES)
    spread = sorted(range(0, len(cases), step), key=lambda n: len(_json(cases[n])))[:_MOST_CASES]
    chosen: list[int] = []
    for number in spread:
        if len(chosen) < 2 or len(_json([cases[n] for n in [*chosen, number]])) <= _MOST_BYTES:  # noqa: PLR2004
            chosen.append(number)
    return [cases[number] for number in sorted(chosen)]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    """Write the slice of every file that tests read."""
    SLICE.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(sys.argv[1]).glob("*_golden.json")):
        if path.name.removesuffix("_golden.json") in UNUSED:
            continue
        whole = json.loads(path.read_text(encoding="utf-8"))
        part = {name: some_of(cases) if isinstance(cases, list) else cases for name, cases in whole.items()}
        (SLICE / path.name).write_text(_json(part) + "\n", encoding="utf-8")
        print(path.name, {name: len(cases) for name, cases in part.items()})


if __name__ == "__main__":
    main()
