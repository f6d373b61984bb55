"""Documents to releases: Dagster assets over pure steps; `Corpus` and `corpus_definitions` for projects of one's own.

The public names are listed in `__init__.pyi`. Each is loaded on first use, so that a command does not wait for Dagster.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # type: ignore[no-untyped-call]
