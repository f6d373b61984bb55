"""The commands about releases: list, promote, prune."""

import click

from sag_retrieval.cli import printing
from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.settings import load_settings


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def releases(context: click.Context, *, is_json: bool) -> None:
    """List, promote or prune releases.

    \b
    sag releases                 the same as: sag releases list
    sag releases promote ID      put an older (or newer) release in force
    sag releases prune --keep 3  delete old ones that nobody reads
    """
    if context.invoked_subcommand is None:
        _list(is_json=is_json)


@releases.command("list")
@as_json
def list_releases(*, is_json: bool) -> None:
    """Show every release, oldest first, which one is in force, and why one cannot be opened."""
    _list(is_json=is_json)


def _list(*, is_json: bool) -> None:
    from sag_retrieval import list_releases as found  # noqa: PLC0415

    rows = [each.to_dict() for each in found()]
    print_json(rows) if is_json else printing.releases(Terminal(), rows)


@releases.command()
@click.argument("release_id", metavar="ID")
@as_json
def promote(*, release_id: str, is_json: bool) -> None:
    """Put a release in force; readers that hold another one open are not disturbed."""
    from sag_retrieval.release.releases import Releases  # noqa: PLC0415

    Releases(load_settings().home).promote(release_id)
    print_json({"in_force": release_id}) if is_json else say(f"{release_id} is in force")


@releases.command()
@click.option("--keep", type=click.IntRange(1), default=3, show_default=True, help="Newest releases that stay.")
@click.option(
    "--grace-hours", type=click.FloatRange(0), default=24.0, show_default=True, help="Younger ones stay as well."
)
@as_json
def prune(*, keep: int, grace_hours: float, is_json: bool) -> None:
    """Delete old releases; never the one in force, nor one that a reader holds open."""
    from sag_retrieval.release.releases import prune_releases  # noqa: PLC0415

    gone = prune_releases(load_settings().home, keep=keep, grace_hours=grace_hours)
    print_json({"pruned": gone}) if is_json else say(f"pruned {len(gone)}: {', '.join(gone) or 'none'}")
