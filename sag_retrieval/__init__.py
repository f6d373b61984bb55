"""Answers and reports from a release: `open_release().search(…)`, `.ask(…)`, `.report(…)`.

Opening        open_release, Release
Settings       Settings, load_settings
Errors         SagError and what is below it
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sag_retrieval.core.errors import (
    AnswerError,
    BudgetExceeded,
    FilterError,
    ModelError,
    ModelUnavailable,
    PluginError,
    QueryError,
    ReleaseError,
    SagError,
    SchemaMismatch,
    SettingsError,
    SourceError,
)

if TYPE_CHECKING:
    from sag_retrieval.api import Release, open_release
    from sag_retrieval.core.settings import Settings, load_settings

__all__ = [
    "AnswerError",
    "BudgetExceeded",
    "FilterError",
    "ModelError",
    "ModelUnavailable",
    "PluginError",
    "QueryError",
    "Release",
    "ReleaseError",
    "SagError",
    "SchemaMismatch",
    "Settings",
    "SettingsError",
    "SourceError",
    "load_settings",
    "open_release",
]

_HOMES = {
    "Release": "sag_retrieval.api",
    "open_release": "sag_retrieval.api",
    "Settings": "sag_retrieval.core.settings",
    "load_settings": "sag_retrieval.core.settings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever the name stands for
    """Import a public name when it is first used, so that `import sag_retrieval` stays cheap."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
