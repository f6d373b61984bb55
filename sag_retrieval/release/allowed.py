"""What a restriction leaves to be found, as flags by row number."""

from dataclasses import dataclass

from sag_retrieval.core.types import Flags


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a restriction leaves to be found: one flag a row, for the tables that are searched."""

    chunks: Flags
    events: Flags
    keys: Flags
