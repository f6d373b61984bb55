"""Communities come with every release: made by an ingest, kept while nothing changes, completed after a crash."""

import json
import os
import shutil
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest
from click.testing import CliRunner

from sag_pipeline.definitions import defs
from sag_pipeline.integrity.repair import repair_home
from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.jobs import run_report
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.storage import read_tables
from sag_retrieval.models.open import open_embedder
from sag_retrieval.models.protocols import Reply
from sag_retrieval.release.reader import Reader, open_reader
from sag_retrieval.release.vectors import open_database
from sag_retrieval.reports.report import make_report
from sag_retrieval.topics.naming import Described
from sag_retrieval.topics.stored import MADE_FOR, NAMED_BY, VECTORS, kept_communities, release_communities
from tests.support.bare_ingest import bare_ingest, kept_ingest
from tests.support.chat_server import ChatServer

pytestmark = pytest.mark.slow

TEXTS = {
    "heron.md": "# The Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019. "
    "Lumen Optics opened a yard in Port Ansel.\n",
    "egret.md": "# The Egret\n\nVega Marine repaired the Egret in 2022. Tom Hale runs Vega Marine. "
    "Vega Marine rents a dock in Grey Haven.\n",
    "heron-zh.md": "# 海鹭\n\n2021年，光澜公司售出了120个浮标。陈雨自2019年起领导光澜公司。光澜公司在安塞港开设了船坞。\n",
}
MORE = {"crane.md": "# The Crane\n\nIona Works built the Crane in 2023. Mia Roth founded Iona Works in Tarn Bay.\n"}

DESCRIBED = {"title": "Things told", "summary": [{"text": "They are told.", "events": [1]}]}


class Namer:
    """Names every community by its number in the order of asking."""

    model_id = "namer"

    def __init__(self) -> None:
        self.asked = 0

    def ask_all(self, requests: Any) -> Any:
        for request in requests:
            self.asked += 1
            told = {"title": f"Named {self.asked}", "summary": [{"text": f"Told {self.asked}.", "events": [1]}]}
            assert request.answer is Described
            yield Reply(Described.model_validate(told))


def stored(home: Path) -> Path:
    """The folder of the current release's communities."""
    return home / "releases" / (home / "CURRENT").read_text().strip() / "communities"


def digest(folder: Path) -> dict[str, str]:
    return {path.name: blake2b(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def current(home: Path) -> Reader:
    return open_reader(home, None, open_embedder)


def tiers_of(query: str) -> dict[str, Any]:
    with open_release() as release:
        found = release.search(query, method="tiers", explain=True)
    return {step["step"]: step for step in found.trace["tiers"]}


def test_after_an_ingest_tiers_find_categories(home, source):
    report = kept_ingest([source(TEXTS)])

    assert report["steps"]["communities"]["rows"] > 1
    assert tiers_of("Who leads Lumen Optics?")["recall_category"]["hits"]
    assert tiers_of("谁领导光澜公司？")["recall_category"]["hits"]


def test_an_ingest_without_communities_leaves_none_and_the_search_begins_with_events(home, source):
    done = CliRunner().invoke(main, ["ingest", source(TEXTS), "--set", "communities=false"])

    assert done.exit_code == 0, done.output
    assert not stored(home).exists()
    steps = tiers_of("Who leads Lumen Optics?")
    assert steps["recall_category"]["hits"] == ()
    assert steps["recall_item"]["hits"]


def test_communities_stay_while_nothing_changes_and_are_made_for_a_changed_release(home, source):
    first = kept_ingest([source(TEXTS)])
    made = stored(home)
    before = (digest(made), (made / "made").stat().st_mtime_ns)
    again = bare_ingest([source(TEXTS)])
    unchanged = (digest(made), (made / "made").stat().st_mtime_ns)
    changed = bare_ingest([source(MORE)])

    assert again["release"] == first["release"] != changed["release"]
    assert unchanged == before
    assert stored(home) != made
    assert stored(home).is_dir()


def test_a_damaged_file_of_their_lance_table_is_told_and_the_table_made_again(home, source):
    kept_ingest([source(TEXTS)])
    table = stored(home).parent / "lance/communities.lance"
    assert verify_home(home, deep=True).faults == []
    data = next(table.glob("data/*.lance"))
    data.write_bytes(data.read_bytes()[:-1] + b"?")

    (fault,) = verify_home(home, deep=True).faults
    done = repair_home(home).done
    kept_ingest([source(TEXTS)])

    assert fault.file.endswith("lance/communities.lance")
    assert data.name in fault.what
    assert [each.file for each in done] == [fault.file]
    assert open_database(table.parent).open_table("communities").count_rows() > 1
    assert verify_home(home, deep=True).faults == []


def many(count: int) -> dict[str, str]:
    """Documents of a few statements each."""
    return {
        f"{n}.md": f"# Record {n}\n\nLumen Optics sold {n} buoys to Vega Marine in {1950 + n % 70}. Ada Byrne led Yard {n % 9}. "
        f"Vega Marine repaired Ship {n} in Port Ansel. Tom Hale runs Yard {n % 7}.\n"
        for n in range(count)
    }


def grouped_for(home: Path) -> str:
    """Content of the release all of whose events were grouped last."""
    return str(json.loads((stored(home) / MADE_FOR).read_text(encoding="utf-8"))["grouped"])


def content(home: Path) -> str:
    with open_release(home) as release:
        return release.manifest.content_hash


def test_an_ingest_carries_communities_over_until_a_fifth_of_the_events_has_changed(home, source):
    kept_ingest([source(many(30))])
    first = content(home)
    bare_ingest([source(many(31) | {"3.md": "# Record 3\n\nNobody sold a kestrel to Vega Marine in 1999.\n"})])

    assert grouped_for(home) == first != content(home)
    with closing(current(home)) as reader:
        events = reader.index.rows["events"]["event_id"].to_pylist()
        found = release_communities(reader, ClusterOptions(), is_carried=True)
        assert kept_communities(reader, ClusterOptions()) is None, "a report groups all events"
    tables = read_tables(stored(home))
    sentences = [each for row in tables["communities"]["sentences"].to_pylist() for each in row]
    for level in range(found.levels):
        assert sorted(row for each in found.at(level) for row in each.members) == list(range(len(events)))
        assert len({each.title for each in found.at(level)}) == len(found.at(level))
    assert set(tables["community_events"]["event_id"].to_pylist()) == set(events)
    assert {name for each in sentences for name in each["event_ids"]} <= set(events)
    assert {each.parent_id for each in found if each.parent_id} <= {each.community_id for each in found}
    assert all(each.title and each.centrality.max() == 1 for each in found)
    assert "buoys to Vega Marine in 1953" not in str(sentences), "what is gone is quoted"
    assert tiers_of("Who repaired Ship 30?")["recall_category"]["hits"]

    bare_ingest([source(many(40))])
    assert grouped_for(home) == content(home), "too much has changed"


def test_the_same_change_carries_communities_to_the_same_content(home, source):
    kept_ingest([source(many(30))])
    bare_ingest([source(many(31))])
    first = digest(stored(home))
    shutil.rmtree(stored(home))
    bare_ingest([source(many(31))])

    assert grouped_for(home) != content(home)
    assert digest(stored(home)) == first


def test_names_by_a_model_stay_while_events_come_and_go_with_events_that_are_gone(home, source):
    kept_ingest([source(many(30))])
    with closing(current(home)) as reader:
        shutil.rmtree(stored(home))
        release_communities(reader, ClusterOptions(), Namer())
    bare_ingest([source(many(31) | {"3.md": "# Record 3\n\nNobody sold a kestrel to Vega Marine in 1999.\n"})])
    rows = read_tables(stored(home))["communities"].to_pylist()
    listed = json.loads((stored(home) / NAMED_BY).read_text())
    by_model = {row["community_id"] for row in rows if row["title"].startswith("Named ")}

    assert set(listed) == by_model
    assert 0 < len(by_model) < len(rows)


def test_the_job_report_groups_what_an_ingest_carried_over(home, source):
    kept_ingest([source(many(30))])
    bare_ingest([source(many(31))])
    assert grouped_for(home) != content(home)

    run_report()

    assert grouped_for(home) == content(home)


@pytest.mark.parametrize("left", ["nothing", "a draft", "a damaged file"])
def test_what_a_crash_leaves_after_the_release_works_and_the_next_ingest_completes_it(home, source, left):
    kept_ingest([source(TEXTS)])
    folder = stored(home)
    whole = digest(folder)
    if left == "a draft":
        folder.rename(folder.with_name(".draft-killed"))
    elif left == "nothing":
        shutil.rmtree(folder)
    else:
        (folder / "community_events.parquet").write_bytes(b"PAR1")
    if left != "a damaged file":
        assert tiers_of("Who leads Lumen Optics?")["recall_item"]["hits"]

    bare_ingest([source(TEXTS)])

    assert digest(folder) == whole
    assert [path for path in folder.parent.iterdir() if path.name.startswith(".")] == []


def test_sag_verify_names_damaged_communities_and_repair_with_an_ingest_mends_them(home, source):
    kept_ingest([source(TEXTS)])
    whole = digest(stored(home))
    (stored(home) / VECTORS).write_bytes(b"no vectors")

    found = CliRunner().invoke(main, ["verify", "--json"])
    CliRunner().invoke(main, ["repair", "--yes"])
    removed = not stored(home).exists()
    bare_ingest([source(TEXTS)])

    assert found.exit_code == 1
    assert [fault["mend"] for fault in json.loads(found.stdout)["faults"]] == [
        "removed by `sag repair`; made again by `sag ingest`"
    ]
    assert removed
    assert digest(stored(home)) == whole


def test_the_job_report_keeps_the_communities_of_the_ingest(home, source):
    kept_ingest([source(TEXTS)])
    before = digest(stored(home))

    made = run_report()

    assert digest(stored(home)) == before
    assert made["report"]["page"]


def test_a_report_is_the_same_whether_the_release_has_its_communities_or_not(home, source, tmp_path):
    kept_ingest([source(TEXTS)])
    with closing(current(home)) as reader:
        kept = make_report(reader, tmp_path / "one", out=tmp_path / "with")
        shutil.rmtree(stored(home))
        own = make_report(reader, tmp_path / "two", out=tmp_path / "without")

    assert kept.counts["communities"] > 1
    assert kept.page.read_bytes() == own.page.read_bytes()
    assert kept.markdown.read_bytes() == own.markdown.read_bytes()


def test_names_that_a_model_gave_stay_with_an_ingest_and_only_new_communities_are_asked_for(home, source):
    options, namer = ClusterOptions(), Namer()
    kept_ingest([source(TEXTS)])
    with closing(current(home)) as reader:
        first = release_communities(reader, options, namer)
        asked = namer.asked
        again = release_communities(reader, options, namer)
        earlier = reader.folder
    bare_ingest([source(MORE)])
    listed = json.loads((stored(home) / NAMED_BY).read_text())
    with closing(current(home)) as reader:
        second = release_communities(reader, options, namer, earlier)

    titles = {each.community_id: each.title for each in first}
    same = {each.community_id for each in second} & set(titles)
    assert asked > 1
    assert [each.title for each in again] == [each.title for each in first]
    assert same
    assert set(listed) == same
    assert {each.community_id: each.title for each in second if each.community_id in same} == {
        name: titles[name] for name in same
    }
    assert 0 < namer.asked - asked < asked + 1


def test_an_ingest_asks_no_model_for_titles_and_the_job_report_does_where_it_is_told_to(home, source, monkeypatch):
    kept_ingest([source(TEXTS)])
    shutil.rmtree(stored(home))
    with ChatServer(lambda _: DESCRIBED) as server:
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with dg.DagsterInstance.ephemeral() as instance:
            asked = [count_titles(instance, server, job) for job in ("ingest", "report")]
            told = count_titles(instance, server, "report", by_rules=False)

    assert asked == [0, 0]
    assert told > 0


def count_titles(instance: dg.DagsterInstance, server: ChatServer, job: str, *, by_rules: bool | None = None) -> int:
    """Requests for titles while a job makes the communities alone."""
    before = len(server.calls)
    config = {} if by_rules is None else {"ops": {"communities": {"config": {"by_rules": by_rules}}}}
    done = defs.resolve_job_def(job).execute_in_process(
        config, instance=instance, asset_selection=[dg.AssetKey("communities")]
    )
    assert done.success
    assert stored(Path(os.environ["SAG_HOME"])).is_dir()
    return len(server.calls) - before


class Counting:
    """An embedder that notes its texts."""

    def __init__(self, embedder: Any) -> None:
        self.embedder, self.texts = embedder, list[str]()
        self.fingerprint, self.dimension = embedder.fingerprint, embedder.dimension

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return self.embedder.embed(texts)


def test_texts_of_categories_are_embedded_once_and_read_with_the_release(home, source):
    kept_ingest([source(TEXTS)])
    earlier = stored(home).parent
    bare_ingest([source(MORE)])
    shutil.rmtree(stored(home))
    counting: list[Counting] = []

    def opened(model: str, folder: Path) -> Any:
        counting.append(Counting(open_embedder(model, folder)))
        return counting[-1]

    with closing(open_reader(home, None, opened)) as reader:
        release_communities(reader, ClusterOptions(), earlier=earlier)
        embedded = len(counting[0].texts)
        release_communities(reader, ClusterOptions(), Namer(), earlier=earlier)
    with np.load(stored(home) / VECTORS) as vectors:
        rows = len(vectors["indptr"]) - 1

    assert rows > embedded > 0
