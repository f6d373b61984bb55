"""Prints every skipped test of a JUnit report with its reason; fails on a reason that is not known.

pytest --junitxml build/tests.xml && python -m scripts.check_skips build/tests.xml
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.support.skips import is_allowed


def skips_of(report: Path) -> Counter[str]:
    """Reason → number of tests skipped for it."""
    tree = ET.parse(report)  # noqa: S314  our own pytest wrote it
    return Counter((skip.get("message") or "").strip() for skip in tree.iter("skipped"))


def main() -> int:
    """Say what was skipped; the exit code."""
    found = skips_of(Path(sys.argv[1]))
    for reason, count in found.most_common():
        print(f"skipped: {count:4} {'' if is_allowed(reason) else 'UNKNOWN '}{reason}")
    print(f"skipped: {found.total()} tests in all")
    return 0 if all(map(is_allowed, found)) else 1


if __name__ == "__main__":
    sys.exit(main())
