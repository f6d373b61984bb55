"""`sag schema`: show the key types, check a file of them, write the default one to edit."""

from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from sag_retrieval.cli.choices import of_release
from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.errors import SettingsError


@click.group(invoke_without_command=True)
@of_release
@as_json
@click.pass_context
def schema(context: click.Context, *, release_id: str | None, is_json: bool) -> None:
    """Show the key types that the next ingest extracts; with `--release` those of a release.

    \b
    sag schema                  the types of SAG_SCHEMA, of the home, or the default ones
    sag schema write            write the default ones to schema.yaml in the home, to edit
    sag schema check FILE       check a file
    """
    if context.invoked_subcommand is not None:
        return
    from sag_retrieval.core.schema_file import home_schema  # noqa: PLC0415  keeps `sag --help` fast
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    settings = load_settings()
    if release_id is None:
        found = home_schema(settings.home, settings.schema)
    else:
        from sag_retrieval import open_release  # noqa: PLC0415
        from sag_retrieval.release.where import schema_of_release  # noqa: PLC0415

        with open_release(release=release_id) as release:
            found = schema_of_release(release.manifest.key_schema)
    if is_json:
        print_json(found.model_dump(mode="json"))
        return
    table = Table("type", "kind", "unit", "other names", "description", box=None)
    for source, types in (("", found.types), *found.sources.items()):
        if source:
            table.add_row(f"[bold]{escape(source)}[/bold]")
        for each in types:
            said = [each.said("en"), f"one of {', '.join(each.values)}" if each.values else ""]
            cells = (each.name, each.kind, each.unit or "", ", ".join(each.names[1:]), "; ".join(filter(None, said)))
            table.add_row(*map(escape, cells))
    Terminal().print(table)


@schema.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@as_json
def check(*, file: Path, is_json: bool) -> None:
    """Check a file of key types: the first faults with their lines, or the number of its types."""
    from sag_retrieval.core.schema_file import load_schema  # noqa: PLC0415

    found = load_schema(file)
    counts = {"types": len(found.types), "sources": len(found.sources)}
    if is_json:
        print_json(counts)
        return
    own = f", and types of their own for {counts['sources']} sources" if counts["sources"] else ""
    say(f"{file}: {counts['types']} key types{own}")


@schema.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
def write(*, file: Path | None) -> None:
    """Write the default key types to a file, by default `schema.yaml` in the home; an existing file stays as it is."""
    from sag_retrieval.core.schema_file import SCHEMA_FILE, default_text  # noqa: PLC0415
    from sag_retrieval.core.settings import load_settings  # noqa: PLC0415

    place = file or load_settings().home / SCHEMA_FILE
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8") as target:
            target.write(default_text())
    except FileExistsError:
        raise SettingsError(f"{place} exists already; edit it, or name another file") from None
    say(f"{place}\nedit it, then run `sag ingest` again: only keys that it touches are extracted again")
