"""Tiered retrieval: categories, then events, then documents, until they suffice."""
