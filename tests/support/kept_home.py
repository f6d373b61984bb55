"""Homes that earlier versions made, kept in `tests/data` (`scripts/keep_home.py` says how)."""

import json
import tarfile
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).parents[1] / "data" / "home-0.1.tar.xz"


def unpack(folder: Path) -> dict[str, Any]:
    """Put `home`, `asked` and `inbox` of version 0.1 below a folder; what that version answered."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(folder, filter="data")
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def edit_manifest(release: Path, **values: Any) -> None:
    """Change what a release says of itself."""
    path = release / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")
