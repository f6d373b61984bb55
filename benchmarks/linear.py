"""How the time of every expression and text rule grows: all of them under all attacks, the worst of each in a table.

    python benchmarks/linear.py [--size 16384] [--only NAME]

Fails if a text twice as long takes more than 2.5 times as long anywhere. Takes about half an hour.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.attacks import LONG, Growth, attacks_on, growth, patterns, plain_attacks, used
from benchmarks.tried_rules import rules

Attack = tuple[str, str, str]


def everything() -> Iterator[tuple[str, Callable[[str], object], list[Attack]]]:
    """Each expression by use, then each rule, with what is tried on it."""
    for found in patterns():
        for use in found.uses:
            attacks = dict.fromkeys([*plain_attacks(), *attacks_on(found.pattern)])
            yield f"{found.name} {use}", used(found.pattern, use), list(attacks)
    for name, rule in rules().items():
        yield name, rule, plain_attacks()


def worst(run: Callable[[str], object], attacks: list[Attack], size: int) -> tuple[Growth, Attack]:
    """The attack that grows most; of equals the slowest."""
    tried = [(growth(run, attack, largest=size), attack) for attack in attacks]
    return max(tried, key=lambda pair: (pair[0].ratio, pair[0].seconds))


def main() -> int:
    """Print a line for each that takes any time, and fail if one grows too fast."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--size", type=int, default=16_384, help="characters of the longest first text")
    arguments.add_argument("--only", default="", help="part of a name")
    given = arguments.parse_args()
    failed = 0
    print(f"{'ratio':>6} {'seconds':>8} {'size':>9}  rule, attack")
    for name, run, attacks in everything():
        if given.only in name:
            found, (head, pump, tail) = worst(run, attacks, given.size)
            failed += found.ratio > LONG
            if found.ratio > 1:
                print(f"{found.ratio:6.2f} {found.seconds:8.3f} {found.size:9,}  {name}, {(head, pump, tail)!a:.60}")
    print(f"{failed} of them grow faster than {LONG:g}-fold")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
