"""One Dagster asset a table; each body wires a pure step to the store."""
