# Everything a change must pass
check: lint types doors test

# Style and format
lint:
    ruff check .
    ruff format --check .

# Types, strictly
types:
    mypy

# Who may import whom
doors:
    lint-imports

# All tests, docs examples too
test:
    pytest

# The two-command tour: ingest, search, ask, report
demo:
    sag demo

# The Dagster page on http://127.0.0.1:3000
dev:
    dagster dev

# docs/release-format.md from the schema
docs:
    python -m docs.write_release_format

# Recall of every method on every set at hand, against stored floors
quality:
    python benchmarks/quality.py
