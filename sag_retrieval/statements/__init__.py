"""Statements: which sentences can be quoted alone, and how much each is worth to a reader."""
