"""Restrictions on what may be found: `sql` through a checked door, `where` compiled to parameters."""

from sag_retrieval.release.sandbox import SandboxOptions, SqlSandbox, open_sandbox
from sag_retrieval.release.where import Where, compile_where

__all__ = ["SandboxOptions", "SqlSandbox", "Where", "compile_where", "open_sandbox"]
