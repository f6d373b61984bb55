"""Makes a release of the project: checks version, changelog and tree, builds and tries the wheel, sets the tag.

    python -m scripts.release 0.3.0

Nothing is uploaded; the last line says what is left to do.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from scripts import check_wheel

ROOT = Path(__file__).parents[1]


def git(*words: str) -> str:
    """What git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()  # noqa: S603, S607


def faults(version: str, project: str, changelog: str, *, changed: str, tags: list[str]) -> Iterator[str]:
    """What keeps a version from being released."""
    stated = tomllib.loads(project)["project"]["version"]
    if stated != version:
        yield f"pyproject.toml says {stated}, not {version}"
    if not re.search(rf"^## \[{re.escape(version)}\] – \d{{4}}-\d{{2}}-\d{{2}}$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no line `## [{version}] – YYYY-MM-DD`"
    if changed:
        yield f"files are changed: {', '.join(changed.splitlines()[:5])}"
    if f"v{version}" in tags:
        yield f"the tag v{version} is there already"


def main() -> int:
    """Release, or say what keeps it; the exit code."""
    (version,) = sys.argv[1:]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    changed, tags = git("status", "--porcelain"), git("tag").splitlines()
    if found := list(faults(version, project, changelog, changed=changed, tags=tags)):
        print(*found, sep="\n")
        return 1
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", "dist", "."]
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603
    check_wheel.main()
    git("tag", "-a", f"v{version}", "-m", f"Version {version}")
    print(f"v{version} is tagged and its wheel is in dist/; `git push --tags` and an upload are yours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
