"""Answers and reports from a release: `open_release().search(…)`, `.ask(…)`, `.report(…)`.

The public names stand, grouped, in `__init__.pyi`: one list that type checkers read and that is loaded name by name
when it is first used, so that `import sag_retrieval` stays cheap.
"""

import warnings
from typing import Any, Final

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # type: ignore[no-untyped-call]

_RENAMED: Final = {"ModelDown": "ModelUnavailable", "BudgetSpent": "BudgetExceeded"}
"""Old name → new name; the old ones leave with version 0.3."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever the name stands for
    """Load a public name, also under its name of version 0.1."""
    if name not in _RENAMED:
        return _load(name)
    told = f"sag_retrieval.{name} is now called {_RENAMED[name]}; the old name leaves with version 0.3"
    warnings.warn(told, DeprecationWarning, stacklevel=2)
    return _load(_RENAMED[name])
