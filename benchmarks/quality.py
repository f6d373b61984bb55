"""Recall of every method on every set, through `sag ingest` and `open_release`; fails below a stored floor.

    python benchmarks/quality.py [--small] [--sets musique,manuals] [--methods sag,bm25] [--embedder NAME] [--cache DIR]
    python benchmarks/quality.py --keep

R@k: share of gold among the first k distinct documents, or of evidence chunks among the first k chunks, whichever a set
names; the other is D@k or P@k where it is known. `3000`: share of evidence sentences within the first 3,000 returned
characters. Differences are paired, with 95 % bootstrap intervals. Also fails where `sag` is significantly below BM25,
dense, BM25 + dense or LanceDB's own hybrid search at 1, 3, 5 or 10 documents or passages: on the sets that were looked
at while the ranking was made over all questions, on the further kinds (`kinds.py`) over the half of the questions that
is held out; and where `sag` on what a model recorded (`RECORDED`) is significantly below `sag` on the same documents by
rules. Sets that cannot be made here are left out with the reason, unless named. Floors are those of the hashing
embedder.

A floor is the measured value less one question, or one point where a set has more than a hundred, rounded down to half
a point. It is lowered only with the reason in docs/figures.md. `--keep` reads every local set again, asks `sag`, `bm25`
and what else has a floor, and writes docs/figures.json with the commit and the digest of the code that decides recall.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.judging import BOTH, LANCE, LETTERS, Outcome, cached, gain, ingested, measure, spoken  # noqa: E402
from benchmarks.kinds import KINDS, SMALL_KINDS, UnavailableError  # noqa: E402
from benchmarks.sets import SETS, SMALL, Question, QuestionSet  # noqa: E402
from sag_retrieval import Release  # noqa: E402
from sag_retrieval.evaluation.runner import Interval  # noqa: E402

FLOORS = Path(__file__).parent / "floors.json"
METHODS = ("bm25", "dense", BOTH, LANCE, "hybrid", "bridge", "sag-literal", "sag-events", "sag")
OURS = "sag"
NEVER_BELOW = ("bm25", "dense", BOTH, LANCE)
COMPARED = (*NEVER_BELOW, "bridge")
JUDGED_CUTS = (1, 3, 5, 10)
HASHING = "hashing"
ALL_SETS = {name: (lambda _, make=make: make()) for name, make in SETS.items()} | KINDS
SMALL_SETS = {name: (lambda _, make=make: make()) for name, make in SMALL.items()} | SMALL_KINDS
LOCAL = (*SETS, "business", "tables", "office-bilingual")
"""Sets that need no network and are the same everywhere."""
ROOT = Path(__file__).parents[1]
RECORDED = {
    "musique": "musique-rules",
    "locomo-recorded": "locomo",
    "dragonball-zh-recorded": "dragonball-zh",
}
"""Sets with what a model recorded of their documents, and the same by rules."""
KEPT = ROOT / "docs" / "figures.json"
DECIDING = ("sag_pipeline/extract", "sag_retrieval/language", "sag_retrieval/search")
"""Folders whose change can change recall: names, chunks and their borders, ranking."""
Outcomes = Mapping[str, Outcome]


def digest_of(root: Path = ROOT) -> str:
    """Of names and bytes of the deciding folders, whatever git knows of them."""
    found = hashlib.blake2b(digest_size=16)
    paths = (path for folder in DECIDING for path in (root / folder).rglob("*") if path.is_file())
    for path in sorted(path for path in paths if "__pycache__" not in path.parts):
        content = path.read_bytes()
        found.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def floors_of(name: str) -> dict[str, dict[str, float]]:
    stored: dict[str, dict[str, dict[str, float]]] = json.loads(FLOORS.read_text())
    return stored.get(name, {})


def kept_rows(name: str, outcomes: Outcomes) -> Iterator[dict[str, Any]]:
    """A row a method: what it reached, the half width of each interval, its floors."""
    for method, outcome in outcomes.items():
        reached = {measure: round(value, 2) for measure, value in outcome.means().items()}
        halves = {measure: round(value, 2) for measure, value in outcome.half_widths().items()}
        floor = floors_of(name).get(method, {})
        yield {"set": name, "method": method, **reached, "half_width": halves, "floor": floor}


def keep(rows: Sequence[Mapping[str, Any]], digest: str) -> None:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    KEPT.write_text(f'{{\n "commit": "{commit}",\n "digest": "{digest}",\n "rows": [\n  {lines}\n ]\n}}\n')


def show(outcomes: Outcomes) -> Iterator[str]:
    """A line a method, then the differences of `sag` to the others at each cut."""
    for method, outcome in outcomes.items():
        yield f"  {method:14}" + "  ".join(f"{measure} {value:5.1f}" for measure, value in outcome.means().items())
    for method in COMPARED if OURS in outcomes else ():
        yield from differences(outcomes, method) if method in outcomes else ()


def differences(outcomes: Outcomes, other: str) -> Iterator[str]:
    for unit in outcomes[OURS].units():
        found = (f"{LETTERS[unit]}@{cut} {spoken(each)}" for cut, each in gains(outcomes, other, unit).items())
        yield f"    {OURS} − {other:10} {'   '.join(found)}"


def show_kinds(outcomes: Outcomes, questions: Sequence[Question]) -> Iterator[str]:
    """A line a kind of question: `sag` beside BM25."""
    kinds = list(dict.fromkeys(question.kind for question in questions))
    for kind in kinds if len(kinds) > 1 and {OURS, NEVER_BELOW[0]} <= outcomes.keys() else ():
        asked = [question for question in questions if question.kind == kind]
        part = {method: outcomes[method].of(asked) for method in (NEVER_BELOW[0], OURS)}
        base, ours = (" / ".join(f"{each.means()[f'R@{cut}']:.1f}" for cut in JUDGED_CUTS) for each in part.values())
        gained = gains(part, NEVER_BELOW[0])[5]
        yield f"    {kind[:34]:34} ({len(asked)})  {NEVER_BELOW[0]} {base}   {OURS} {ours}   @5 {spoken(gained)}"


def show_halves(outcomes: Outcomes, questions: Sequence[Question]) -> Iterator[str]:
    for half, is_held_out in (("development", False), ("held out", True)):
        part = half_of(outcomes, questions, is_held_out=is_held_out)
        if OURS in part:
            yield f"  {half} ({len(part[OURS].all_gold)})"
            yield from (f"  {line}" for line in show(part))


def half_of(outcomes: Outcomes, questions: Sequence[Question], *, is_held_out: bool) -> Outcomes:
    asked = [question for question in questions if question.is_held_out == is_held_out]
    return {method: outcome.of(asked) for method, outcome in outcomes.items()}


def gains(outcomes: Outcomes, other: str, unit: str = "") -> dict[int, Interval]:
    return {cut: gain(outcomes[OURS], outcomes[other], cut, unit) for cut in JUDGED_CUTS}


def broken(name: str, outcomes: Outcomes, judged: Outcomes, embedder: str = HASHING) -> Iterator[str]:
    """Floors that were not reached, and baselines that are better by what is judged, in words."""
    for method, listed in floors_of(name).items() if embedder == HASHING else ():
        means = outcomes[method].means() if method in outcomes else {}
        for measured in means.keys() & listed.keys():
            if means[measured] < listed[measured]:
                yield f"{name}, {method}: {measured} {means[measured]:.1f} is below its floor {listed[measured]}"
    for method in NEVER_BELOW if OURS in judged else ():
        for unit in judged[OURS].units() if method in judged else ():
            for cut, gained in gains(judged, method, unit).items():
                if gained.high < 0:
                    yield f"{name}: {OURS} is significantly below {method} at {LETTERS[unit]}@{cut}, {spoken(gained)}"


def below_rules(figures: Mapping[str, Outcomes]) -> list[str]:
    """Print what `sag` gains by what a model recorded; the sets where it loses at any cut, in words."""
    faults = []
    for recorded, ruled in RECORDED.items():
        if OURS not in figures.get(recorded, {}) or OURS not in figures.get(ruled, {}):
            continue
        gained = {cut: gain(figures[recorded][OURS], figures[ruled][OURS], cut) for cut in JUDGED_CUTS}
        print(f"{recorded} − {ruled}  " + "   ".join(f"R@{cut} {spoken(each)}" for cut, each in gained.items()))
        faults += [f"{recorded}: below the rules at R@{cut}, {spoken(e)}" for cut, e in gained.items() if e.high < 0]
    return faults


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sets that need no network, for every run")
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--methods", help=f"default: {','.join(METHODS)}; with --small only what is judged")
    parser.add_argument("--embedder", default=HASHING, help="as in SAG_EMBEDDING_MODEL; default: hashing")
    parser.add_argument("--cache", type=Path, help="where releases and downloaded packages are kept between runs")
    parser.add_argument("--keep", action="store_true", help="every local set again, kept in docs/figures.json")
    chosen = parser.parse_args()
    if chosen.keep and (chosen.small or chosen.sets or chosen.methods or chosen.cache or chosen.embedder != HASHING):
        parser.error(
            "--keep reads every local set by hashing: leave out --small, --sets, --methods, --embedder, --cache"
        )
    chosen.names = list(LOCAL if chosen.keep else SMALL_SETS if chosen.small else ALL_SETS)
    chosen.names = chosen.sets.split(",") if chosen.sets else chosen.names
    unknown = set(chosen.names) - set(ALL_SETS | SMALL_SETS)
    if unknown:
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(ALL_SETS | SMALL_SETS)}")
    return chosen


def methods_of(name: str, chosen: argparse.Namespace) -> list[str]:
    if chosen.keep:
        return list(dict.fromkeys((OURS, "bm25", *floors_of(name))))
    return chosen.methods.split(",") if chosen.methods else [*NEVER_BELOW, OURS] if chosen.small else list(METHODS)


def main() -> int:
    chosen = arguments()
    digest = digest_of()
    faults: list[str] = []
    figures: dict[str, Outcomes] = {}
    with cached(chosen.cache) as cache:
        for name in chosen.names:
            try:
                asked = (ALL_SETS | SMALL_SETS)[name](cache)
            except UnavailableError as error:
                print(f"{name}: left out, {error}", flush=True)
                faults += [f"{name}: {error}"] if chosen.sets or chosen.keep else []
                continue
            methods = methods_of(name, chosen)
            figures[name], found = measured(name, asked, ingested(name, asked, cache, chosen.embedder), methods, chosen)
            faults += found
    faults += below_rules(figures)
    if chosen.keep and digest != digest_of():
        faults.append(f"the code changed while it was measured, {KEPT.name} stays as it was: run this again")
    elif chosen.keep:
        keep([row for name, outcomes in figures.items() for row in kept_rows(name, outcomes)], digest)
    faults += [] if figures else ["no set could be made"]
    print("\n".join(faults) or f"every floor holds on {len(figures)} of {len(chosen.names)} sets")
    return 1 if faults else 0


def measured(
    name: str, asked: QuestionSet, release: Release, methods: Sequence[str], chosen: argparse.Namespace
) -> tuple[Outcomes, list[str]]:
    """Measure one set and print it; what every method reached, and the faults in words."""
    outcomes = measure(release, asked.questions, methods)
    known = next(iter(outcomes.values())).all_gold.keys()
    questions = [question for question in asked.questions if question.question_id in known]
    left_out = len(asked.questions) - len(questions)
    print(
        f"{name} ({len(known)} questions"
        + (f"; {left_out} left out, their evidence was not read)" if left_out else ")")
    )
    is_new = name in KINDS | SMALL_KINDS
    halves = show_halves(outcomes, questions) if is_new else ()
    print("\n".join([*show(outcomes), *show_kinds(outcomes, questions), *halves]), flush=True)
    judged = half_of(outcomes, questions, is_held_out=True) if is_new else outcomes
    return outcomes, list(broken(name, outcomes, judged, chosen.embedder))


if __name__ == "__main__":
    sys.exit(main())
