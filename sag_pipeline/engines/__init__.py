"""Engines: where the rule-based work of an ingest is done, one process or several."""
