"""A step's task that breaks its worker: at a word in the text, or once."""

import os
import time
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from sag_pipeline.engines.bounds import one_document, reason_of
from sag_pipeline.store.step_batch import STEP, Batch, Made

POISON: Final = "POISON"
"""A document with this word ends its worker."""
HUNGRY: Final = "HUNGRY"
"""One with this word takes memory without end."""
SLEEPY: Final = "SLEEPY"
"""One with this word never ends."""
DEAF: Final = "DEAF"
"""One with this word never ends, and cannot be interrupted."""
TASK: Final = "tests.support.poisoned:BROKEN"


class _Broken(type(STEP)):
    """As the task `step`, but a word in a document breaks its worker, and so does the first who finds a file."""

    @staticmethod
    def do(batch: Batch, mark: Path | None) -> Made:
        if batch.first > 0 and mark is not None and mark.exists():
            mark.unlink(missing_ok=True)
            os._exit(9)
        if len(batch.documents) > 1:
            return STEP.joined([_Broken.do(one, mark) for one in batch.split()])
        try:
            with one_document():
                _break("".join(batch.tables["documents"]["text"].to_pylist()))
        except Exception as error:  # noqa: BLE001  as a rule's
            return STEP.failed(batch, reason_of(error))
        return STEP.do(batch, None)


def _break(text: str) -> None:
    if POISON in text:
        os._exit(3)
    taken: list[Any] = []
    while HUNGRY in text:
        taken.append(bytearray(10_000_000))
    if SLEEPY in text:
        time.sleep(600)
    if DEAF in text:
        sum(repeat(1, 10**12))  # C code that looks at no signal


BROKEN: Final = _Broken()
