"""The command `sag aliases`: names that are close and stand for two keys, to be decided by people."""

from collections.abc import Mapping
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.choices import checked_call
from sag_retrieval.cli.printing import Terminal, as_json, print_json


@click.command()
@click.option("--most", type=click.IntRange(1), default=40, show_default=True, help="Most pairs to show.")
@as_json
def aliases(*, most: int, is_json: bool) -> None:
    """Show pairs of close names that are two keys, the closest first.

    A line merge,NAME,OTHER in `aliases.csv` of the home (or the file SAG_ALIASES) makes them one; apart,NAME,OTHER
    keeps them two; rename,NAME,OTHER makes them one called OTHER. Decisions hold from the next `sag ingest` on.

    \b
    sag aliases
    sag aliases --most 200 --json
    """
    from sag_pipeline.publish.undecided import undecided_pairs  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    with checked_call():
        path, found = undecided_pairs(load_settings(), most)
    if is_json:
        print_json({"file": str(path), "pairs": found})
        return
    console = Terminal()
    if not found:
        console.print("no close names are two keys")
        return
    table = Table("close", "events", "name", "events", "other", box=None)
    for row in found:
        table.add_row(f"{row['closeness']:.2f}", *_cells(row["name"]), *_cells(row["other"]))
    console.print(table)
    console.print(f"decide them in {escape(str(path))}: merge,NAME,OTHER or apart,NAME,OTHER", highlight=False)


def _cells(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"{row['events']:,}", f"{escape(row['name'])} [dim]{escape(row['type'])}[/dim]"
