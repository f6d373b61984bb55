"""Which sources a run may read: whoever types a command has the rights of its shell, whoever reaches a page has not."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import Settings

_is_here: ContextVar[bool] = ContextVar("is_launched_here", default=False)


@contextmanager
def launched_here() -> Iterator[None]:
    """Mark the runs of this context as started by this process itself, from a command or from code."""
    token = _is_here.set(True)
    try:
        yield
    finally:
        _is_here.reset(token)


def refuse_source(given: str, settings: Settings) -> None:
    """Refuse a source that lies outside of what may be read.

    SAG_SOURCE may always be read. Anything else must lie below a folder of SAG_SOURCE_ROOTS. Where that names none, a
    command may read everything, and a run that was started elsewhere (the Dagster page) nothing else.

    Raises:
        SettingsError: If the run may not read it.

    """
    place = Path(os.path.realpath(given))
    roots = [Path(os.path.realpath(root)) for root in settings.source_roots.split(os.pathsep) if root]
    is_free = not roots and _is_here.get()
    if is_free or place == Path(os.path.realpath(settings.source)) or any(map(place.is_relative_to, roots)):
        return
    bounds = settings.source_roots or "none"
    raise SettingsError(
        f"source {given!r} lies below none of SAG_SOURCE_ROOTS ({bounds}) and is not SAG_SOURCE; "
        "add its folder to SAG_SOURCE_ROOTS, where the pipeline runs"
    )
