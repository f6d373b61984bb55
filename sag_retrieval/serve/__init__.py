"""Doors to a release for programs that people already have open: HTTP, MCP, and retrievers of other packages."""
