"""Homes that lie in a bucket: files by name with conditions, and the folder on this machine that mirrors them."""
