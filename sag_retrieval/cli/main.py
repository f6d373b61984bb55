"""The command `sag`: the group of all commands, its error messages and exit codes."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import requires
from typing import Any

import click

from sag_retrieval.cli.printing import complain, print_anything
from sag_retrieval.core.errors import QUERY_INTERRUPTED, FilterError, QueryError, RecordError, SagError, system_fault
from sag_retrieval.core.secrets import masked

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    # One thread per query is faster: several evict each other's caches (docs/algorithm.md §search). Must be set before
    # numpy is imported.
    os.environ.setdefault(_name, "1")
gc.set_threshold(50_000, 20)  # a sixth of the processor time of an ingest with nothing to do: imports leave no garbage


class _Group(click.Group):
    """Lists the commands in the order of use, and prints an error as one line with an exit code."""

    _ORDER = (
        "demo ingest status sources documents keys settings schema search ask chat changes report open evaluate serve "
        "mcp releases verify repair import"
    ).split()

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = super().list_commands(ctx)
        return sorted(found, key=lambda n: (self._ORDER.index(n) if n in self._ORDER else len(self._ORDER), n))

    def main(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401  click's own signature
        is_last, options["standalone_mode"] = options.get("standalone_mode", True), False
        if not is_last:
            return super().main(*args, **options)
        print_anything()
        try:
            _check_encodable(args[0] if args and args[0] is not None else options.get("args") or sys.argv[1:])
            with _sigterm_as_ctrl_c():
                done = super().main(*args, **options)
        except Exception as error:
            if os.environ.get("SAG_DEBUG") and not isinstance(error, click.ClickException):
                raise
            done = _complain(error)
        sys.exit(done if isinstance(done, int) else 0)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_encodable(arguments: Sequence[str]) -> None:
    """Refuse an argument that cannot be encoded as a file name."""
    for argument in arguments:
        try:
            os.fsencode(argument)
        except ValueError:
            raise click.UsageError(f"argument {argument!r} is not text") from None


def _complain(error: Exception) -> int:
    """Print an error as one line; return the exit code: 2 for a wrong call, 1 for failed work."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    elif isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "sag"
        complain(f"{error.format_message().rstrip('.')}; see `{path} --help`")
    elif isinstance(error, click.ClickException):
        complain(error.format_message())
    elif isinstance(error, click.Abort) or str(error) == QUERY_INTERRUPTED:
        complain("stopped")
    elif isinstance(error, ModuleNotFoundError) and (extra := _extra_of(error.name or "")):
        complain(f"this needs the extra `{extra}` ({error.name} is missing): pip install 'sag[{extra}]'")
    elif told := next(filter(None, map(system_fault, _foreign(error))), ""):
        complain(told)
        return 1
    elif isinstance(error, SagError | OSError):
        complain(masked(str(error)))
        return 2 if isinstance(error, FilterError | QueryError) and not isinstance(error, RecordError) else 1
    else:
        complain(masked(f"{type(error).__name__}: {error} (a bug in sag; SAG_DEBUG=1 shows the traceback)"))
    return error.exit_code if isinstance(error, click.ClickException) else 1


def _extra_of(module: str) -> str:
    """The extra that brings a missing module; empty for one of our own."""
    name = module.partition(".")[0]
    if name.startswith("sag_") or not name:
        return ""
    for line in requires("sag") or []:
        wanted, _, extra = line.replace("'", '"').partition("extra == ")
        package = wanted.partition(";")[0].partition(" ")[0].partition("[")[0].rstrip("=<>!~,.0123456789")
        if extra and package.replace("-", "_").lower().endswith(name.lower()):
            return extra.split('"')[1]
    return "pipeline"


def _foreign(error: BaseException | None) -> Iterator[str]:
    """What errors of libraries say, of an error and its causes."""
    while error is not None:
        if not isinstance(error, SagError):
            yield str(error)
        error = error.__cause__


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


def _join_commands() -> None:
    from sag_retrieval.cli import commands  # noqa: PLC0415  after the environment above is set
    from sag_retrieval.core.plugins import installed  # noqa: PLC0415

    commands.register(main)
    for point in installed("sag.commands"):
        try:
            point.load()(main)
        except ImportError as error:
            if not (error.name or "").startswith(("dagster", "sumy", "pdfplumber", "lxml", "mammoth")):
                raise  # only a missing optional dependency is allowed


_join_commands()

if __name__ == "__main__":
    main()
