"""Work that ends its worker: at a word in the text, or once."""

import os
from pathlib import Path

from sag_pipeline.work import Batch, Made, do_batch

POISON = "POISON"


def do_poisoned(batch: Batch) -> Made:
    """As `do_batch`, but a document with the word ends the process."""
    if any(POISON in text for text in batch.tables["documents"]["text"].to_pylist()):
        os._exit(3)
    return do_batch(batch)


def do_with_one_death(mark: Path, batch: Batch) -> Made:
    """As `do_batch`, but the worker that finds this file deletes it and dies, as if killed from outside."""
    if batch.first > 0 and mark.exists():
        mark.unlink(missing_ok=True)
        os._exit(9)
    return do_batch(batch)
