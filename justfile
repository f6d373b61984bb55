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

# docs/release-format.md and docs/commands.md from the code
docs:
    python -m scripts.write_docs

# Pinned versions, licences, known advisories
audit:
    python -m scripts.audit

# The wheel and its bill of materials, into dist/
wheel:
    pip wheel -q --no-deps --wheel-dir dist .
    python -m scripts.audit --sbom dist/sag.cdx.json

# Recall of every method on every set at hand, against stored floors
quality:
    python benchmarks/quality.py
