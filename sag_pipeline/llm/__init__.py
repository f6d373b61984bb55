"""Extraction by a language model: requests, cached answers, costs."""
