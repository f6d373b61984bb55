"""Whatever is damaged below a home is found by `sag verify --deep`, and mended so that the next ingest publishes the same."""

import json
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.damage import Damage, draw, inflict
from sag_pipeline.integrity.repair import price_of, repair_home
from sag_pipeline.integrity.verify import salvage_answers, verify_home, wrong_answers
from sag_pipeline.jobs import run_report
from sag_pipeline.store.ledger import HEAD, Entry, Ledger, breaks
from sag_pipeline.store.parts import is_sealed
from sag_pipeline.store.source_list import SourceList
from sag_pipeline.store.store import Store
from sag_retrieval.api import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import ReleaseError, SagError, StoreError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Answered, CacheError
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

FILES = {
    "heron.md": "# The Heron buoy\n\nThe Heron buoy is built by Lumen Optics in Port Ansel. It was sold in 2021.\n",
    "quill.md": "# Quill Instruments\n\nQuill Instruments was founded by Mara Voss. The firm makes sensors.\n",
    "海鹭.md": "# 海鹭浮标\n\n海鹭浮标由光澜公司在安塞港制造。安塞海警使用这种浮标。\n",
}
DAMAGES = 8
"""`benchmarks/damage.py`, which holds a floor, inflicts hundreds."""


@dataclass(frozen=True)
class Made:
    """A home that a scripted model read, the folder it follows, its release, and the server."""

    root: Path
    release: str
    server: ChatServer


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("made")
    (root / "inbox").mkdir()
    for name, text in FILES.items():
        (root / "inbox" / name).write_text(text, encoding="utf-8")
    with ChatServer(read_well) as server, pytest.MonkeyPatch.context() as patch:
        _use(patch, root, root / "home", server)
        release = bare_ingest(["inbox"])["release"]
        patch.setenv("SAG_CHAT_MODEL", "offline")
        run_report()
        yield Made(root, release, server)


def _use(patch: pytest.MonkeyPatch, root: Path, home: Path, server: ChatServer) -> None:
    patch.chdir(root)
    patch.setenv("SAG_HOME", str(home))
    patch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    patch.setenv("OPENAI_API_KEY", "none")
    patch.setenv("OPENAI_BASE_URL", server.base_url)
    for name in ("SAG_SOURCE", "SAG_EMBEDDING_MODEL", "SAG_LANGUAGE"):
        patch.delenv(name, raising=False)


@pytest.fixture
def home(made, tmp_path, monkeypatch):
    """A copy of the home to damage."""
    copy = tmp_path / "home"
    shutil.copytree(made.root / "home", copy)
    _use(monkeypatch, made.root, copy, made.server)
    return copy


def one(home: Path, pattern: str) -> Path:
    return min(home.glob(pattern))


def flip(path: Path, place: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 16
    path.write_bytes(data)


def test_an_undamaged_home_raises_no_alarm(home):
    assert verify_home(home, deep=False).faults == []
    found = verify_home(home, deep=True)

    assert found.faults == []
    assert {each.name: each.count > 0 for each in found.checked} == dict.fromkeys(
        ("sources", "ledger", "tables", "vectors", "embedder", "answers", "releases", "reports"), True
    )
    assert repair_home(home).done == []


def test_every_damage_is_found_and_mended_or_has_changed_nothing(made, home):
    original = made.root / "home"
    names = [path.relative_to(original).as_posix() for path in sorted(original.rglob("*")) if path.is_file()]
    kinds = ("ledger/", "tables/", "vectors/", "embedder/", ANSWERS, "CURRENT")
    files = [name for name in names if name.startswith(kinds)]
    missed, left = [], []

    for damage in draw(files, DAMAGES, seed=26):
        shutil.rmtree(home)
        shutil.copytree(original, home)
        changed = inflict(home, damage)
        if not verify_home(home, deep=True).faults:
            if changed and not _same_answers(original, home, damage):
                missed.append(str(damage))
            continue
        repair_home(home)
        left += [(str(damage), fault) for fault in verify_home(home, deep=True).faults]

    assert missed == []
    assert left == []


def _same_answers(original: Path, home: Path, damage: Damage) -> bool:
    """A bit of a page's unused bytes is nothing that was kept."""
    if damage.file != ANSWERS:
        return False
    with AnswerCache(home / ANSWERS) as one_file, AnswerCache(original / ANSWERS) as other:
        return list(one_file) == list(other)


@pytest.mark.parametrize(
    "pattern",
    [
        "ledger/0000000003*",
        "tables/documents/*",
        "tables/canonical/*",
        "vectors/*/*/data/*",
        "embedder/hashing.npy",
        "releases/*/rows/events.arrow",
    ],
)
def test_after_repair_an_ingest_gives_the_same_release_and_pays_nothing(made, home, pattern):
    flip(one(home, pattern))
    asked = len(made.server.calls)
    assert verify_home(home, deep=True).faults

    repair_home(home)
    assert repair_home(home).done == []
    release = bare_ingest(["inbox"])["release"]

    assert release == made.release
    assert len(made.server.calls) == asked
    assert verify_home(home, deep=True).faults == []


@pytest.mark.parametrize("kind", ["lost", "lost newest", "doubled", "truncated"])
def test_a_fault_of_the_ledger_stops_an_ingest_with_its_name(home, kind):
    files = sorted((home / "ledger").glob("*.parquet"))
    if kind.startswith("lost"):
        files[-1 if kind == "lost newest" else 4].unlink()
    elif kind == "doubled":
        shutil.copy(files[4], files[4].with_name(files[4].name[:10] + files[5].name[10:]))
    else:
        files[4].write_bytes(files[4].read_bytes()[:100])

    with pytest.raises(StoreError, match="sag repair"):
        Store(home)
    with pytest.raises(SagError, match=r"the ledger is damaged.*sag repair"):
        bare_ingest(["inbox"])


def test_a_killed_commit_is_no_damage(tmp_path):
    ledger = Ledger(tmp_path)
    for number in range(3):
        before = (tmp_path / HEAD).read_text() if number else ""
        ledger.commit([Entry(f"d{number}", "documents", "done")])
    (tmp_path / HEAD).write_text(before)  # killed after the file, before HEAD

    assert breaks(tmp_path) == []
    Ledger(tmp_path).commit([Entry("d3", "documents", "done")])
    assert len(Ledger(tmp_path).entries()) == 4


def test_a_document_whose_removal_was_lost_does_not_come_back(made, home):
    other = made.root / "inbox" / "gone.md"
    other.write_text("# Gone\n\nThe Egret was lost in Port Ansel.\n", encoding="utf-8")
    bare_ingest(["inbox"])
    before = {path.name for path in (home / "ledger").glob("*.parquet")}
    other.unlink()
    bare_ingest(["inbox"])
    removal = min(path for path in (home / "ledger").glob("*.parquet") if path.name not in before)
    removal.unlink()

    repair_home(home)

    assert "gone.md" not in {entry.unit for entry in Store(home).ledger.entries("step = 'documents'")}


def test_answers_around_a_damage_are_saved_and_the_others_told(tmp_path):
    path = tmp_path / ANSWERS
    rows = [
        Answered(f"{n * 7919 % 4096:03x}{n:04x}", json.dumps(["x" * 300]), "d", "s", "m", 1, 1, 0) for n in range(900)
    ]
    with AnswerCache(path) as cache:
        cache.keep(*rows)
    data = bytearray(path.read_bytes())
    data[20 * 4096 : 21 * 4096] = bytes(4096)
    path.write_bytes(data)

    assert wrong_answers(path, deep=True)[1]
    count = salvage_answers(path, tmp_path / "saved")

    with AnswerCache(tmp_path / "saved") as saved:
        assert len(list(saved)) == count
        assert set(saved) <= set(rows)
    assert 850 < count < 900


def test_a_lost_first_page_of_the_answers_loses_no_answer(made, home):
    path = home / ANSWERS
    with AnswerCache(path) as cache:
        before = list(cache)
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])

    with pytest.raises(CacheError, match="sag repair"):
        AnswerCache(path)
    repair_home(home)

    with AnswerCache(path) as cache:
        assert list(cache) == before


def test_an_answer_that_was_changed_on_disk_is_not_used(tmp_path):
    with AnswerCache(tmp_path / ANSWERS) as cache:
        cache.keep(Answered("id", '{"facts": ["one"]}', "d", "events", "m", 1, 1, 0))
    with sqlite3.connect(tmp_path / ANSWERS) as connection:
        connection.execute("update answers set answer = replace(answer, 'one', 'two')")
    connection.close()

    with AnswerCache(tmp_path / ANSWERS) as cache, pytest.raises(CacheError, match="sag repair"):
        cache.find("id")
    assert wrong_answers(tmp_path / ANSWERS, deep=True)[1]


def test_what_would_be_paid_again_is_told_and_not_spent(made, home):
    (home / ANSWERS).unlink()
    one(home, "tables/events/*").unlink()
    asked = len(made.server.calls)

    price = price_of(home, load_settings())

    assert price.lost_answers > 0
    assert 0 < price.calls < price.lost_answers
    assert 0 < price.documents <= len(FILES)
    repair_home(home)
    assert len(made.server.calls) == asked


def test_a_repair_that_was_cut_off_is_finished_by_the_next(made, home, monkeypatch):
    for pattern in ("ledger/0000000002*", "tables/chunks/*", "vectors/*/*/data/*"):
        flip(one(home, pattern))

    class Cut(BaseException):
        """Stands for a kill."""

    calls = 0
    commit = Ledger.commit

    def killed(ledger: Ledger, entries) -> None:
        nonlocal calls
        calls += 1
        commit(ledger, entries)
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", killed)
        with pytest.raises(Cut):
            repair_home(home)
    repair_home(home)

    assert calls == 1
    assert verify_home(home, deep=True).faults == []
    assert bare_ingest(["inbox"])["release"] == made.release


def test_files_of_version_0_1_carry_no_hash_and_are_no_fault(home):
    for path in home.glob("tables/*/*.parquet"):
        assert is_sealed(path)

    assert not is_sealed(Path("44cb60d1f91c5fe70b0e58dd.parquet"))


def test_the_commands_say_what_is_wrong_and_what_to_run(home):
    flip(one(home, "tables/chunks/*"))
    runner = CliRunner()

    found = runner.invoke(main, ["verify", "--deep", "--json"])
    refused = runner.invoke(main, ["repair"], input="n\n")
    mended = runner.invoke(main, ["repair", "--yes"])
    after = runner.invoke(main, ["verify", "--deep"])
    again = runner.invoke(main, ["repair", "--yes"])

    (fault,) = json.loads(found.stdout)["faults"]
    assert found.exit_code == 1
    assert fault["file"].startswith("tables/chunks/")
    assert refused.exit_code == 1
    assert "Now run: sag ingest inbox" in mended.stdout
    assert after.exit_code == 0
    assert again.stdout == "nothing is wrong\n"


def test_a_release_in_the_folder_of_another_is_found_wherever_it_is_read(home, made):
    (Path.cwd() / "inbox" / "more.md").write_text("# Teal\n\nTeal Marine sold 12 buoys in 2022.\n", encoding="utf-8")
    other = bare_ingest(["inbox"])["release"]
    first, second = (home / "releases" / each for each in (made.release, other))
    first.rename(home / "aside"), second.rename(first), (home / "aside").rename(second)

    with pytest.raises(ReleaseError, match=f"holds release {other}: a folder was renamed or exchanged"):
        open_release(home, release=made.release)
    with pytest.raises(ReleaseError, match="renamed or exchanged"):
        open_release(home, verify="full")
    faults = verify_home(home, deep=False).faults
    assert [fault.file.split("/")[1] for fault in faults] == sorted([made.release, other])
    repair_home(home)
    assert verify_home(home, deep=True).faults == []
    assert bare_ingest(["inbox"])["release"] == other
    (Path.cwd() / "inbox" / "more.md").unlink()


def test_a_changed_byte_in_the_list_of_sources_is_found(home):
    text = (home / "sources.json").read_text(encoding="utf-8")
    (home / "sources.json").write_text(text.replace('"inbox"', '"inbax"'), encoding="utf-8")

    with pytest.raises(SagError, match=r"sources\.json is damaged .*another hash"):
        bare_ingest(["inbox"])

    assert [fault.file for fault in verify_home(home, deep=False).faults] == ["sources.json"]
    repair_home(home)
    assert verify_home(home, deep=True).faults == []


def test_a_list_of_sources_of_an_earlier_version_is_read(home):
    rows = json.loads((home / "sources.json").read_text(encoding="utf-8"))["sources"]
    (home / "sources.json").write_text(json.dumps(rows), encoding="utf-8")

    assert [source.name for source in SourceList(Store(home))] == ["inbox"]


def test_the_last_commit_lost_together_with_head_is_found(home):
    last = max(home.glob("ledger/*.parquet"))
    last.unlink()
    (home / "ledger" / HEAD).unlink()

    assert [fault.file for fault in verify_home(home, deep=False).faults if "ledger.last" in fault.file] == [
        "ledger.last"
    ]
    with pytest.raises(StoreError, match="ledger is damaged"):
        Ledger(home / "ledger")
    repair_home(home)
    assert verify_home(home, deep=True).faults == []
