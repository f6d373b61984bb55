"""Embed texts once each."""
