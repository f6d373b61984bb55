"""Secrets in messages: whatever leaves the process passes `masked`.

Errors of ours pass it when they are made, which covers the terminal, Dagster's records, the ledger, alerts and
deliveries; `sag` passes other errors before it prints them.
"""

import os
import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

_NAMED: Final = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)$|_URL$", re.IGNORECASE)
"""Variables whose values are secrets, or addresses that may hold one."""
_SHORTEST: Final = 8
"""Characters of a key: a local server takes `none` or `ollama`, which messages say for other reasons."""
_SHORTEST_PASSWORD: Final = 4
_KEPT = set[str]()


def keep_secret(value: str, shortest: int = _SHORTEST) -> str:
    """Mask a value from now on, as it is and as addresses write it; the value."""
    for form in (value, quote(value, safe=""), unquote(value)):
        if len(form) >= shortest:
            _KEPT.add(form)
    return value


def keep_address(address: str, *, is_hook: bool = False) -> str:
    """Mask the password of an address, and of a hook all behind its host; the address."""
    try:
        parts = urlsplit(address)
        keep_secret(parts.password or "", _SHORTEST_PASSWORD)
    except ValueError:
        return address
    if is_hook and parts.scheme in {"http", "https"}:
        keep_secret(address.partition("://")[2].partition("/")[2])
    return address


def masked(text: str) -> str:
    """A message without the secrets of the environment and of what was opened.

    Example:
        >>> keep_secret("sk-test-12345")
        'sk-test-12345'
        >>> masked("wrong key: sk-test-12345")
        'wrong key: …'
    """
    for name, value in os.environ.items():
        if value and _NAMED.search(name):
            keep_address(value) if name.upper().endswith("_URL") else keep_secret(value)
    for secret in sorted(_KEPT, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, "…")
    return text
