"""Verify and repair what lies below a home."""
