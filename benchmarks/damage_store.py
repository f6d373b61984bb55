"""Whether damages to a home are found, and mended so that the next ingest gives the release of the undamaged home.

    python benchmarks/damage_store.py                 500 damages to a home made of data/documents
    python benchmarks/damage_store.py 60 --seed 3
    python benchmarks/damage_store.py 200 --every 10  ingest after each tenth repair alone

Each damage is done to a copy of a home whose events and keys a scripted model server gave. Counts: found by `verify`
and by `verify --deep`, mended by `repair` (verified again), release the same after ingesting, calls paid again. The
files of releases are left to `damage.py` but for two of them. A flip that leaves every answer in `answers.sqlite` as it
was (in the unused bytes of a page) is harmless and counted apart.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.damages import Damage, draw, inflict
from sag_pipeline.integrity.repair import repair_home
from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.runs import run_ingest, run_report
from sag_retrieval.core.errors import SagError
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"


def files_of(home: Path) -> list[str]:
    """Files that a damage may hit: all that hold something, of releases two and their communities."""
    every = sorted(path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file())
    kept = [name for name in every if not name.startswith("releases/") or "/communities/" in name]
    released = [name for name in every if name.endswith(("manifest.json", "rows/events.arrow"))]
    return [name for name in kept + released if name != "lock"]


def is_harmless(home: Path, original: Path, damage: Damage) -> bool:
    """Whether the answers can all be read as they were."""
    if damage.file != ANSWERS or not (home / ANSWERS).is_file():
        return False
    try:
        with AnswerCache(home / ANSWERS) as one, AnswerCache(original / ANSWERS) as other:
            return list(one) == list(other)
    except SagError:
        return False


def trial(original: Path, home: Path, damage: Damage, release: str, *, ingests: bool) -> list[str]:
    """What came of one damage, in words that are counted."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(original, home)
    if not inflict(home, damage):
        return ["nothing changed"]
    try:
        told = ["found" if verify_home(home, deep=False).faults else "not found without --deep"]
        if not verify_home(home, deep=True).faults:
            return ["harmless" if is_harmless(home, original, damage) else "MISSED"]
        repair_home(home)
        told.append("MENDED NOT" if verify_home(home, deep=True).faults else "mended")
        if repair_home(home).done:
            told.append("REPAIRED TWICE")
        if ingests:
            told.append("same release" if run_ingest([str(DOCUMENTS)])["release"] == release else "OTHER RELEASE")
            told.append("whole again" if not verify_home(home, deep=True).faults else "NOT WHOLE AFTERWARDS")
    except SagError as error:
        told.append(f"ERROR {error}")
    except Exception as error:  # noqa: BLE001  any other is what is looked for
        told.append(f"RAW {type(error).__name__}: {error}")
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="ingest after each so-manieth repair")
    chosen = parser.parse_args()
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ChatServer(read_well) as server:
        original, home = Path(folder) / "original", Path(folder) / "home"
        os.environ |= {
            "SAG_CHAT_MODEL": "openai:scripted",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": server.base_url,
        }
        os.environ["SAG_HOME"] = str(original)
        os.chdir(folder)
        release = run_ingest([str(DOCUMENTS)])["release"]
        os.environ["SAG_CHAT_MODEL"] = "offline"
        run_report()
        os.environ["SAG_CHAT_MODEL"] = "openai:scripted"
        alarms = verify_home(original, deep=True).faults
        print(f"undamaged: {len(alarms)} false alarms {alarms}", flush=True)
        os.environ["SAG_HOME"] = str(home)
        before = len(server.calls)
        for number, damage in enumerate(draw(files_of(original), chosen.count, chosen.seed)):
            told = trial(original, home, damage, release, ingests=number % chosen.every == 0)
            totals.update(each.partition(":")[0] if each.startswith(("ERROR", "RAW")) else each for each in told)
            if any(each.isupper() or each.startswith(("ERROR", "RAW")) for each in told):
                print(number, damage, told, flush=True)
        print(f"{chosen.count} damages:", dict(totals.most_common()))
        print(f"calls paid again: {len(server.calls) - before}")
    sys.exit(bool(alarms) or any(name.isupper() or name.startswith(("ERROR", "RAW")) for name in totals))


if __name__ == "__main__":
    main()
