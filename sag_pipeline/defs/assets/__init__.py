"""Dagster assets, one per table; each body connects a pure step with the store."""

from importlib import import_module
from typing import Final

from sag_pipeline.defs.corpus_assets import CorpusAsset
from sag_retrieval.release.schema import ADDED

ASSETS: Final = tuple(
    value
    for name in ("documents", *ADDED, "release", "report")
    for value in vars(import_module(f"{__name__}.{name}")).values()
    if isinstance(value, CorpusAsset)
)
