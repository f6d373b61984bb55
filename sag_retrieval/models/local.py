"""Embedding models and cross-encoders that run in this process: static vectors, ONNX, or PyTorch.

A model is a folder, which is read without a network, or a name that the machine's cache or a hub knows.
"""

import json
import os
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


class LocalEmbedder:
    """A model of sentence-transformers: any of its architectures, on a GPU if there is one; extra `local`."""

    kind: ClassVar[EmbedderKind] = "transformer"
    in_workers: ClassVar[InWorkers] = "loaded"

    def __init__(self, model: str, *, batch: int = BATCH, tokens: int | None = None) -> None:
        self._name, self._batch = model, batch
        with _loading("sentence-transformers", "local", model):
            self._model = import_module("sentence_transformers").SentenceTransformer(model)
        if tokens is not None:
            self._model.max_seq_length = tokens

    @property
    def fingerprint(self) -> str:
        """`sentence-transformers:`, the model's name and the dimension."""
        return f"sentence-transformers:{self._name}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self._model.get_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row per text, in order (see `Embedder`)."""
        return embed_filled(
            texts,
            self.dimension,
            lambda filled: self._model.encode(filled, batch_size=self._batch, show_progress_bar=False),
        )


class StaticEmbedder:
    """Static vectors of word pieces, averaged: a look-up, milliseconds for a thousand texts; extra `model2vec`."""

    kind: ClassVar[EmbedderKind] = "static"
    in_workers: ClassVar[InWorkers] = "loaded"

    def __init__(self, model: str, *, batch: int = STATIC_BATCH, tokens: int | None = None) -> None:
        """Load the model; `tokens`: a text is cut there; all of it counts otherwise."""
        self._name, self._batch, self._tokens = model, batch, tokens
        with _loading("model2vec", "model2vec", model):
            self._model = import_module("model2vec").StaticModel.from_pretrained(model)

    @property
    def fingerprint(self) -> str:
        """`model2vec:`, the model's name and the dimension."""
        return f"model2vec:{self._name}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self._model.dim)

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row per text, in order (see `Embedder`)."""
        return embed_filled(
            texts,
            self.dimension,
            lambda filled: self._model.encode(
                filled, max_length=self._tokens, batch_size=self._batch, use_multiprocessing=False
            ),
        )


class OnnxEmbedder:
    """A model in ONNX, by fastembed, without PyTorch: a name that fastembed lists, or a folder; extra `fastembed`.

    A folder holds `model.onnx` (or `onnx/model.onnx`), the files of the tokenizer, and, if pieces are to be pooled
    otherwise than by their mean, `1_Pooling/config.json`, as models are published.
    """

    kind: ClassVar[EmbedderKind] = "transformer"
    in_workers: ClassVar[InWorkers] = "loaded"

    def __init__(self, model: str, *, batch: int = BATCH, tokens: int | None = None) -> None:
        self._name, self._batch = model, batch
        with _loading("fastembed", "fastembed", model):
            text_embedding = import_module("fastembed").TextEmbedding
            folder = Path(model).expanduser()
            if folder.is_dir():
                _register(text_embedding, model, folder, **_pooling(folder))
                self._model = text_embedding(model, threads=_threads(), specific_model_path=str(folder))
            else:
                self._model = text_embedding(model, threads=_threads())
            if tokens is not None:
                self._model.model.tokenizer.enable_truncation(tokens)
            self.dimension = len(next(iter(self._model.embed(["dimension"]))))

    @property
    def fingerprint(self) -> str:
        """`fastembed:`, the model's name and the dimension."""
        return f"fastembed:{self._name}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row per text, in order (see `Embedder`)."""
        return embed_filled(texts, self.dimension, self._embed)

    def _embed(self, texts: list[str]) -> Floats32:
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
    """A cross-encoder, which reads question and text together: `fastembed:<name or folder>` or another name.

    Without the first word the name or folder is of sentence-transformers.
    """
    way, _, model = name.partition(":")
    if way != "fastembed":
        model = name.removeprefix("sentence-transformers:")
        with _loading("sentence-transformers", "local", model):
            predict: Any = import_module("sentence_transformers").CrossEncoder(model).predict
        return lambda pairs: [float(value) for value in predict(list(pairs), show_progress_bar=False)]
    with _loading("fastembed", "fastembed", model):
        text_encoder = import_module("fastembed.rerank.cross_encoder").TextCrossEncoder
        folder = Path(model).expanduser()
        if folder.is_dir():
            _register(text_encoder, model, folder)
            encoder = text_encoder(model, threads=_threads(), specific_model_path=str(folder))
        else:
            encoder = text_encoder(model, threads=_threads())
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


def _threads() -> int | None:
    """Threads of onnxruntime, as of the other libraries that compute: OMP_NUM_THREADS; None: one a core."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() else None


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
