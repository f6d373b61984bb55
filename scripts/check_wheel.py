"""Builds the wheel and tries it alone: a fresh environment, a folder outside the repository, `sag demo`.

python -m scripts.check_wheel
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def output(*command: str | Path, folder: Path) -> str:
    """What a command prints, run in a folder without anything of the repository in its environment."""
    own = ("SAG_", "OPENAI_", "PYTHONPATH", "VIRTUAL_ENV", "DAGSTER_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603


def check(folder: Path) -> str:
    """Build, install and try; what the demo made.

    Raises:
        ValueError: If the package was imported from elsewhere, or the demo made no release.
    """
    output(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder / "dist", ROOT, folder=folder)
    (wheel,) = (folder / "dist").glob("sag-*.whl")
    output(sys.executable, "-m", "venv", folder / "venv", folder=folder)
    python = folder / "venv" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    output(python, "-m", "pip", "install", "-q", f"{wheel}[pipeline]", "-c", constraints, folder=folder)
    place = output(python, "-c", "import sag_pipeline; print(sag_pipeline.__file__)", folder=folder).strip()
    if not Path(place).is_relative_to(folder):
        raise ValueError(f"sag_pipeline was imported from {place}, not from the wheel")
    made = json.loads(output(folder / "venv/bin/sag", "demo", "--json", folder=folder))
    if not (folder / "data" / "releases" / made["release"]).is_dir():
        raise ValueError(f"the demo named release {made['release']}, which is not below {folder / 'data'}")
    return f"{wheel.name}: {made['counts']}"


def main() -> int:
    """Check the wheel; the exit code."""
    with TemporaryDirectory() as name:
        print(check(Path(name)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
