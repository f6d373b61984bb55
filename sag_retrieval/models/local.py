"""Embedding models and cross-encoders that run in this process: static vectors, ONNX, or PyTorch.

A model is a folder, which is read without a network, or a name that the machine's cache or a hub knows.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.types import Floats32
from sag_retrieval.models.protocols import EmbedderKind, InWorkers, embed_filled

BATCH = 64
"""Texts that a model reads at once; a batch is padded to its longest text, so more costs memory and gains nothing."""
STATIC_BATCH = 1024
"""The same of static vectors, which are added up and never padded."""


class _LoadedEmbedder(ABC):
    """A model whose weights this process holds."""

    kind: ClassVar[EmbedderKind] = "transformer"
    in_workers: ClassVar[InWorkers] = "loaded"
    package: ClassVar[str]
    dimension: int
    _name: str

    @property
    def fingerprint(self) -> str:
        """The package, the model's name and the dimension."""
        return f"{self.package}:{self._name}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row per text, in order (see `Embedder`)."""
        return embed_filled(texts, self.dimension, self._encode)

    @abstractmethod
    def _encode(self, texts: list[str]) -> Floats32: ...


class LocalEmbedder(_LoadedEmbedder):
    """A model of sentence-transformers: any of its architectures, on a GPU if there is one; extra `local`."""

    package = "sentence-transformers"

    def __init__(self, model: str, *, batch: int = BATCH, tokens: int | None = None) -> None:
        self._name, self._batch = model, batch
        with _loading(self.package, "local", model):
            self._model = import_module("sentence_transformers").SentenceTransformer(model)
        if tokens is not None:
            self._model.max_seq_length = tokens
        self.dimension = int(self._model.get_embedding_dimension() or 0)

    def _encode(self, texts: list[str]) -> Floats32:
        found: Floats32 = self._model.encode(texts, batch_size=self._batch, show_progress_bar=False)
        return found


class StaticEmbedder(_LoadedEmbedder):
    """Static vectors of word pieces, averaged: a look-up, milliseconds for a thousand texts; extra `model2vec`."""

    kind = "static"
    package = "model2vec"

    def __init__(self, model: str, *, batch: int = STATIC_BATCH, tokens: int | None = None) -> None:
        """Load the model; `tokens`: a text is cut there; all of it counts otherwise."""
        self._name = model
        self._sizes = {"max_length": tokens, "batch_size": batch}
        with _loading(self.package, "model2vec", model):
            self._model = import_module("model2vec").StaticModel.from_pretrained(model)
        self.dimension = int(self._model.dim)

    def _encode(self, texts: list[str]) -> Floats32:
        found: Floats32 = self._model.encode(texts, **self._sizes, use_multiprocessing=False)
        return found


class OnnxEmbedder(_LoadedEmbedder):
    """A model in ONNX, by fastembed, without PyTorch: a name that fastembed lists, or a folder; extra `fastembed`.

    A folder holds `model.onnx` (or `onnx/model.onnx`), the files of the tokenizer, and, if pieces are to be pooled
    otherwise than by their mean, `1_Pooling/config.json`, as models are published.
    """

    package = "fastembed"

    def __init__(self, model: str, *, batch: int = BATCH, tokens: int | None = None) -> None:
        self._name, self._batch = model, batch
        with _loading(self.package, "fastembed", model):
            self._model = _of_fastembed(import_module("fastembed").TextEmbedding, model, _pooling)
            if tokens is not None:
                self._model.model.tokenizer.enable_truncation(tokens)
            self.dimension = len(next(iter(self._model.embed(["dimension"]))))

    def _encode(self, texts: list[str]) -> Floats32:
        """The longest first: a batch is padded to its longest text."""
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        rows = np.empty((len(texts), self.dimension), np.float32)
        found = self._model.embed([texts[place] for place in order], batch_size=self._batch)
        for place, row in zip(order, found, strict=True):
            rows[place] = row
        return rows


Relevance = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""How relevant the text is to the question, of each (question, text) pair; any scale, higher is more."""


@lru_cache(maxsize=4)
def open_cross_encoder(name: str) -> Relevance:
    """A cross-encoder: `fastembed:<name or folder>`, else a name or folder of sentence-transformers."""
    way, _, model = name.partition(":")
    if way != "fastembed":
        model = name.removeprefix("sentence-transformers:")
        with _loading("sentence-transformers", "local", model):
            predict: Any = import_module("sentence_transformers").CrossEncoder(model).predict
        return lambda pairs: [float(value) for value in predict(list(pairs), show_progress_bar=False)]
    with _loading("fastembed", "fastembed", model):
        encoder = _of_fastembed(import_module("fastembed.rerank.cross_encoder").TextCrossEncoder, model)
    return lambda pairs: [float(value) for value in encoder.rerank_pairs(pairs)]


@contextmanager
def _loading(package: str, extra: str, model: str) -> Iterator[None]:
    """Say what to do where the package is missing or the model cannot be read."""
    try:
        yield
    except ImportError as error:
        raise SettingsError(f'model {model!r} needs {package}: pip install "sag[{extra}]" ({error})') from None
    except Exception as error:  # hubs and run times raise anything: errors of the network, of files, of their own
        raise SettingsError(
            f"{package} cannot load {model!r}: {error}; without a network name a folder that holds the model"
        ) from error


def _of_fastembed(known: Any, model: str, pooling: Callable[[Path], dict[str, Any]] = lambda _: {}) -> Any:  # noqa: ANN401  no types
    """A model of fastembed by its name, or of a folder."""
    given = os.environ.get("OMP_NUM_THREADS", "")  # as other libraries that compute; None: a thread for each core
    options: dict[str, Any] = {"threads": int(given) if given.isdecimal() else None}
    folder = Path(model).expanduser()
    if folder.is_dir():
        _register(known, model, folder, **pooling(folder))
        options["specific_model_path"] = str(folder)
    return known(model, **options)


def _register(known: Any, model: str, folder: Path, **pooling: Any) -> None:  # noqa: ANN401  fastembed is no dependency
    """Make a folder known to fastembed, once in a process."""
    if any(each["model"].lower() == model.lower() for each in known.list_supported_models()):
        return
    sources = import_module("fastembed.common.model_description").ModelSource(hf=model)
    files = ("model.onnx", "onnx/model.onnx")
    file = next((each for each in files if (folder / each).is_file()), "")
    if not file:
        raise FileNotFoundError(f"{folder} holds neither {' nor '.join(files)}")
    known.add_custom_model(model, sources=sources, model_file=file, **pooling)


def _pooling(folder: Path) -> dict[str, Any]:
    """How the vectors of pieces become one: as `1_Pooling/config.json` says, else their mean."""
    pooling = import_module("fastembed.common.model_description").PoolingType
    file = folder / "1_Pooling" / "config.json"
    said = json.loads(file.read_text()) if file.is_file() else {}
    way = pooling.CLS if said.get("pooling_mode_cls_token") else pooling.MEAN
    if said.get("pooling_mode_lasttoken"):
        way = pooling.LAST_TOKEN
    # `OnnxEmbedder` takes the dimension of its first vector; fastembed keeps this one for its list alone.
    return {"pooling": way, "normalization": True, "dim": int(said.get("word_embedding_dimension", 0))}
