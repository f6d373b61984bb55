"""Relevant segment extraction: neighbouring hits are joined into longer passages, by pure functions."""
