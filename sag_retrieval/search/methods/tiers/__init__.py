"""Tiered retrieval: categories, then events, then documents, until they suffice."""

from sag_retrieval.search.methods.tiers.options import TierOptions, TiersOptions
from sag_retrieval.search.methods.tiers.source import Tier, TierSource
from sag_retrieval.search.methods.tiers.workflow import TiersResponse, retrieve

__all__ = ["Tier", "TierOptions", "TierSource", "TiersOptions", "TiersResponse", "retrieve"]
