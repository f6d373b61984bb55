"""Restrictions on what may be found: `sql` through a checked door, `where` compiled to parameters."""

from sag_retrieval.release.filters.door import Door, DoorOptions, open_door
from sag_retrieval.release.filters.where import Where, compile_where

__all__ = ["Door", "DoorOptions", "Where", "compile_where", "open_door"]
