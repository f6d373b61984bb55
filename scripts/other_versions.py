"""Runs the fast tests in throw-away environments: with other Pythons, or with the lowest versions that are allowed.

    python -m scripts.other_versions 3.11 3.12 3.13
    python -m scripts.other_versions --lowest 3.11

uv resolves and installs; it is installed into a separate throw-away environment. A Python that is not installed is
named and left out; with none installed the exit code is 1.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PINNED = (
    "--ignore",
    "tests/architecture",
    "--deselect",
    "tests/api/test_public_names.py::test_a_user_of_the_face_passes_mypy",
)
"""Tests of what only the pinned versions have: their types, their pages, their list."""
FAST = ("-p", "no:cacheprovider", "tests")


def run(*command: str | Path) -> int:
    """Run a command in the repository, without the environment that called; its exit code.

    Commands beside it are found first: tests call `sag` by its name.
    """
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment["PATH"] = os.pathsep.join([str(Path(command[0]).parent), environment.get("PATH", os.defpath)])
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=environment, check=False).returncode  # noqa: S603


def tested(uv: Path, python: str, folder: Path, *, is_lowest: bool) -> int | None:
    """The exit code of the fast tests with one Python; None if it is not installed."""
    there = folder / python
    if run(uv, "venv", "--quiet", "--seed", "--no-python-downloads", "--python", python, there):
        return None
    interpreter = there / "bin" / "python"
    versions = ("--resolution", "lowest-direct") if is_lowest else ("-c", "constraints.txt")
    failed = run(uv, "pip", "install", "--quiet", "--python", interpreter, *versions, ".[dev]")
    if is_lowest and not failed:
        run(uv, "pip", "freeze", "--python", interpreter)
    other = ("-W", "default", *PINNED) if is_lowest else ()  # older versions warn of what newer ones mended
    return failed or run(interpreter, "-m", "pytest", *FAST, *other)


def main() -> int:
    """Test with every Python named; the exit code."""
    is_lowest = "--lowest" in sys.argv
    pythons = [name for name in sys.argv[1:] if not name.startswith("-")]
    with TemporaryDirectory() as name:
        folder = Path(name)
        if run(sys.executable, "-m", "venv", folder / "uv") or run(folder / "uv/bin/pip", "install", "-q", "uv"):
            print("uv could not be installed")
            return 1
        found = {python: tested(folder / "uv/bin/uv", python, folder, is_lowest=is_lowest) for python in pythons}
    for python, code in found.items():
        print(f"Python {python}: {'not installed' if code is None else 'green' if code == 0 else f'failed ({code})'}")
    codes = [code for code in found.values() if code is not None]
    return 0 if codes and not any(codes) else 1


if __name__ == "__main__":
    sys.exit(main())
