"""A home in a bucket: made, searched, kept up to date and mended from any machine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

from sag_pipeline.integrity.repair import repair_home
from sag_pipeline.integrity.verify import fetch_home, verify_home
from sag_pipeline.jobs import run_report
from sag_pipeline.runs.status import status_of
from sag_pipeline.store.bucket import lease
from sag_pipeline.store.ledger import Entry
from sag_pipeline.store.store import Store
from sag_retrieval import BucketError, ReleaseError, SagError, SourceError, list_releases, open_release
from sag_retrieval.core.settings import load_settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Answered
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.release.remote import manifest_files
from sag_retrieval.release.vectors import open_database
from sag_retrieval.remote.mirror import Files, bytes_below, make_room, mirror_of, open_files
from tests.support.bare_ingest import bare_ingest
from tests.support.buckets import environment_of, new_bucket, s3_proxy

pytestmark = pytest.mark.slow
MORE = {"more.txt": "Kestrel Works bought Bolt Labs in June 2022."}
TEXTS = {
    "acme.txt": "Acme Corporation was founded by Mara Voss in Oslo in 1999. It makes valves.",
    "bolt.txt": "Bolt Labs supplied 300 valves to Acme Corporation in March 2021.",
    "光澜.txt": "光澜公司由陈雨于2015年在上海创建，生产传感器。",
}
Source = Callable[[Mapping[str, str]], str]
Machine = Callable[[str], Path]


@pytest.fixture
def bucket(home: Path, cache: Path, at_s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The url of an empty home, which SAG_HOME names."""
    monkeypatch.setenv("SAG_HOME", at_s3)
    return at_s3


@pytest.fixture(scope="module")
def ingested(s3: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], list[str]]:
    """What a bucket holds after two ingests, and the ids of their releases."""
    folder = tmp_path_factory.mktemp("ingested")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment_of(s3).items():
            patched.setenv(name, value)
        open_files.cache_clear()
        url = f"s3://{new_bucket(s3)}/home"
        patched.setenv("SAG_HOME", url)
        patched.setenv("SAG_CACHE", str(folder / "cache"))
        patched.chdir(folder)
        (folder / "inbox").mkdir()
        made = []
        for files in (TEXTS, MORE):
            for name, text in files.items():
                (folder / "inbox" / name).write_text(text, encoding="utf-8")
            made.append(bare_ingest(["inbox"])["release"])
        return {key: body(open_files(url), key) for key in held(url)}, made


@pytest.fixture
def filled(bucket: str, ingested: tuple[dict[str, bytes], list[str]]) -> tuple[str, str]:
    """The ids of the two releases of a home, which SAG_HOME names; the second one is current."""
    held_before, (first, second) = ingested
    for key, content in held_before.items():
        open_files(bucket).put(key, content)
    return first, second


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Go on as another machine, which has a cache of its own; returns the mirror of the home there."""

    def become(name: str) -> Path:
        monkeypatch.setenv("SAG_CACHE", str(tmp_path / name))
        return Path(load_settings().home)

    return become


def held(url: str, below: str = "") -> dict[str, int]:
    return {each.key: each.size for each in open_files(url).list(below)}


def body(files: Files, key: str) -> bytes:
    found = files.get(key)
    assert found is not None
    return found.read()


def test_a_home_in_a_bucket_is_made_here_and_searched_there(bucket: str, source: Source, machine: Machine):
    made = bare_ingest([source(TEXTS)])
    mirror = machine("elsewhere")
    with open_release() as release:
        found = release.search("Who founded Acme?")
        ids = release.release_id, release.document("光澜.txt").language

    assert found.hits[0].document_id == "acme.txt"
    assert ids == (made["release"], "zh")
    assert [each.release_id for each in list_releases() if each.is_current] == [made["release"]]
    assert not (mirror / "tables").exists()  # a reader fetches releases alone
    tables = open_database(mirror / "releases" / made["release"] / "lance")
    assert all(tables.open_table(name).count_rows() for name in ("chunks", "events", "keys", "communities"))


def test_a_home_in_a_bucket_has_the_release_of_a_folder(
    filled: tuple[str, str], home: Path, source: Source, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SAG_HOME", str(home))

    made = [bare_ingest([source(files)])["release"] for files in (TEXTS, MORE)]

    assert made == [*filled]


def test_another_machine_goes_on_where_the_first_one_stopped(bucket: str, source: Source, machine: Machine):
    bare_ingest([source(TEXTS)])
    machine("second")
    again = bare_ingest(["inbox"])
    more = bare_ingest([source(MORE)])
    machine("first again")
    status = status_of(load_settings())

    assert (again["is_new"], again["steps"]["documents"]["skipped"]) == (False, 3)
    assert (more["is_new"], more["steps"]["chunks"]["new"]) == (True, 1)
    assert (status["release"], status["home"]) == (more["release"], bucket)
    assert {each["table"]: each["documents"] for each in status["tables"]}["documents"] == 4


def test_what_two_releases_share_is_stored_and_fetched_once(bucket: str, filled: tuple[str, str], machine: Machine):
    listed = [manifest_files(body(open_files(bucket), f"releases/{each}/manifest.json")) for each in filled]
    first, second = ({digest: length for length, digest in files.values()} for files in listed)
    folder = machine("second")
    for release in filled:
        open_release(release=release).close()

    assert set(first) & set(second)
    assert set(first) | set(second) <= {path.name for path in (folder / "files").iterdir()}
    assert all((folder / "files" / digest).stat().st_nlink >= 3 for digest in set(first) & set(second))


@pytest.mark.usefixtures("filled")
def test_of_two_machines_that_write_one_waits(machine: Machine, caplog: pytest.LogCaptureFixture):
    first, second = machine("first"), machine("second")
    written: list[str] = []
    end = time.monotonic() + 300

    def write(home: Path, name: str) -> None:
        with Store.locked(home) as store:
            written.append(f"{name} begins")
            while "another run writes to" not in caplog.text and time.monotonic() < end:
                time.sleep(0.05)
            store.ledger.commit([Entry(name, "documents", "failed", kind="aside", reason=name)])
            written.append(f"{name} ends")

    threads = [Thread(target=write, args=each) for each in ((first, "a"), (second, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reasons = {entry.reason for entry in Store(machine("third")).ledger.entries("kind = 'aside'")}

    assert sorted(written) == ["a begins", "a ends", "b begins", "b ends"]
    assert written[0].split()[0] == written[1].split()[0]
    assert reasons == {"a", "b"}
    assert "another run writes to" in caplog.text


@pytest.mark.usefixtures("filled")
def test_a_machine_that_waits_too_long_says_for_whom(machine: Machine):
    first, second = machine("first"), machine("second")
    with Store.locked(first), pytest.raises(SourceError, match=r"another run has been writing to s3://.* for 1 s"):
        with Store.locked(second, patience=1):
            pass


@pytest.mark.usefixtures("filled")
def test_the_lease_of_a_run_that_was_killed_lapses(machine: Machine, caplog: pytest.LogCaptureFixture):
    first, second = machine("first"), machine("second")
    killed = "from pathlib import Path; import os; from sag_pipeline.store.store import Store; import sys\n"
    killed += "with Store.locked(Path(sys.argv[1])): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", killed, str(first)], check=False).returncode == 9

    with Store.locked(first):  # its own lease, and nobody else has the lock of this machine
        pass
    assert "another run writes to" not in caplog.text, "it is taken over at once"
    assert subprocess.run([sys.executable, "-c", killed, str(first)], check=False).returncode == 9
    found = mirror_of(second)
    assert found is not None
    started = time.monotonic()
    with lease(found, lapses=2):
        waited = time.monotonic() - started

    assert "another run writes to" in caplog.text
    assert waited >= 2


@pytest.mark.usefixtures("filled")
def test_a_run_whose_lease_was_taken_over_is_refused_and_goes_on(bucket: str, machine: Machine):
    first, second = machine("first"), machine("second")
    with pytest.raises(BucketError, match=r"another run"), Store.locked(first) as slow:  # noqa: PT012  also when it ends
        open_files(bucket).delete(["LEASE"])
        with Store.locked(second) as fast:
            fast.ledger.commit([Entry("x", "documents", "failed", kind="aside", reason="of the fast one")])
        with pytest.raises(BucketError, match=r"another run wrote to .* meanwhile.*run the command again"):
            slow.ledger.commit([Entry("y", "documents", "failed", kind="aside", reason="of the slow one")])
        slow.ledger.commit([Entry("z", "documents", "failed", kind="aside")])
    with Store.locked(first) as slow:
        slow.ledger.commit([Entry("y", "documents", "failed", kind="aside", reason="of the slow one")])
    reasons = {entry.reason for entry in Store(machine("third")).ledger.entries("kind = 'aside'")}

    assert reasons == {"of the fast one", "of the slow one"}


def test_a_release_becomes_current_only_in_place_of_the_one_it_was_built_on(filled: tuple[str, str], machine: Machine):
    first, second = filled
    slow, fast = Releases(machine("slow")), Releases(machine("fast"))
    assert slow.current() == fast.current() == second
    fast.promote(first)
    with pytest.raises(BucketError, match=f"another run made {first} current"):
        slow.make_current(second)

    assert Releases(machine("third")).current() == first


def test_answers_of_a_model_are_shared_by_machines(bucket: str, machine: Machine):
    first = machine("first")
    answer = Answered("c" * 32, '{"text": "云"}', "d", "events", "m", 3, 4, 0.5, 1, None, 7)
    with Store.locked(first) as store, AnswerCache(first / ANSWERS) as answers:
        answers.keep(answer)
        store.ledger.commit([Entry("x", "documents", "failed", kind="aside")])
    second = machine("second")
    with Store.locked(second):
        pass
    with AnswerCache(second / ANSWERS) as answers:
        assert list(answers) == [answer]
    assert len(held(bucket, "answers/")) == 1


def test_old_releases_and_what_nothing_names_are_pruned(bucket: str, filled: tuple[str, str], machine: Machine):
    first, second = filled
    open_files(bucket).put("files/" + "0" * 32, b"of a run that was killed")
    mirror, later = machine("pruning"), datetime.now(UTC) + timedelta(hours=30)

    assert prune_releases(mirror, keep=1, grace_hours=24) == []
    assert "files/" + "0" * 32 in held(bucket)
    assert prune_releases(mirror, keep=1, grace_hours=24, now=later) == [first]
    assert "files/" + "0" * 32 not in held(bucket)
    machine("after")
    with open_release() as release:
        assert release.release_id == second
        release.sql("SELECT count(*) FROM events")
    assert verify_home(Path(load_settings().home), deep=True).faults == []


def test_reports_form_a_series_across_machines(bucket: str, source: Source, machine: Machine):
    bare_ingest([source(TEXTS)])
    machine("first")
    first = run_report()["report"]
    bare_ingest([source(MORE)])
    mirror = machine("second")
    second = run_report()["report"]
    stored = [json.loads(path.read_text()) for path in (mirror / "reports").glob("*/*/report.json")]

    assert sorted(bool(each["previous"]) for each in stored) == [False, True]
    assert first != second
    assert verify_home(mirror, deep=True).faults == []


def test_a_part_that_is_gone_from_the_bucket_is_named_and_mended(bucket: str, source: Source, machine: Machine):
    made = bare_ingest([source(TEXTS)])["release"]
    (part,) = held(bucket, "tables/chunks/")
    open_files(bucket).delete([part])
    mirror = machine("second")
    with pytest.raises(SagError, match=rf"{part} in .* is missing; `sag repair` mends"):
        bare_ingest([source(MORE)])
    found = verify_home(mirror, deep=False)
    done = repair_home(mirror)
    (Path("inbox") / "more.txt").unlink()
    again = bare_ingest(["inbox"])

    assert part in {fault.file for fault in found.faults}
    assert part in {each.file for each in done.done}
    assert again["release"] == made
    assert verify_home(machine("third"), deep=True).faults == []


@pytest.mark.usefixtures("filled")
def test_what_another_machine_still_has_is_sent_again_by_a_repair(bucket: str):
    mirror = Path(load_settings().home)
    there = fetch_home(mirror)
    assert there is not None
    lost = sorted(set(held(bucket, "files/")) - set(there.unused))[:5]
    assert verify_home(mirror, deep=True).faults == []
    open_files(bucket).delete(lost)

    assert {fault.file for fault in verify_home(mirror, deep=False).faults} == set(lost)
    repair_home(mirror)
    assert set(lost) <= set(held(bucket))
    assert verify_home(mirror, deep=True).faults == []


def test_a_damaged_file_of_a_release_is_refused(bucket: str, filled: tuple[str, str]):
    files = open_files(bucket)
    listed = manifest_files(body(files, f"releases/{filled[1]}/manifest.json"))
    key = f"files/{listed['rows/events.arrow'][1]}"
    files.put(key, body(files, key)[::-1])

    with pytest.raises(BucketError, match=f"{key} in .* is damaged"):
        open_release()


@pytest.mark.usefixtures("filled")
def test_credentials_that_may_only_read_can_search_and_an_ingest_says_what_lacks(
    s3: str, source: Source, monkeypatch: pytest.MonkeyPatch
):
    given = source(MORE)
    with s3_proxy(s3) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        open_files.cache_clear()
        for method in ("PUT", "POST", "DELETE"):
            proxy.refuse(method, 403, "<Error><Code>AccessDenied</Code></Error>")
        with open_release() as release:
            found = release.search("Who founded Acme?")
        with pytest.raises(SagError, match=r"cannot write .*the credentials do not allow it \(AccessDenied\)"):
            bare_ingest([given])

    assert found.hits[0].document_id == "acme.txt"


def test_a_home_without_a_release_says_so(bucket: str):
    with pytest.raises(ReleaseError, match=f"no release below {bucket} yet; make one with `sag ingest`"):
        open_release()


def test_the_cache_stays_within_its_bound_and_keeps_what_is_open(filled: tuple[str, str], machine: Machine):
    first, second = filled
    folder = machine("small")
    mirror = mirror_of(folder)
    assert mirror is not None
    open_release(release=first).close()
    with open_release() as release:
        gone = make_room(mirror, most=1)
        assert [path.name for path in gone] == [first]
        assert release.search("Who founded Acme?").hits[0].document_id == "acme.txt"
    assert [path.name for path in make_room(mirror, most=1)] == [second]
    assert bytes_below(folder) < 10_000
    with open_release() as release:  # fetched again
        assert release.release_id == second


@pytest.mark.usefixtures("filled")
def test_processes_share_the_cache(tmp_path: Path):
    code = "import sag_retrieval as s; r = s.open_release(); print(r.search('Who founded Acme?').hits[0].document_id)"
    environment = {**os.environ, "SAG_CACHE": str(tmp_path / "shared cache")}
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]

    assert [each.communicate(timeout=300)[0].strip() for each in running] == ["acme.txt"] * 2
    assert not list((tmp_path / "shared cache").rglob(".*.*"))  # no drafts stay


def test_a_home_that_is_a_folder_loads_no_object_store(home: Path, source: Source):
    code = (
        "import sys; from sag_pipeline.jobs import run_ingest; run_ingest(['inbox']); import sag_retrieval;"
        "sag_retrieval.open_release().search('valves'); print('obstore' in sys.modules)"
    )
    source(TEXTS)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=home.parent)

    assert done.stdout.strip() == "False"
