"""Answers and reports from a release: `open_release().search(…)`, `.ask(…)`, `.report(…)`.

The public names are listed in `__init__.pyi`, which type checkers read. Each name is loaded on first use, so that
`import sag_retrieval` stays cheap.
"""

import warnings
from typing import Any, Final

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # type: ignore[no-untyped-call]

_RENAMED: Final = {"ModelDown": "ModelUnavailable", "BudgetSpent": "BudgetExceeded"}
"""Old name → new name; the old ones are removed in version 0.3."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public object
    """Load a public name, also by its name in version 0.1."""
    if name not in _RENAMED:
        return _load(name)
    notice = f"sag_retrieval.{name} is now called {_RENAMED[name]}; the old name leaves with version 0.3"
    warnings.warn(notice, DeprecationWarning, stacklevel=2)
    return _load(_RENAMED[name])
