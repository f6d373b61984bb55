venv := ".venv"

# Everything a change must pass
check: lint types imports test

# One command for a newcomer: an environment with everything, at the tested versions
setup:
    python3 -m venv {{venv}}
    {{venv}}/bin/pip install -q -e ".[dev]" -c constraints.txt
    if {{venv}}/bin/python -m pre_commit --version 2>/dev/null; then {{venv}}/bin/python -m pre_commit install; fi
    @echo "now: . {{venv}}/bin/activate && just test"

# Style and format
lint:
    ruff check .
    ruff format --check .

# Types, strictly, and those that a user of the package sees
types:
    mypy
    mypy tests/typing/face.py

# Who may import whom
imports:
    lint-imports

# The fast tests, docs examples too
test:
    pytest

# Every test: whole ingests, killed processes, deployments, pages in a browser
test-all:
    pytest -m "" --hypothesis-profile sag

# All tests with branch coverage of both packages
coverage:
    pytest -m "" --cov --cov-report=term

# The fast tests with the lowest versions that pyproject.toml allows
lowest python="3.11":
    python -m scripts.other_versions --lowest {{python}}

# The fast tests with every Python at hand
versions:
    python -m scripts.other_versions 3.11 3.12 3.13

# The two-command tour: ingest, search, ask, report
demo:
    sag demo

# The Dagster page on http://127.0.0.1:3000
dev:
    DAGSTER_HOME="$PWD" dagster dev

# docs/release-format.md and docs/commands.md from the code
docs:
    python -m scripts.write_docs

# The documentation site, into build/site
site:
    NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

# Pinned versions, licences, known advisories
audit:
    python -m scripts.audit

# The licence of every installed package
licences:
    python -m scripts.audit --licences

# The wheel and its bill of materials, into dist/
wheel:
    pip wheel -q --no-deps --wheel-dir dist .
    python -m scripts.audit --sbom dist/sag.cdx.json

# The wheel alone in a fresh environment runs the demo outside the repository
wheel-check:
    python -m scripts.check_wheel

# Check the version, build and check the wheel, set the tag; nothing is uploaded
release version:
    python -m scripts.release {{version}}

# Recall of every method on every set at hand, against stored floors
quality:
    python benchmarks/quality.py
