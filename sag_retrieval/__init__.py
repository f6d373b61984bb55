"""Answers and reports from a release: `open_release().search(…)`, `.ask(…)`, `.report(…)`.

The public names are listed in `__init__.pyi`, which type checkers read. Each name is loaded on first use, so that
`import sag_retrieval` stays cheap.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # type: ignore[no-untyped-call]
