"""Writes the pages of docs that follow from code: from the schema, commands, options classes and public names."""

import ast
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pyarrow as pa

import sag_retrieval
from sag_retrieval.cli.choices import default_options, option_names
from sag_retrieval.cli.main import main as sag
from sag_retrieval.clusters.storage import COMMUNITY_SCHEMAS
from sag_retrieval.core.options import describe_options
from sag_retrieval.release.folders import BLOCK
from sag_retrieval.release.schema import ORDER, SCHEMA_VERSION, TABLES, VOLATILE
from sag_retrieval.search.registry import METHODS

DOCS = Path(__file__).parents[1] / "docs"
STUB = Path(sag_retrieval.__file__).with_suffix(".pyi")

LAYOUT: dict[str, str] = {
    "manifest.json": "what the release says of itself, see below; written last",
    "checksums.npy": "checksums of every block of all files of at most 1 MB, in the order of their names",
    "checksums/*.npy": "those of a larger file, which releases share as they share the file",
    "rows/*.arrow": "the tables below but those of links, mapped into memory; SQL reads them there, numbered ones with "
    "`row` besides, events also with `chunk_row` and `document_row`, chunks with `document_row`",
    "arrays/graph/*.npy": "links both ways, ranges and triples, by row number; lists as `starts` and `items`",
    "arrays/graph/*.arrow": "names of entities and words of relations of the triples",
    "arrays/graph/*.marisa": "word or name → its number, for walks over triples",
    "arrays/text/*.npy": "postings of every term over chunks and over documents: how often it occurs, its BM25 weight",
    "arrays/text/terms.marisa": "term → number of the term",
    "arrays/names/*.npy": "keys of each name",
    "arrays/names/names.marisa": "folded name or alias of a key → number of the name",
    "arrays/vectors/*.npy": "of chunks, events and keys: `lance_rows`, the row of each vector in Lance, and `signs`, "
    "the binary index; sparse vectors by column: `starts`, `rows`, `values`; `dense`: rows of floats",
    "arrays/vectors/*.runs.json": "which bytes of which Lance file hold which of its rows",
    "arrays/vectors/*.signs.json": "reach of the binary index, and its measured recall",
    "lance/*.lance/**": "Lance tables of chunks, events and keys that are text: the columns below but counts, "
    "`vector_id`, the hash of the embedded text, and `vector`, as float32; of the hashing embedder folded to 512 "
    "columns of float16; hard links to files of the home, so vectors lie on disk once",
    "lance/communities.lance/**": "the same of communities, made after publishing, with vectors of the finest of two "
    "events and more, and `made`, their lengths and hashes; no part of the content hash",
    "arrays/made_of.npy": "hash of what the store held of each document, to find those that change",
    "arrays/resolved.arrow": "keys that stand for others, since the layer before",
    "release.duckdb": "views of the tables below and formulas, for DuckDB; releases of several layers share it: "
    "[tables for other programs](python.md#tables-for-other-programs)",
    "tables/*/*.parquet": "rows of each layer, `0.parquet` those of the first; of links also the `document_id`",
    "tables/hidden_*.parquet": "documents and keys that later layers hide, by layer",
    "tables/comm*.parquet": "empty tables, for the views until communities are made",
    "tables/views.sql": "what `release.duckdb` was made by",
    "layers/*/**": "`rows` and `arrays` of the later layers, see below; without weights and triples by number",
    "layers/*/packed.arrow": "the same of a layer of at most 50,000 chunks and events, in one compressed Arrow file",
    "embedder/*": "what queries need to be embedded as the rows were",
    "communities/*.parquet": "communities of the whole release, made after publishing; no part of the content hash",
    "communities/categories.npz": "vectors of title and summary of the finest communities of two events and more",
    "communities/named_by.json": "communities that a language model named, by id, and the model",
    "communities/made_for.json": "the release that they hold for, the one that was grouped, and what changed since",
    "communities/made": "what the communities were made with, and length and hash of their files",
    "themes/*/*": "themes of global questions, in the same form, made by the first one; no part of the content hash",
}
"""Files of a release folder, as patterns below it, and what they hold."""


def release_format() -> str:
    """The page about a release's files and tables."""
    return "\n".join([*_head(), *_layout(), *_manifest(), *_checks(), *_tables(), *_communities()]) + "\n"


def _head() -> Iterator[str]:
    yield "# Release format"
    yield ""
    yield "Written by `just docs` from `sag_retrieval/release/schema.py` and `scripts/write_docs.py`; do not edit."
    yield ""
    yield f"Schema version {SCHEMA_VERSION}. A reader refuses another one and says how to publish it again."
    yield "A release never changes once it is named in `CURRENT`. Its id is `r` and the start of a hash over what the"
    yield "store holds of each document and its embedder (of the hashing embedder also its fit): the same content is"
    yield "one release."
    yield ""


def _layout() -> Iterator[str]:
    yield "## Files"
    yield ""
    yield "`CURRENT` in the home holds the id of the current release. `releases/<id>/` has:"
    yield ""
    yield from (f"- `{pattern}`: {meaning}" for pattern, meaning in LAYOUT.items())
    yield ""
    yield "A row's number is its place in the table's order, and its position in every array."
    yield ""
    yield from ("## Layers", "")
    yield "The files beside the manifest are the first layer, those in `layers/1`, `layers/2`, … the next ones. A layer"
    yield "has whole documents with all their rows, and the keys that they carry; a document or key hides those of the"
    yield "same id in the layers before. A release that follows upon another links the files of its layers and adds one"
    yield "of what changed; after a removal, layers that hold more than is shown of them are written again without it."
    yield "Readers put the layers together when they open a release."
    yield ""


MANIFEST_FIELDS: dict[str, str] = {
    "release_id": "`r` and the start of `content_hash`",
    "schema_version": "the form that this page describes",
    "content_hash": "hash over `hashes`, `smoothing` and the embedder; clock, layers and the files' bytes have no part",
    "input_hash": "state of the store it was made from",
    "created_at": "when, in UTC",
    "embedding_model": "setting of the embedder; `embedder_fingerprint` and `dimension` say what it gave",
    "embedder_fingerprint": "a reader refuses an embedder with another one",
    "dimension": "columns of a vector",
    "counts": "rows by table",
    "hashes": "by table of the store: hash over what it holds of each document, in the order of their ids",
    "checks": "what each check before publishing found",
    "index": "by table of vectors: how they are searched",
    "layers": "rows by table of each layer; empty for one layer",
    "smoothing": "how the idf of keys is smoothed",
    "files": "path below the release → [length, BLAKE2b of 16 bytes in hex], of every file but `manifest.json` and "
    "what is made later, as JSON that is compressed by zlib and written in Base64; `Manifest.read(folder).files` in "
    "Python; empty in releases of version 0.1, which cannot be verified",
    "manifest_hash": "BLAKE2b, 16 bytes in hex, of the manifest's own text with this value left empty",
}
"""Fields of `manifest.json` and what they say."""


def _manifest() -> Iterator[str]:
    yield from ("## Manifest", "")
    yield from (f"- `{name}`: {meaning}" for name, meaning in MANIFEST_FIELDS.items())
    yield ""


def _checks() -> Iterator[str]:
    yield from ("## What is checked, and when", "")
    yield "Every file and folder of a release is synced to disk before the release gets its name, and the name before"
    yield "`CURRENT` names it."
    yield ""
    yield "- a release is opened: hashes of manifest and `checksums.npy`; every file is there in its length"
    yield "- a table's rows, arrays or vectors are first used: its files; of dense vectors the blocks that are read"
    yield '- `open_release(verify="full")`: every file at once'
    yield '- `open_release(verify="off")`: lengths; row numbers of links, postings and vectors keep their bounds'
    yield "- `verify_release(folder)`: the hash of every file"
    yield ""
    yield f"A checksum is XXH3 of {BLOCK} bytes. A block is compared once in a process, before its bytes are used. What"
    yield "is not as published is refused with `ReleaseError`, which names the file. Communities carry their own hashes"
    yield "in `communities/made`, compared before they are read."
    yield ""


def _tables() -> Iterator[str]:
    yield "## Tables"
    for name, schema in TABLES.items():
        yield from ("", f"### {name}", "")
        volatile = " Left out of the content hash." if name in VOLATILE else ""
        yield f"Ordered by {', '.join(f'`{column}`' for column in ORDER[name])}.{volatile}"
        yield ""
        yield from (_row(field) for field in schema)


def _row(field: pa.Field) -> str:
    meaning = (field.metadata or {})[b"meaning"].decode()
    return f"- `{field.name}` {field.type}{' or null' if field.nullable else ''}: {meaning}"


def _communities() -> Iterator[str]:
    yield from ("", "## Communities", "", "Parquet files next to a release, and the same below each report.")
    for name, schema in COMMUNITY_SCHEMAS.items():
        columns = ", ".join(f"`{field.name}` {field.type}" for field in schema)
        yield from ("", f"- **{name}**: {columns}")


def commands() -> str:
    """The page about every command and option."""
    lines = ["# Commands", "", "Written by `just docs` from the commands themselves; do not edit.", ""]
    lines += ["Examples: `sag COMMAND --help`. Exit code 0; 1 if the work failed; 2 if the call was wrong."]
    lines += ["METHOD: " + ", ".join(f"`{name}`" for name in METHODS.own) + ".", ""]
    shared = _shared_options()
    lacking = [f"`{path}`" for path, command in walk("sag", sag) if JSON not in _option_lines(command).values()][1:]
    lines += [f"Every command but {', '.join(lacking)} takes {JSON}: print JSON instead of a table. Options of several"]
    rows = (f"- {row}" for row, name in shared.items() if name != JSON)
    lines += ["commands, whose names stand behind *also*:", "", *rows, ""]
    for path, command in walk("sag", sag):
        if "goes with the next version" in (command.help or "").partition("\n")[0]:
            continue  # another name of a command above
        lines += [f"## {path}", "", *_described(path, command), *_parameters(command, shared)]
    return "\n".join(lines).rstrip() + "\n"


JSON = "`--json`"
"""The option of every command that prints something."""


def _shared_options() -> dict[str, str]:
    """What is said of each option that several commands have alike → its name."""
    rows = [row for _, command in walk("sag", sag) for row in _option_lines(command).items()]
    return {row: name for row, name in rows if rows.count((row, name)) > 1}


def walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, in the order of `--help`, each with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(f"{path} {name}", below)


def _described(path: str, command: click.Command) -> Iterator[str]:
    usage = [piece for piece in command.collect_usage_pieces(click.Context(command)) if piece != "[OPTIONS]"]
    if usage and not isinstance(command, click.Group):
        yield from (f"`{' '.join([path, *usage])}`", "")
    for block in cleandoc(command.help or "").split("\n\n"):
        if block.startswith("\b\nsag"):
            continue  # examples, which `--help` shows
        if block.startswith("\b"):
            yield from ("```text", *block.removeprefix("\b\n").splitlines(), "```", "")
        else:
            yield from (*block.splitlines(), "")


def _parameters(command: click.Command, shared: dict[str, str]) -> Iterator[str]:
    """Options of a command: a line for each of its own, the names of those that others have too."""
    found = _option_lines(command)
    own = [row for row in found if row not in shared]
    also = [name for row, name in found.items() if row in shared and name != JSON]
    yield from (f"- {row}" for row in own)
    if also:
        yield from ([""] if own else [])
        yield f"*also* {' '.join(also)}"
    if own or also:
        yield ""


def _option_lines(command: click.Command) -> dict[str, str]:
    """What is said of each option of a command → its name."""
    context = click.Context(command)
    lines = dict[str, str]()
    for option in command.params:
        if isinstance(option, click.Argument):
            continue
        record = option.get_help_record(context)
        assert isinstance(option, click.Option)
        written = (record[0] if record else "/".join(option.opts)).replace("|".join(METHODS.own), "METHOD")
        default = f" (default `{option.default}`)" if option.show_default else ""
        meaning = f": {option.help}" if option.help else ""
        lines[f"`{written}`{default}{meaning}"] = f"`{option.opts[0]}`"
    return lines


USES = {
    "ask": "`sag ask --set`, `release.ask(options=…)`; options of its searches are `search.NAME`, those of the method",
    "report": "`sag report --set`, `release.report(options=…)`, the asset `report` in Dagster",
    "cluster": "in an ingest and in a report as `cluster.NAME`",
    "segments": "`sag search --set segments.NAME`, `release.search(segments=…)`; `--segments` names a preset",
    "pipeline": "stages of a pipeline file and their options, named `STAGE.OPTION`: "
    "[pipelines](how-to/pipelines.md), `release.run(pipeline, question)`, `sag ask --pipeline`",
    "chat": "how a language model is called: a part of the options of an ingest",
    "ingest": "`sag ingest --set`, the resource `sag` in Dagster, where a group is a mapping and parts of the header "
    "are in `header_parts`",
}
"""What takes the options of an operation."""


def _option_rows(name: str, usual: object, shown: dict[tuple[str, str], tuple[str, str]]) -> list[str]:
    """The options of a section: a line for each that no section before has, and one about all of the others."""
    rows, again = dict[str, list[str]](), dict[str, list[str]]()
    for row in describe_options(usual):
        default, meaning = row["default"], row["meaning"]
        leaf = row["name"].rpartition(".")[2]
        section, known = shown.setdefault((leaf, meaning), (name, default))
        if section == name:
            told = f" ({_short(row['values'])}): {meaning}"
            rows.setdefault(leaf + told, [told]).append(f"`{row['name']}={default}`")
        else:
            again.setdefault(section, []).append(f"`{row['name']}{'' if known == default else f'={default}'}`")
    lines = [*(f"- {', '.join(names)}{told}" for told, *names in rows.values()), *([""] if rows else [])]
    for section, names in again.items():
        group = names[0].rpartition(".")[0].removeprefix("`")
        is_whole = len(names) == [own for own, _ in shown.values()].count(section)
        told = [each for each in names if "=" in each] if is_whole or not rows else names
        others = f", with the default where it is another: {', '.join(told)}" if told else ""
        begins = "As of" if rows and not is_whole else f"`{group}.NAME`: all options of" if group else "All options of"
        lines += [f"{begins} [{section}](#{section}){others}.", ""]
    return lines


_SHORT = {
    "a whole number, ": "", "a number, ": "", "at least ": "≥ ", "at most ": "≤ ", "more than ": "> ",
    "less than ": "< ", " to ": "–", "one of ": "", "true or false": "boolean", "a list divided by commas": "list",
}  # fmt: skip
"""What messages say in words, as the tables write it."""


def _short(values: str) -> str:
    for long, short in _SHORT.items():
        values = values.replace(long, short)
    return values


def options() -> str:
    """The page about every option of every method and operation."""
    lines = ["# Options", "", "Written by `just docs` from the options classes; do not edit.", ""]
    lines += ["The same names hold on the command line (`--set hops=2`), in Python (`options={'hops': 2}`, or an"]
    lines += ["object of the class) and in Dagster. A list is divided by commas, and `none` stands for no value."]
    lines += ["Options of a method: `sag search --method NAME --set`, `release.search(method=NAME, options=…)`."]
    lines += ["", "## Methods", "", "| `--method` | finds passages by | not for |", "|---|---|---|"]
    lines += [f"| `{entry.name}` | {entry.summary} | {entry.weak} |" for entry in METHODS.own.values()]
    lines += [""]
    shown: dict[tuple[str, str], tuple[str, str]] = {}
    for name in sorted(option_names(), key=["ingest", "pipeline", "report"].__contains__):  # what others repeat first
        usual = default_options(name)
        use = f": {USES[name]}" if name in USES else ""
        if usual is None:
            continue
        lines += [f"## {name}", ""]
        lines += [f"`{type(usual).__name__}`{use}.", ""]
        lines += _option_rows(name, usual, shown)
    return "\n".join(lines).rstrip() + "\n"


def public_names() -> dict[str, list[tuple[str, str]]]:
    """Module and name of every public name, by the group in which the stub of `sag_retrieval` lists it."""
    lines = STUB.read_text(encoding="utf-8").splitlines()
    groups = {number: line.removeprefix("# ") for number, line in enumerate(lines, 1) if line.startswith("# ")}
    found: dict[str, list[tuple[str, str]]] = {}
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.ImportFrom):
            group = groups[max(number for number in groups if number < node.lineno)]
            found.setdefault(group, []).extend((f"sag_retrieval.{node.module}", alias.name) for alias in node.names)
    return found


def reference() -> str:
    """The page of every public name, from the docstrings."""
    lines = ["# Python reference", "", "Written by `just docs` from `sag_retrieval/__init__.pyi`; do not edit.", ""]
    lines += ["Every name that `import sag_retrieval` offers; others may change without notice."]
    lines += ["Examples: [From Python](python.md).", ""]
    for group, names in public_names().items():
        lines += [f"## {group.capitalize()}", ""]
        for module, name in names:
            lines += [f"::: {module}.{name}", ""]
    return "\n".join(lines).rstrip() + "\n"


PAGES = {
    "release-format.md": release_format,
    "commands.md": commands,
    "options.md": options,
    "reference.md": reference,
}
"""File below docs → what writes it."""


def main() -> None:
    """Write every page."""
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
