"""What the hashing embedder counted, kept below the home; whether it is what was counted."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.releases import Releases

from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit

FOLDER = "embedder"


def load_fit(home: Path) -> HashingFit | None:
    """The fit of a home; None before the first.

    Its hash is in the name of the folder of its vectors, which is made first, and in the manifests of its releases.

    Raises:
        StoreError: If it is damaged, or missing though there are vectors of one.

    """
    folder = home / FOLDER
    if not any(folder.glob("*.npy")):
        if any((home / "vectors").glob("hashing-*/*.parquet")):
            raise StoreError(f"{folder / 'hashing.npy'} is missing; `sag repair` mends it")
        return None
    try:
        fitted = HashingFit.load(folder)
    except (ModelError, OSError, EOFError, ValueError, TypeError) as error:
        raise StoreError(f"{folder / 'hashing.npy'} is damaged ({error}); `sag repair` mends it") from error
    fingerprint = HashingEmbedder(fitted).fingerprint
    if not (home / "vectors" / fingerprint).is_dir() and not _is_released(home, fingerprint):
        raise StoreError(
            f"{folder / 'hashing.npy'} is damaged (no vectors were made with {fingerprint}); `sag repair` mends it"
        )
    return fitted


def save_fit(home: Path, fitted: HashingFit) -> None:
    """Put a fit in the place of the one before, whole or not at all."""
    durable.make_folder(home / "vectors" / HashingEmbedder(fitted).fingerprint)
    with TemporaryDirectory(dir=home, prefix=DRAFT) as draft:
        fitted.save(Path(draft))
        durable.make_folder(home / FOLDER)
        for path in Path(draft).iterdir():
            path.replace(home / FOLDER / path.name)


def _is_released(home: Path, fingerprint: str) -> bool:
    return any(manifest.embedder_fingerprint == fingerprint for manifest in Releases(home).manifests())
