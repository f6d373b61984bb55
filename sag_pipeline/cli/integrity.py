"""The commands `verify` and `repair`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from sag_retrieval.cli.printing import Terminal, as_json, print_json, say
from sag_retrieval.core.errors import SettingsError, StoreError
from sag_retrieval.core.settings import load_settings

if TYPE_CHECKING:
    from sag_pipeline.integrity.repair import Price, Repaired
    from sag_pipeline.integrity.verify import Verified


@click.command()
@click.option("--deep", is_flag=True, help="Compare every byte and row; else lengths, counts and structure.")
@as_json
def verify(*, deep: bool, is_json: bool) -> None:
    """Look whether everything below SAG_HOME is as it was written; exit code 1 if not. Nothing is changed.

    \b
    sag verify           seconds
    sag verify --deep    reads everything
    """
    from sag_pipeline.integrity.verify import verify_home  # noqa: PLC0415  Arrow and DuckDB: no other command should wait for them

    found = verify_home(Path(load_settings().home), deep=deep)
    print_json(found.as_json()) if is_json else _show_verified(Terminal(), found)
    if found.faults:
        raise StoreError(f"{len(found.faults)} faults below {found.home}; `sag repair` mends them")


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask before anything is changed.")
@as_json
def repair(*, yes: bool, is_json: bool) -> None:
    """Mend what `sag verify --deep` finds, without asking a model; then say what to run.

    What is damaged is removed, and the next ingest makes it again: documents are read again from their sources, answers
    of a language model come out of answers.sqlite. Answers that are lost are told before anything is changed.
    """
    from sag_pipeline.integrity.repair import price_of, repair_home  # noqa: PLC0415
    from sag_pipeline.integrity.verify import verify_home  # noqa: PLC0415

    if is_json and not yes:
        raise SettingsError("`sag repair --json` asks nothing, so it needs --yes; `sag verify --deep` only looks")
    settings = load_settings()
    home = Path(settings.home)
    found = verify_home(home, deep=True)
    if not found.faults:
        print_json({"done": [], "next_command": ""}) if is_json else say("nothing is wrong")
        return
    price = None if found.checked[0].name == "lock" else price_of(home, settings)
    if not is_json:
        _show_verified(Terminal(), found)
        _show_price(price)
    if not yes:
        click.confirm("Mend this?", abort=True)
    done = repair_home(home)
    if is_json:
        print_json(asdict(done) | {"price": asdict(price) if price else None})
    else:
        _show_repaired(Terminal(), done)


def _show_verified(console: Terminal, found: "Verified") -> None:
    table = Table("checked", "", "", "faults", box=None)
    for each in found.checked:
        table.add_row(each.name, f"{each.count:,}", each.of, str(len(each.faults)) if each.faults else "none")
    console.print(table)
    for fault in found.faults:
        console.print(f"[red]{fault.file}[/red]: {fault.what}", highlight=False, soft_wrap=True)
        console.print(f"    {fault.mend}", highlight=False, soft_wrap=True)
    if not found.faults:
        console.print(f"nothing is wrong below {found.home}", highlight=False)


def _show_price(price: "Price | None") -> None:
    if price is None or not price.lost_answers:
        say("no answer of a model is lost: the ingest afterwards pays nothing again for what is mended")
    else:
        say(
            f"{price.lost_answers} paid answers are lost; the ingest afterwards would pay {price.calls} calls "
            f"for {price.documents} documents again (`sag ingest --estimate` says how much)"
        )


def _show_repaired(console: Terminal, done: "Repaired") -> None:
    for each in done.done:
        console.print(f"{each.file}: {each.what}", highlight=False, soft_wrap=True)
    if done.next_command:
        console.print(f"Now run: {done.next_command}", highlight=False, soft_wrap=True)
