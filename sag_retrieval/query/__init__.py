"""Asking a release: fast without a model, normal with a rewritten question, deep by sub-questions."""
