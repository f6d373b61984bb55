"""The sections of a report: each is one module here with its data, its messages and its Markdown, and a template."""

from importlib import import_module
from typing import Any

from sag_retrieval.reports.section import ReportSection

NAMES = (
    "header",
    "empty",
    "highlights",
    "chart",
    "news",
    "map",
    "timeline",
    "communities",
    "keys",
    "sources",
    "made",
)
"""The sections in reading order: citations are numbered in this order."""

SECTIONS: tuple[ReportSection[Any], ...] = tuple(import_module(f"{__name__}.{name}").SECTION for name in NAMES)
