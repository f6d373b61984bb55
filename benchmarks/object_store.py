"""A home in a bucket: what moves, what two writers do to each other, what a kill leaves, what a bad server does.

    python benchmarks/object_store.py [DOCUMENTS]     bytes of ingest, search, second open, a release 1 % larger
    python benchmarks/object_store.py --race [N]      two publishers, N releases each, while 8 processes search; the
                                                      lease is taken from them now and then, so that some runs lose
    python benchmarks/object_store.py --crash         kills at the points of a publish; the next run on another machine
    python benchmarks/object_store.py --vectors [N]   bytes that searches among N generated vectors of 384 columns fetch
    python benchmarks/object_store.py --hostile       refusals, delays, cut bodies, a server that ignores conditions

The server is moto's, in a process of its own, behind a proxy of this process that counts and disturbs.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import nights
from benchmarks.bucket_machines import Bench
from benchmarks.bucket_vectors import search_vectors
from sag_pipeline.integrity.bucket_files import fetch_home
from sag_pipeline.store.bucket import bucket_home
from sag_pipeline.store.lease import KEY as LEASE
from sag_pipeline.store.store import Store
from sag_retrieval.release.folders import write_lock
from sag_retrieval.release.releases import prune_releases
from sag_retrieval.remote.buckets import open_files
from tests.support.buckets import environment_of, s3_proxy, s3_server

READERS: Final = 8
QUESTION: Final = "Who sold buoys in Port Ansel?"
_OPEN: Final = "import sag_retrieval as s; r = s.open_release(); print(r.release_id, len(r.search({question!r})))"
_READ: Final = """
import sys, time, sag_retrieval as s
seen, errors = set(), 0
while not __import__('pathlib').Path({stop!r}).exists():
    try:
        with s.open_release(verify='full') as r:
            count = r.sql('SELECT count(*) AS n FROM documents').rows[0]['n']
            assert len(r.table('documents')) == r.tables['documents'] == count
            r.search({question!r})
            seen.add(r.release_id)
        time.sleep(1)
    except s.SagError as error:
        errors += 1
        print(error, file=sys.stderr)
print(len(seen), errors)
"""
_PUBLISH: Final = """
import sys, sag_retrieval as s
from benchmarks import nights
from pathlib import Path
from sag_pipeline.runs import run_ingest
who, count, inbox = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
lost, most = 0, 1
for number in range(count):
    nights.write(inbox, 1000 * (who + 1) + number)
    for attempt in range(1, 11):
        try:
            run_ingest([str(inbox)])
            break
        except s.SagError as error:
            if 'another run' not in str(error) or 'again' not in str(error):
                raise
            lost += 1
    else:
        sys.exit('ten runs lost')
    most = max(most, attempt)
print(f'{lost} of {count + lost} runs lost and said so; every release was there after at most {most} runs')
"""
_STOLEN_AFTER: Final = 15.0
"""Seconds between two times that the lease is deleted, as if its run had been silent for too long."""


def measure(bench: Bench, documents: int) -> None:
    """What moves."""
    for number in range(documents):
        nights.write(bench.inbox, number)
    with bench.counted("ingest") as full:
        print(bench.sag("writer", "ingest", "inbox").splitlines()[-1])
    with bench.counted("search, empty cache") as first:
        found = bench.run("reader", "-c", _OPEN.format(question=QUESTION))
    bench.check("another process finds hits", found.split()[-1:] == ["10"], found)
    with bench.counted("search again") as second:
        bench.run("reader", "-c", _OPEN.format(question=QUESTION))
    share = second["down"] / max(1, first["down"])
    bench.check("the second open reads less than 1 %", share < 0.01, f"{share:.2%}")
    for number in range(documents, documents + max(1, documents // 100)):
        nights.write(bench.inbox, number)
    with bench.counted("ingest of 1 % more") as more:
        print(bench.sag("writer", "ingest", "inbox").splitlines()[-1])
    share = more["moved"] / full["moved"]
    bench.check("a release 1 % larger moves at most 5 % of a full one", share <= 0.05, f"{share:.1%}")
    with bench.counted("search in the new release") as newer:
        bench.run("reader", "-c", _OPEN.format(question=QUESTION))
    print(f"a reader of the new release fetches {newer['down'] / max(1, first['down']):.1%} of a first one")
    with bench.counted("report"):
        bench.check("a report is written", "report.html" in bench.sag("writer", "report"))
    with bench.counted("prune"):
        said = bench.sag("elsewhere", "releases", "prune", "--keep", "1", "--grace-hours", "0")
    bench.check("the old release is pruned", said.startswith("pruned 1"), said)
    found = bench.sag("after", "verify", "--deep")
    bench.check("nothing is wrong on a third machine", "nothing is wrong" in found, found[-200:])


def race(bench: Bench, releases: int) -> None:
    """Two publishers and eight readers."""
    for number in range(20):
        nights.write(bench.inbox, number)
    bench.sag("writer", "ingest", "inbox")
    stop, is_over = bench.folder / "stop", Event()
    reading = [
        bench.start(f"reader {n % 2}", "-c", _READ.format(stop=str(stop), question=QUESTION)) for n in range(READERS)
    ]
    writing = []
    for who in range(2):
        own = bench.folder / f"inbox {who}"
        own.mkdir()
        writing.append(bench.start(f"publisher {who}", "-c", _PUBLISH, str(who), str(releases), str(own)))
    thief = Thread(target=_take_lease, args=(bench, is_over), daemon=True)
    thief.start()
    for who, process in enumerate(writing):
        out, errors = process.communicate()
        bench.check(f"publisher {who} published all", process.returncode == 0, f"{out.strip()} {_last(errors)}")
    is_over.set()
    thief.join()
    stop.touch()
    for n, process in enumerate(reading):
        out, errors = process.communicate()
        seen, wrong = (out.split() or ["0", "?"])[-2:]
        bench.check(f"reader {n} saw no error and no mix", wrong == "0", f"{seen} releases {_last(errors)}")
    told = [json.loads(body) for name, body in bench.proxy.written if name == "CURRENT"]
    chain = all(after["before"] == before["release"] for before, after in pairwise(told))
    bench.check("each swap replaced what it was built on", chain, f"{len(told)} swaps")
    documents = bench.run("last", "-c", "import sag_retrieval as s; print(s.open_release().tables['documents'])")
    bench.check("no document is lost", documents == str(20 + 2 * releases), documents)


def _take_lease(bench: Bench, is_over: Event) -> None:
    while not is_over.wait(_STOLEN_AFTER):
        open_files(bench.url).delete([LEASE])


def _last(errors: str) -> str:
    """The last line that is no warning about waiting."""
    lines = [line for line in errors.splitlines() if line.strip() and "waits for it" not in line]
    return lines[-1][-300:] if lines else ""


POINTS: Final = {
    "in an upload": lambda key: key.startswith("files/"),
    "between parts and commit": lambda key: key == "HEAD",
    "in the upload of a release": lambda key: key.startswith("files/"),
    "before the manifest": lambda key: key.endswith("/manifest.json"),
    "before CURRENT": lambda key: key == "CURRENT",
}
AT: Final = {"in an upload": 2, "between parts and commit": 4, "in the upload of a release": 60}


def crash(bench: Bench, server: str) -> None:
    """Kill a run at each point and compare the next one, on another machine, with an undisturbed home."""
    for number in range(12):
        nights.write(bench.inbox, number)
    bench.sag("undisturbed", "ingest", "inbox")
    wanted = bench.release()
    for point, is_meant in POINTS.items():
        own = Bench(bench.folder, bench.proxy, server)
        process = own.start(f"killed {point}", "-m", "sag_retrieval.cli.main", "ingest", "inbox")
        _kill_at(own, process, is_meant, AT.get(point, 1))
        process.communicate()
        bench.check(f"killed {point}", process.returncode == -signal.SIGKILL, process.returncode)
        litter, _ = _litter(own, f"look {point}")
        own.sag(f"next {point}", "ingest", "inbox")
        bench.check("  the next run gives the release of an undisturbed one", own.release() == wanted, own.release())
        later = datetime.now(UTC) + timedelta(hours=30)
        mirror = own.become(f"next {point}")
        prune_releases(mirror, now=later)
        with Store.locked(mirror) as store:
            assert store.bucket is not None
            store.bucket.collect(store.ledger.parts(), later)
        left, faults = _litter(own, f"look again {point}")
        bench.check("  litter was listed and is gone", not left and not faults, f"{len(litter)} files, {faults[:2]}")


def _kill_at(bench: Bench, process: subprocess.Popen[str], is_meant: Callable[[str], bool], count: int) -> None:
    seen = Counter[str]()

    def before(method: str, path: str) -> bool:
        if method == "PUT" and is_meant(path.partition("/home/")[2]):
            seen["puts"] += 1
            if seen["puts"] == count:
                process.kill()
        return seen["puts"] >= count  # the requests of a dead process go no further

    bench.proxy.before = before
    process.wait()
    bench.proxy.before = lambda _, __: False


def _litter(bench: Bench, machine: str) -> tuple[list[str], list[str]]:
    mirror = bench.become(machine)
    with write_lock(mirror):
        found = fetch_home(mirror)
    assert found is not None
    assert bucket_home(mirror) is not None
    return list(found.unused), list(found.missing)


def hostile(bench: Bench, server: str) -> None:
    """A server that misbehaves."""
    for number in range(20):
        nights.write(bench.inbox, number)
    for header in ("If-Match", "If-None-Match"):
        with s3_proxy(server) as proxy:
            proxy.ignore(header)
            said = Bench(bench.folder, proxy, server).sag(f"without {header}", "ingest", "inbox")
        bench.check(f"a server that ignores {header} is refused", "does not keep the conditions" in said, said[:300])
    with s3_proxy(server) as proxy:
        own = Bench(bench.folder, proxy, server)
        for fault in ("503", "cut", "slow"):
            os.environ["SAG_BUCKET_SECONDS"] = "12"
            proxy.fail_times(3, fault)
            said = own.sag("patient", "ingest", "inbox")
            bench.check(f"an ingest gets over answers of kind {fault}", "is current" in said, said[-200:])
        proxy.fail_times(10**9, "503")
        said = own.run("impatient", "-m", "sag_retrieval.cli.main", "search", QUESTION)
        bench.check("a server that stays down ends in a sentence", "check the network" in said, said[-300:])
        bench.check("nothing of a credential is shown", environment_of("")["AWS_SECRET_ACCESS_KEY"] not in said)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one mode; the number of failed checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=int, nargs="?", default=600)
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--race", type=int, nargs="?", const=20, metavar="N", help="releases of each publisher")
    modes.add_argument("--crash", action="store_true")
    modes.add_argument("--vectors", type=int, nargs="?", const=100_000, metavar="N", help="rows")
    modes.add_argument("--hostile", action="store_true")
    given = parser.parse_args(arguments)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, s3_server() as server, s3_proxy(server) as proxy:
        bench = Bench(Path(folder), proxy, server)
        if given.race:
            race(bench, given.race)
        elif given.crash:
            crash(bench, server)
        elif given.vectors:
            search_vectors(bench, given.vectors)
        elif given.hostile:
            hostile(bench, server)
        else:
            measure(bench, given.documents)
    print(f"{bench.failed} checks failed" if bench.failed else "all checks hold")
    return min(bench.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
