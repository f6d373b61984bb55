"""Makes a home to keep as a test fixture, with the code as it stands: the archive that later versions must still read.

    python -m scripts.keep_home tests/data/home-0.1.tar.xz

Run it once, at the commit of a published version, and keep the archive for good. `home-0.1.tar.xz` was made at commit
0ead70d. It holds two homes and the folder they follow: `home` was made by rules alone in many small ingests (documents
added, changed, removed and skipped, until the ledger took a snapshot; two releases and a report), `asked` by a
scripted language model (answers kept in `answers.sqlite`).
"""

import json
import os
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from sag_pipeline.jobs import run_ingest, run_report
from sag_retrieval.api import open_release
from sag_retrieval.release.releases import prune_releases
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

QUESTIONS = ("Who built the Heron buoy?", "海鹭浮标由谁制造？", "Who founded Quill Instruments?")
_ENGLISH = """# The Heron buoy

The Heron buoy is built by Lumen Optics in Port Ansel. Its sensors come from Quill Instruments.
Lumen Optics sold 120 buoys in 2021. The coast guard of Ansel uses them since 4 May 2021.
"""
_QUILL = "# Quill Instruments\n\nQuill Instruments was founded by Mara Voss in 2009. The firm makes salt sensors.\n"
_CHINESE = """# 海鹭浮标

海鹭浮标由光澜公司在安塞港制造。2021年5月4日起，安塞海警使用这种浮标。光澜公司在2021年售出120个浮标。
"""
_GIVEN = {
    "id": "given",
    "title": "Egret",
    "text": "The Egret was lost in 2022. 白鹭号于2022年失踪。",
    "events": [{"content": "The Egret was lost in 2022.", "keys": [{"type": "ship", "value": "Egret"}]}],
}
_NIGHTS = 24


def write_first(inbox: Path) -> None:
    """The documents of the first ingest, one of which cannot be read."""
    (inbox / "zh").mkdir(parents=True)
    (inbox / "heron.md").write_text(_ENGLISH, encoding="utf-8")
    (inbox / "quill.md").write_text(_QUILL, encoding="utf-8")
    (inbox / "zh" / "海鹭.md").write_text(_CHINESE, encoding="utf-8")
    (inbox / "given.jsonl").write_text(json.dumps(_GIVEN, ensure_ascii=False) + "\n{broken\n", encoding="utf-8")


def change(inbox: Path, night: int) -> None:
    """What a night brings: a document, another version of one, and every third night one less."""
    (inbox / f"log-{night}.md").write_text(
        f"# Log {night}\n\nThe Egret left pier {night} at noon with {night + 3} crates.\n", encoding="utf-8"
    )
    (inbox / "quill.md").write_text(_QUILL.replace("2009", str(1990 + night)), encoding="utf-8")
    if night % 3 == 0:
        (inbox / f"log-{night - 2}.md").unlink(missing_ok=True)


def make(folder: Path) -> None:
    """Both homes and their source below a folder, which is the working directory while they are made."""
    os.chdir(folder)
    inbox = Path("inbox")
    write_first(inbox)
    os.environ |= {"SAG_HOME": "asked", "SAG_CHAT_MODEL": "openai:scripted", "OPENAI_API_KEY": "none"}
    with ChatServer(read_well) as server:
        os.environ["OPENAI_BASE_URL"] = server.base_url
        run_ingest(["inbox"])
    os.environ |= {"SAG_HOME": "home", "SAG_CHAT_MODEL": "offline"}
    run_ingest(["inbox"])
    run_report()
    for night in range(1, _NIGHTS):
        change(inbox, night)
        run_ingest(["inbox"])
    run_report()
    prune_releases(Path("home"), keep=2, grace_hours=0)
    Path("expected.json").write_text(json.dumps(_expected(), ensure_ascii=False, indent=1), encoding="utf-8")


def _expected() -> dict[str, object]:
    """What the version that made the homes answers, and with which code it was made."""
    with open_release("home") as release:
        found = {text: [hit.chunk_id for hit in release.search(text).hits] for text in QUESTIONS}
        return {"release": release.release_id, "counts": dict(release.manifest.counts), "hits": found}


def main(archive: Path) -> None:
    """Write the archive."""
    archive = archive.resolve()
    with TemporaryDirectory() as folder:
        make(Path(folder))
        os.chdir(archive.parent)
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            for name in ("home", "asked", "inbox", "expected.json"):
                packed.add(Path(folder) / name, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
