"""Prompts of the steps that ask a language model, one file a step and language."""
