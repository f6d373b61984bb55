"""Distinct keys are those of all documents, though only documents that changed are counted again."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings

from sag_pipeline.extract.keys import make_key
from sag_pipeline.publish.distinct_keys import COUNT_TABLES, KeyCounts, make_links
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_retrieval.core.records import Document, EventKey
from tests.pipeline.publish.histories import Home, Made
from tests.pipeline.publish.test_histories import histories


def counted(store):
    """What each key is, and how many events carry it, from all rows one by one."""
    found = defaultdict(lambda: (set(), set(), set(), []))
    for rows in store.scan("keys"):
        for row in rows.to_pylist():
            types, values, others, events = found[row["key_id"]]
            types.add(row["key_type"])
            values.add(row["value_string"])
            others.add((row["value_number"], row["value_bool"], row["unit"]))
            events.append(row["event_id"].startswith("e"))
    return {
        key: (*types, min(values, key=str), *min(others, key=str), sum(events))
        for key, (types, values, others, events) in sorted(found.items())
    }


def distinct(store):
    names = ("key_type", "value_string", "value_number", "value_bool", "unit", "event_count")
    made = make_links(store)
    store.commit_wholes(made, "state")
    rows = made["distinct_keys"].to_pylist()
    return {row["key_id"]: tuple(row[name] for name in names) for row in rows}


@pytest.mark.slow
@pytest.mark.no_cover
@settings(max_examples=max(4, settings().max_examples // 25))  # 4; `--hypothesis-profile sag-many` tries 80
@given(history=histories)
def test_keys_are_those_of_all_documents_after_any_history(tmp_path_factory, history):
    home = Home(tmp_path_factory.mktemp("home"), is_dense=False)
    home.put({"first.md": Made((((0, 4, 10), (7, 9)), ((1,),)), 1)})
    for change in [{}, *history]:
        home.put({name: made for name, made in change.items() if made is not None})
        home.remove([name for name, made in change.items() if made is None and name in home.kept])

        assert distinct(home.store) == counted(home.store)
        spellings = home.store.whole("spellings")
        assert {row["key_id"] for row in spellings.to_pylist()} == counted(home.store).keys()


def test_only_documents_that_changed_are_read(tmp_path, monkeypatch):
    home = Home(tmp_path / "home", is_dense=False)
    home.put({f"{n}.md": Made((((n % 12, 4),),), n) for n in range(9)})
    home.store.commit_wholes(make_links(home.store), "1")
    read, rows = [], Store.rows
    monkeypatch.setattr(Store, "scan", lambda *_: pytest.fail("all rows are read"))
    monkeypatch.setattr(Store, "rows", lambda self, table, ids: read.append(list(ids)) or rows(self, table, ids))

    home.put({"3.md": Made((((2, 5),),), 77), "z": Made((((1,),),), 5)})
    home.remove(["5.md"])
    home.store.commit_wholes(make_links(home.store), "2")
    make_links(home.store)

    assert read == [["3.md", "z"], []]


def test_each_statement_that_keys_are_one_counts_also_after_a_change(tmp_path):
    store = Store(tmp_path / "home")
    one, other = make_key("organisation", "Lumen Optics"), make_key("organisation", "Glanzwerk")
    assert one
    assert other

    def say(name, edition, times):
        keys = [EventKey(name, f"e{name}{n}", one, same_as=other.key_id) for n in range(times)]
        keys.append(EventKey(name, f"e{name}0", other))
        for table, rows in (("documents", [Document(name, "s", "", "Text.", "en", version=edition)]), ("keys", keys)):
            store.commit(StepSpec(table), {Pending(name, edition): StepResult(rows)})

    say("a", "1", 2)
    store.commit_wholes(make_links(store), "1")
    say("b", "1", 3)
    made = make_links(store)

    counts = KeyCounts(*(made[name] for name in COUNT_TABLES))
    is_said = np.asarray(counts.spellings["same_as"].is_valid())
    assert counts.counted("row_count")[is_said].tolist() == [5]
    assert made["canonical"].num_rows == 1
