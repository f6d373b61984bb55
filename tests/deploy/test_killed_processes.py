"""`kill -9` of a run's worker, of the daemon and of the code location: what the page shows, and what is lost."""

from pathlib import Path

import pytest

from sag_retrieval import open_release
from tests.support.deployed import Services, composed, one_machine, until

pytestmark = pytest.mark.slow

DOCUMENTS = 40
"""Enough for a run to be seen between its first tables and its release."""


def more(services: Services) -> None:
    """Add documents to the folder."""
    there = len(list((services.folder / "srv/inbox").iterdir()))
    for number in range(there, there + DOCUMENTS):
        text = f"# Record {number}\n\n" + "".join(
            f"Lumen Optics sold {number + line} buoys to Heron Works in Port Ansel in {1950 + line}. "
            for line in range(12)
        )
        (services.folder / f"srv/inbox/{number}.md").write_text(text, encoding="utf-8")


def begun(services: Services) -> Services:
    services.start(*services.commands)
    until(services.is_up, "the page")
    return services


def in_the_middle(services: Services) -> str:
    """A run over new documents whose first tables are written and whose release is not; it stands still."""
    more(services)
    chunks = Path(services.folder / "srv/home/tables/chunks")
    before = set(chunks.glob("*.parquet"))
    run = services.launch()
    until(lambda: set(chunks.glob("*.parquet")) - before, "the first chunks", pause=0.02)
    services.worker().suspend()
    assert services.status(run) == "STARTED"
    return run


def whole(services: Services) -> bool:
    """Whether the release has every document once."""
    with open_release(services.folder / "srv/home") as release:
        names = sorted(release.table("documents")["document_id"])
    return names == sorted(path.name for path in (services.folder / "srv/inbox").iterdir())


@pytest.fixture
def services(tmp_path):
    (tmp_path / "work").mkdir()
    made: list[Services] = []

    def start(database: str = "") -> Services:
        """The services over PostgreSQL, or with SQLite on one machine."""
        made.append(composed(tmp_path / "work", database) if database else one_machine(tmp_path / "work"))
        return begun(made[0])

    yield start
    made[0].stop()
    for name in made[0].commands:
        print(f"── {name}", made[0].log(name)[-4000:])  # shown with a test that failed


def test_a_killed_worker_fails_its_run_and_the_next_one_goes_on(services):
    services = services()
    run = in_the_middle(services)

    services.worker().kill()

    assert services.ended(run) == "FAILURE"
    assert "terminated by signal 9 (SIGKILL)" in services.messages(run)
    assert services.ended(services.launch()) == "SUCCESS"
    assert whole(services)


def test_a_killed_daemon_stops_no_run_and_runs_of_a_killed_code_location_fail(services, database):
    services = services(database)
    run = in_the_middle(services)

    worker = services.worker()
    services.kill("daemon", with_children=False)
    waiting = services.launch()
    worker.resume()

    assert services.ended(run) == "SUCCESS"
    assert services.status(waiting) == "QUEUED"
    services.start("daemon")
    assert services.ended(waiting) == "SUCCESS", "its successor takes what waits"
    assert whole(services)

    lost = in_the_middle(services)
    services.kill("code", with_children=True)
    services.start("code")

    assert services.ended(lost) == "FAILURE"
    assert "no longer has it" in services.messages(lost)
    assert services.ended(services.launch()) == "SUCCESS"
    assert whole(services)
