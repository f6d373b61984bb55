"""A hostile file is one row with a reason, is not converted again, and the files around it are ingested."""

import io
import os
import signal
import threading
import zipfile
from contextlib import suppress
from pathlib import Path

import openpyxl
import psutil
import pytest

from sag_pipeline.options import IngestOptions
from sag_pipeline.progress import listening
from sag_pipeline.runs.status import status_of
from sag_pipeline.sources.conversion import convert
from sag_pipeline.sources.decoding import clean
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_pipeline.step_runner import step_of
from sag_pipeline.store.store import Store
from sag_pipeline.sync.bounded import BoundedReader
from sag_pipeline.sync.sync import SyncOptions, sync_source
from sag_retrieval.core.records import Document
from sag_retrieval.core.settings import load_settings
from tests.support.bare_ingest import bare_ingest
from tests.support.hostile_files import bombs, good, row, xlsx

pytestmark = pytest.mark.slow

BOUNDS = SourceOptions(unpacked_bytes=50_000_000, conversion_seconds=2, conversion_memory=512 << 20)
REFUSED = {
    "one-large-part.docx": "167,772,776 bytes unpacked are over the limit of 50,000,000",
    "one-large-image.docx": "over the limit of 50,000,000",
    "overlapping-parts.docx": "over the limit of 50,000,000",
    "declared-too-large.docx": "over the limit of 50,000,000",
    "declared-too-small.docx": "Bad CRC-32",
    "many-parts.docx": "21,003 parts in the package are over the limit of 20,000",
    "millions-of-runs.docx": "more than 40,000 elements, which take longer to convert than 2 s",
    "million-texts.pdf": "raise the bound: `sag ingest --set conversion_",  # of time or of memory, by the machine
    "billion-laughs.docx": "declares a document type or entities",
    "billion-laughs.xlsx": "declares a document type or entities",
    "billion-laughs.pptx": "declares a document type or entities",
    "laughs-in-names.xlsx": "xl/sharedStrings.xml declares a document type",
    "laughs-in-utf16.docx": "declares a document type or entities",
    "external-entity.docx": "declares a document type or entities",
    "far-diagonal.xlsx": "15,999 cells spread over 15,999 rows and 676 columns",
    "unclosed.html": "nested too deeply",
    "xref-loop.pdf": "broken pdf file",
    "truncated.docx": "broken docx file",
    "deep.json": "maximum recursion depth",
    "many-attributes.html": "needs more than 2 s",
    "runs.pdf": "needs more than",
}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def follow(home: Path, inbox: Path, options: SourceOptions = BOUNDS) -> tuple[dict[str, str], list[str]]:
    """Follow the inbox once: reasons by file, and the documents that are there."""
    with Store.locked(home) as store:
        sync_source(store, step_of("documents", IngestOptions(source=options)), str(inbox), SyncOptions(source=options))
        entries = store.ledger.entries("step = 'documents'")
    assert len({(entry.path, entry.status) for entry in entries}) == len(entries)
    reasons = {entry.path: entry.reason for entry in entries if entry.status == "failed"}
    return reasons, sorted(entry.path for entry in entries if entry.status == "done")


def converters() -> set[int]:
    """Processes that convert for this one."""
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # it ended meanwhile
            if "sag_pipeline.sync.bounded_process" in child.cmdline():
                found.add(child.pid)
    return found


def test_every_kind_of_bomb_is_put_aside_with_a_reason_and_good_files_around_it_are_read(home, inbox):
    made = bombs()
    for name in REFUSED:
        (inbox / name).write_bytes(made[name]())
    names = [f"{place}-good{suffix}" for place in ("0", "m", "z") for suffix in good()]
    for name in names:
        (inbox / name).write_bytes(good()[name[name.index(".") :]])

    reasons, documents = follow(home, inbox)

    assert documents == sorted(names)
    assert set(reasons) == set(REFUSED)
    assert {name: told for name, told in REFUSED.items() if told not in reasons[name]} == {}
    assert "sag ingest --set conversion_seconds=4" in reasons["many-attributes.html"]
    assert converters() == set()


def test_a_file_put_aside_is_not_converted_again_until_a_bound_is_raised(home, inbox):
    (inbox / "good.html").write_bytes(good()[".html"])
    (inbox / "large.docx").write_bytes(good()[".docx"])
    narrow = SourceOptions(unpacked_bytes=100)
    step, read = step_of("documents", IngestOptions()), list[str]()

    def note(_step: str, _done: int, total: int, item: str = "") -> None:
        read.extend([item] if total and item else [])

    with Store.locked(home) as store, listening(note):
        first = sync_source(store, step, str(inbox), SyncOptions(source=narrow))
        second = sync_source(store, step, str(inbox), SyncOptions(source=narrow))
        reasons = [e.reason for e in store.ledger.entries("status = 'failed'")]
        third = sync_source(store, step, str(inbox), SyncOptions(source=SourceOptions()))

    assert (first.counts["failed"], second.counts["failed"], third.counts["failed"]) == (1, 1, 0)
    assert read == ["good.html", "large.docx", "large.docx"]
    assert "raise `unpacked_bytes`" in reasons[0]


def test_changed_bytes_are_read_again_and_the_last_good_version_is_kept_until_then(home, inbox):
    (inbox / "report.docx").write_bytes(good()[".docx"])
    follow(home, inbox)
    (inbox / "report.docx").write_bytes(bombs()["billion-laughs.docx"]())

    once, kept = follow(home, inbox)
    twice, still_kept = follow(home, inbox)
    (inbox / "report.docx").write_bytes(good()[".docx"] + b" ")
    mended, _ = follow(home, inbox)

    assert kept == still_kept == ["report.docx"]
    assert once == twice
    assert "last good version" in once["report.docx"]
    assert mended == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_converter_that_dies_at_work_is_one_reason_and_loses_nothing(home, inbox, number):
    (inbox / "a-good.html").write_bytes(good()[".html"])
    (inbox / "b-slow.html").write_bytes(b"<p " + b" ".join(b"a%d=1" % n for n in range(600_000)) + b">x</p>")
    (inbox / "c-good.html").write_bytes(good()[".html"])
    killed: list[int] = []
    is_over = threading.Event()

    def kill_at_work() -> None:
        while not killed and not is_over.wait(0.05):
            for pid in converters():
                with suppress(psutil.Error):  # it ended meanwhile
                    if psutil.Process(pid).cpu_times().user > 2.5:  # long past its imports
                        os.kill(pid, number)
                        killed.append(pid)

    thread = threading.Thread(target=kill_at_work)
    thread.start()
    try:
        reasons, documents = follow(home, inbox, SourceOptions(conversion_seconds=30))
    finally:
        is_over.set()
        thread.join()

    assert len(killed) == 1
    assert documents == ["a-good.html", "c-good.html"]
    assert list(reasons) == ["b-slow.html"]
    assert number.name in reasons["b-slow.html"]


def test_a_converter_that_was_killed_from_outside_is_asked_again(home, inbox):
    (inbox / "a.html").write_bytes(good()[".html"])
    with BoundedReader(BOUNDS) as reader:
        (raw,) = list_source(str(inbox))
        assert isinstance(raw, RawDocument)
        first = reader.read(raw)
        os.kill(reader.pid, signal.SIGKILL)
        psutil.Process(reader.pid).wait(300)

        second = reader.read(raw)

    assert isinstance(first, Document)
    assert first == second


def test_a_converter_that_stands_still_is_ended(inbox):
    (inbox / "a.html").write_bytes(good()[".html"])
    with BoundedReader(BOUNDS) as reader:
        (raw,) = list_source(str(inbox))
        assert isinstance(raw, RawDocument)
        reader.read(raw)
        stopped = reader.pid
        os.kill(stopped, signal.SIGSTOP)

        found = reader.read(raw)

        assert "needs more than 2 s" in found.reason
        assert not psutil.pid_exists(stopped)
        assert isinstance(reader.read(raw), Document)


def test_texts_need_no_process(inbox):
    for suffix in (".txt", ".md", ".json", ".jsonl"):
        (inbox / f"a{suffix}").write_bytes(good()[suffix])

    with BoundedReader(BOUNDS) as reader:
        found = [reader.read(raw) for raw in list_source(str(inbox)) if isinstance(raw, RawDocument)]

        assert reader.pid is None
    assert [type(document) for document in found] == [Document] * 4


def test_bounds_are_options_of_an_ingest_and_the_reason_stays_in_the_status(home, inbox):
    (inbox / "good.txt").write_bytes(good()[".txt"])
    (inbox / "large.docx").write_bytes(good()[".docx"])

    once = bare_ingest(["inbox"], {"unpacked_bytes": 100})
    twice = bare_ingest(["inbox"], {"unpacked_bytes": 100})

    assert once["put_aside"] == twice["put_aside"] == 1
    assert once["release"] == twice["release"]
    (told,) = status_of(load_settings())["put_aside"]
    assert "over the limit of 100" in told["reason"]
    assert bare_ingest(["inbox"])["put_aside"] == 0


def test_far_cells_of_a_sheet_move_together():
    _, text, *_ = convert(".xlsx", xlsx(row(1, text="near") + "<row r='7'/>" + row(1_048_576, "XFD", "a &amp; b")))

    assert text.splitlines()[0] == "## Sheet1"
    assert "near" in text
    assert "a & b" in text
    assert len(text) < 200


def test_a_sheet_without_far_cells_is_converted_as_it_is():
    book, out = openpyxl.Workbook(), io.BytesIO()
    for n in range(50):
        book.active.append([n, None, f"buoy {n}"])
    book.active["J60"] = "apart"
    book.save(out)

    _, text, *_ = convert(".xlsx", out.getvalue())

    assert text.count("\n| ") == 50
    assert "\napart\n" in text


def test_marks_on_one_character_are_divided_and_nothing_else_changes():
    many = clean("a" + "\u0316\u0301" * 100)

    assert clean(many) == many
    assert max(map(len, many.split("\u034f"))) <= 31  # the letter and its marks
    assert many.count("\u0316") == many.count("\u0301") + many.count("\xe1") == 100
    assert clean("ẹ̄́ क्षि ཀྵཱུ") == clean(clean("ẹ̄́ क्षि ཀྵཱུ"))
    assert "\u034f" not in clean("Z" + "\u0301" * 30)


def test_an_archive_of_a_kind_says_what_it_lacks():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("readme.txt", "x")

    with pytest.raises(ValueError, match="broken docx file"):
        convert(".docx", out.getvalue())
