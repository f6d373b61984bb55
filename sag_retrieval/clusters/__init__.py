"""Clusters: events grouped by the keys they share and by meaning."""
