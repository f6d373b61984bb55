"""Walking a source: only regular files below it are opened, and whatever is not read is told."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.folders import SourceOptions, open_regular, walk
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_retrieval.core.errors import SettingsError, SourceError


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "good.md").write_text("Quill makes sensors.", encoding="utf-8")
    return folder


@pytest.fixture
def deep(inbox: Path, tmp_path: Path) -> Iterator[Path]:
    """A source whose folders nest so deep that Python's own removal of them would not end well."""
    before = Path.cwd()
    os.chdir(inbox)
    yield inbox
    os.chdir(before)
    subprocess.run(["rm", "-rf", str(inbox)], check=True)


def read(root: Path, **options: bool) -> list[str]:
    return [found.path for found in walk(root, SourceOptions(**options)) if not found.reason]


def told(root: Path, **options: bool) -> dict[str, str]:
    return {found.path: found.reason for found in walk(root, SourceOptions(**options)) if found.reason}


def test_fifos_sockets_and_devices_are_never_opened(inbox, monkeypatch):
    os.mkfifo(inbox / "pipe.txt")
    monkeypatch.chdir(inbox)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.txt")
        found = list(list_source(str(inbox)))

    assert [f.document_id for f in found if isinstance(f, RawDocument)] == ["good.md"]
    assert {f.path: f.reason.split(",")[0] for f in found if not isinstance(f, RawDocument)} == {
        "pipe.txt": "a FIFO",
        "socket.txt": "a socket",
    }


def test_a_source_that_is_a_device_is_put_aside():
    (found,) = walk(Path("/dev/null"))

    assert found.reason.startswith("a device")


def test_a_file_that_became_a_fifo_after_it_was_listed_does_not_block(inbox):
    (raw,) = list_source(str(inbox))
    (inbox / "good.md").unlink()
    os.mkfifo(inbox / "good.md")

    assert "cannot be read" in parse_document(raw).reason
    with pytest.raises(OSError, match="no regular file"):
        open_regular(inbox / "good.md")


def test_a_link_that_leads_out_is_put_aside_unless_it_is_wanted(inbox, tmp_path):
    (tmp_path / "secret.txt").write_text("A secret.", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "far.md").write_text("Far away.", encoding="utf-8")
    (inbox / "secret.txt").symlink_to(tmp_path / "secret.txt")
    (inbox / "users.txt").symlink_to("/etc/passwd")
    (inbox / "linked").symlink_to(tmp_path / "outside")

    assert read(inbox) == ["good.md"]
    assert set(told(inbox)) == {"secret.txt", "users.txt", "linked"}
    assert all("outside of the source" in reason for reason in told(inbox).values())
    assert read(inbox, follow_links_outside=True) == ["good.md", "linked/far.md", "secret.txt", "users.txt"]
    found = [f for f in list_source(str(inbox), SourceOptions(follow_links_outside=True)) if isinstance(f, RawDocument)]
    assert [f.document_id for f in found] == ["good.md", "linked/far.md", "secret.txt", "users.txt"]


def test_a_linked_file_below_the_source_is_read(inbox):
    (inbox / "again.md").symlink_to("good.md")

    assert read(inbox) == ["again.md", "good.md"]


def test_a_source_that_is_itself_a_link_is_read(inbox, tmp_path):
    (tmp_path / "current").symlink_to(inbox)

    assert read(tmp_path / "current") == ["good.md"]


@pytest.mark.parametrize("follows", [False, True], ids=["inside", "outside too"])
def test_loops_of_links_end(inbox, tmp_path, follows):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "far.md").write_text("Far away.", encoding="utf-8")
    (tmp_path / "outside" / "back").symlink_to(inbox)
    (tmp_path / "outside" / "self").symlink_to(".")
    for name, target in {"loop": ".", "up": "..", "itself": "itself", "out": tmp_path / "outside"}.items():
        (inbox / name).symlink_to(target)

    found = read(inbox, follow_links_outside=follows)

    assert found == ["good.md"] + ["out/far.md"] * follows
    assert {"loop", "up", "itself"} <= set(told(inbox, follow_links_outside=follows))


@pytest.mark.slow
def test_folders_may_nest_deeper_than_calls(deep):
    for _ in range(1500):
        Path("d").mkdir()
        os.chdir("d")
    Path("deep.md").write_text("Deep down.", encoding="utf-8")

    assert read(deep) == ["d/" * 1500 + "deep.md", "good.md"]


def test_a_folder_whose_path_is_too_long_is_told(deep):
    name = "n" * 200
    for _ in range(25):
        Path(name).mkdir()
        os.chdir(name)

    (place,) = (found for found in walk(deep) if found.reason)

    assert place.is_unknown
    assert "too long" in place.reason


_AS_NOBODY = """
import os, sys
from pathlib import Path
from sag_pipeline.sources.folders import walk
os.setuid(65534)
for place in walk(Path(sys.argv[1])):
    print(place.path, place.is_unknown, place.reason, sep="|")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_folder_without_the_right_to_list_it_is_told():
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others
        root = Path(name)
        root.chmod(0o755)
        for folder in ("open", "closed"):
            (root / folder).mkdir()
            (root / folder / "a.md").write_text("text", encoding="utf-8")
        (root / "closed").chmod(0)

        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, name], capture_output=True, text=True, check=False, cwd="/"
        )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["closed|True|cannot be read or listed: Permission denied", "open/a.md|False|"]


def test_a_source_that_cannot_be_looked_at_is_an_error(tmp_path):
    with pytest.raises(SourceError, match="too long"):
        list(walk(tmp_path / ("n" * 300)))


def test_lock_temporary_and_system_files_are_ignored_without_a_word(inbox):
    for name in (
        "~$plan.docx",
        ".~lock.plan.odt#",
        "Thumbs.db",
        "desktop.ini",
        ".DS_Store",
        "a.tmp",
        "b.md~",
        "c.part",
    ):
        (inbox / name).write_text("x", encoding="utf-8")
    (inbox / "__MACOSX").mkdir()
    (inbox / "__MACOSX" / "d.md").write_text("x", encoding="utf-8")

    assert [found.path for found in walk(inbox)] == ["good.md"]


def test_files_of_kinds_that_are_not_read_are_one_counted_line_each(inbox):
    for name in ("a.png", "b.PNG", "sub/c.png", "d.zip", "README"):
        (inbox / name).parent.mkdir(exist_ok=True)
        (inbox / name).write_text("x", encoding="utf-8")

    found = {each.path: each.reason for each in list_source(str(inbox)) if not isinstance(each, RawDocument)}

    assert found == {
        "*": "1 file without a suffix is not read: README",
        "*.png": "3 files of kind .png are not read: a.png …; pictures need OCR: `sag ingest --set ocr=rapidocr`",
        "*.zip": "1 file of kind .zip is not read: d.zip",
    }


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ({"include": ("*.MD",)}, ["drafts/old/c.md", "good.md", "plans/a.md"]),
        ({"include": ("plans/*",)}, ["plans/a.md", "plans/b.txt"]),
        ({"exclude": ("drafts",)}, ["good.md", "plans/a.md", "plans/b.txt"]),
        ({"exclude": ("drafts/*", "b.*")}, ["good.md", "plans/a.md"]),
        ({"include": ("*.md",), "exclude": ("*/a.md",)}, ["drafts/old/c.md", "good.md"]),
        ({"include": ("*.pdf",)}, []),
    ],
)
def test_patterns_choose_files_and_folders(inbox, patterns, expected):
    for name in ("plans/a.md", "plans/b.txt", "drafts/old/c.md"):
        (inbox / name).parent.mkdir(parents=True, exist_ok=True)
        (inbox / name).write_text("x", encoding="utf-8")

    found = [each.path for each in list_source(str(inbox), SourceOptions(**patterns)) if isinstance(each, RawDocument)]

    assert found == expected


def test_languages_of_ocr_are_never_taken_for_options_of_the_program():
    with pytest.raises(SettingsError, match="ocr must be rapidocr or languages"):
        SourceOptions(ocr="--help")
