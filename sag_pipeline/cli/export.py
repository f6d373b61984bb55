"""`sag export`: what a release holds, in the form of another system."""

from pathlib import Path

import click

from sag_retrieval.cli.choices import of_release
from sag_retrieval.cli.printing import as_json, print_json, say
from sag_retrieval.core.errors import SettingsError

FORMATS = ("kg",)


@click.command("export")
@click.argument("form", metavar="FORMAT", type=click.Choice(FORMATS))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="the JSON file to write")
@of_release
@as_json
def export_command(*, form: str, out: Path, release_id: str | None, is_json: bool) -> None:
    """Write the knowledge graph of a release to a file that `sag import kg` reads.

    FORMAT is kg: entities by type and name, relations, triples with their documents and properties.

    \b
    sag export kg --out kg_output.json
    """
    del form  # there is one
    if not out.name:
        raise SettingsError(f"--out {str(out)!r} names no file; give a .json file to write")
    from sag_pipeline.kg_export import write_graph  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval import open_release  # noqa: PLC0415

    with open_release(release=release_id) as release:
        counts = write_graph(release, out)
    if is_json:
        print_json({"out": str(out)} | counts)
    else:
        say(f"{out}: " + ", ".join(f"{count:,} {name.removeprefix('total_')}" for name, count in counts.items()))
