"""Extractions that other systems paid for, as documents with given events (JSONL of the contract)."""
