"""Ingest whenever files below watched folders change: once they rest, one run at a time, whatever a run says."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from sag_pipeline.sources.folders import is_ignored
from sag_retrieval.core.errors import SagError, SourceError
from sag_retrieval.core.home_urls import is_url
from sag_retrieval.core.settings import load_settings

_REST: Final = 1_000
"""Milliseconds without a change after which a run starts."""
_LONGEST: Final = 60_000
"""Milliseconds of changes without a rest after which a run starts all the same."""


def watch_sources(
    sources: Sequence[str], ingest: Callable[[], None], tell: Callable[[str], None], *, every: float | None = None
) -> None:
    """Ingest now, and again after each change, until it is interrupted; a run that fails ends nothing.

    Changes during a run lead to one more run after it.

    Raises:
        SourceError: If there is nothing to watch.
        KeyboardInterrupt: On Ctrl-C and SIGTERM.
    """
    places = [source for source in sources if not is_url(source)]
    missing = [source for source in places if not Path(source).exists()]
    if missing or not (places or every):
        raise SourceError(
            f"source {missing[0]!r} does not exist; give a folder or a file that does"
            if missing
            else "a bucket or the web cannot be watched; `sag watch SOURCE --every 3600` reads it once an hour"
        )
    for _ in _occasions(places, every):
        try:
            ingest()
        except SagError as error:
            tell(str(error))


def _occasions(places: Sequence[str], every: float | None) -> Iterator[None]:
    """When to ingest: at once, then at each change, also of those that come during a run."""
    from watchfiles import watch  # noqa: PLC0415  only needed here

    roots = [Path(place).resolve() for place in places]
    home = Path(load_settings().home).resolve()

    def may_be_document(_: object, name: str) -> bool:
        path = Path(name)
        parts = next((path.relative_to(root).parts for root in roots if path.is_relative_to(root)), path.parts)
        return not path.is_relative_to(home) and not any(map(is_ignored, parts))

    looks = watch(
        *(roots or [home.parent]),
        watch_filter=may_be_document if roots else lambda *_: False,
        debounce=_LONGEST,
        step=_REST,
        rust_timeout=_REST,
        yield_on_timeout=True,
    )
    last = None
    for found in looks:  # the first comes once the folders are watched, so that no change is missed
        if last is None or found or (every and time.monotonic() - last >= every):
            yield
            last = time.monotonic()
