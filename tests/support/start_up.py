"""What a command costs before it does any work: seconds of processor time and imported modules.

    python -m tests.support.start_up [OTHER_CHECKOUT] [--rounds N]

Each command runs in a fresh process below a home in a temporary folder, with the demo corpus as its source: the help,
a search, an ingest with nothing to do, and an ingest with one document added. Processes that a command starts count.
OTHER_CHECKOUT is a folder that `git worktree add OTHER_CHECKOUT COMMIT` made; both versions run in turns, so that a
busy machine slows both alike. Printed by command: the least seconds of all rounds, the modules, and, of two checkouts,
the median of the ratios of one round (below 1: this version is faster).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
QUESTION: Final = "Who made the O-ring?"
_COMMAND: Final = """
import json, sys
from pathlib import Path
from sag_retrieval.cli.main import main
try:
    main(sys.argv[2:])
except SystemExit as ended:
    assert not ended.code, ended.code
Path(sys.argv[1]).write_text(json.dumps(sorted(sys.modules)), encoding="utf-8")
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a command cost."""

    seconds: float
    """Of processor time, with those of processes that it started."""
    modules: frozenset[str]


@dataclass(slots=True)
class Checkout:
    """One version of the code with a home and a source of its own."""

    code: Path
    work: Path
    added: int = field(default=0, init=False)

    def run(self, *command: str) -> Cost:
        """Run `sag` with some arguments in a fresh process."""
        environment = {**os.environ, "PYTHONPATH": str(self.code), "SAG_HOME": str(self.work / "home")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        listed = self.work / "modules.json"
        before = os.times()
        subprocess.run(
            [sys.executable, "-c", _COMMAND, str(listed), *command],
            cwd=self.work,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = os.times()
        seconds = after.children_user - before.children_user + after.children_system - before.children_system
        return Cost(seconds, frozenset(json.loads(listed.read_text(encoding="utf-8"))))

    def prepare(self) -> None:
        """Copy the demo corpus and ingest it."""
        self.work.mkdir()
        shutil.copytree(ROOT / "data" / "documents", self.work / "documents")
        self.run("ingest", str(self.work / "documents"))

    def costs(self) -> Iterator[tuple[str, Cost]]:
        """The cost of each command, by a name for it."""
        yield "sag --help", self.run("--help")
        yield "sag search", self.run("search", QUESTION)
        yield "nothing to do", self.run("ingest", str(self.work / "documents"))
        self.added += 1
        text = f"# Heron {self.added}\n\nLin Zhixia opened the Heron plant {self.added} in Lanwan in March 2024.\n"
        (self.work / "documents" / f"heron-{self.added}.md").write_text(text, encoding="utf-8")
        yield "one document added", self.run("ingest", str(self.work / "documents"))


def measure(codes: Sequence[Path], rounds: int) -> dict[str, Mapping[str, Any]]:
    """Seconds and modules of each command for one or two checkouts, and the ratio of the seconds."""
    found: dict[str, list[list[Cost]]] = {}
    with TemporaryDirectory() as place:
        checkouts = [Checkout(code.resolve(), Path(place) / str(number)) for number, code in enumerate(codes)]
        for checkout in checkouts:
            checkout.prepare()
        for _ in range(rounds):
            for costs in zip(*(checkout.costs() for checkout in checkouts), strict=True):
                found.setdefault(costs[0][0], []).append([cost for _, cost in costs])
    return {name: _summary(rows) for name, rows in found.items()}


def _summary(rows: Sequence[Sequence[Cost]]) -> Mapping[str, Any]:
    seconds = [round(min(row[number].seconds for row in rows), 2) for number in range(len(rows[0]))]
    modules = [len(cost.modules) for cost in rows[-1]]
    if len(seconds) == 1:
        return {"seconds": seconds[0], "modules": modules[0]}
    ratio = round(median(row[0].seconds / row[1].seconds for row in rows), 3)
    return {
        "seconds": seconds[0],
        "modules": modules[0],
        "other_seconds": seconds[1],
        "other_modules": modules[1],
        "ratio": ratio,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(json.dumps(measure([ROOT, given.other] if given.other else [ROOT], given.rounds), indent=1))
