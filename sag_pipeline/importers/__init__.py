"""Extractions by other systems, as documents with supplied events (docs/sources.md)."""
