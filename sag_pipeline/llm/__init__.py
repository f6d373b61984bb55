"""Extraction by a language model: requests, known keys, estimates."""
