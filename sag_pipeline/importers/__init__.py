"""Extractions by other systems, as documents with supplied events (docs/how-to/own-documents.md)."""
