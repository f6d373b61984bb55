"""Dagster assets, one per table; each body connects a pure step with the store."""
