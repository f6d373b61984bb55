"""Coroutines run to their end."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Its result, from a thread of its own: Playwright keeps a loop in that of the tests."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
