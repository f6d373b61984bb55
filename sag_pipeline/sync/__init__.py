"""Bring the documents of sources into the store."""
