"""The command `sag`: searching and asking here; the pipeline's commands join through entry points."""

import os
import sys
from importlib.metadata import entry_points
from typing import Any

import click
from dotenv import dotenv_values

from sag_retrieval.errors import SagError

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # One thread a query: two fight over caches and lose (docs/algorithm.md §search). Must be set before numpy loads.
    os.environ.setdefault(_name, "1")


class _Group(click.Group):
    """Shows the commands in the order of work, and turns our errors into one line and exit code 1."""

    _ORDER = (
        "demo",
        "ingest",
        "status",
        "settings",
        "search",
        "ask",
        "report",
        "evaluate",
        "releases",
        "import",
    )

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = super().list_commands(ctx)
        return sorted(found, key=lambda n: (self._ORDER.index(n) if n in self._ORDER else len(self._ORDER), n))

    def main(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401  click's own signature
        try:
            return super().main(*args, **options)
        except SagError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(1)
        except BrokenPipeError:
            sys.exit(0)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sag", prog_name="sag")
def main() -> None:
    """Answers and reports over large, growing piles of documents.

    \b
    sag demo                                   try everything on a small corpus
    sag ingest my-documents                    follow a folder (or a .jsonl file) of documents
    sag search "Who founded Lumen Optics?"     find passages
    sag ask "…" --mode deep                    answer with citations
    """
    for name, value in dotenv_values(".env").items():
        if name.startswith("OPENAI_") and value:  # the client of the model server reads the environment alone
            os.environ.setdefault(name, value)


def _join_commands() -> None:
    from sag_retrieval import commands  # noqa: PLC0415  the environment above must be set first

    commands.register(main)
    for point in sorted(entry_points(group="sag.commands"), key=lambda p: p.name):
        try:
            point.load()(main)
        except ImportError as error:
            if not (error.name or "").startswith(("dagster", "sumy", "markitdown")):
                raise  # only a missing extra is no fault


_join_commands()

if __name__ == "__main__":
    main()
