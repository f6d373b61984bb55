"""How every command prints JSON."""

import json
from typing import Any

import click

as_json = click.option("--json", "is_json", is_flag=True, help="Print JSON instead of a table.")


def print_json(value: Any) -> None:  # noqa: ANN401  any JSON
    """One JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1, default=str))
