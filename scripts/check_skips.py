"""Prints every skipped test of JUnit reports with its reason; fails on a reason that is not known.

pytest --junitxml build/tests.xml && python -m scripts.check_skips build/tests.xml
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.skips import is_allowed


def skips_of(*reports: Path) -> Counter[str]:
    """Reason → number of tests skipped for it."""
    trees = [ET.parse(report) for report in reports]  # noqa: S314  our own pytest wrote them
    return Counter((skip.get("message") or "").strip() for tree in trees for skip in tree.iter("skipped"))


def main() -> int:
    """Say what was skipped; the exit code."""
    found = skips_of(*map(Path, sys.argv[1:]))
    for reason, count in found.most_common():
        print(f"skipped: {count:4} {'' if is_allowed(reason) else 'UNKNOWN '}{reason}")
    print(f"skipped: {found.total()} tests in all")
    return 0 if all(map(is_allowed, found)) else 1


if __name__ == "__main__":
    sys.exit(main())
