"""Prompts of the steps that ask a language model, one file a step and language."""

from typing import Final

FURTHER: Final = {"summaries": ("titles",), "sections": ("section_summaries",)}
"""Prompts of questions that a step may ask besides its own."""
