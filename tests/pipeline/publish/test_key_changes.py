"""After any history of changes, keys are aligned as all of them at once would be, though few are looked at."""

import numpy as np
import pytest

from sag_pipeline.extract.entity_resolution import align_keys
from sag_pipeline.extract.keys import make_key
from sag_pipeline.publish import distinct_keys
from sag_pipeline.publish.distinct_keys import make_links
from sag_pipeline.publish.links import LINK_TABLES
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_retrieval.core.records import Document, EventKey

SPELLINGS = (
    ("organisation", "Lumen Optics"), ("entity", "lumen  optics"), ("organisation", "LumenOptics"),
    ("organisation", "Lumen Optics Ltd"), ("person", "Lumen-Optics"), ("organisation", "The Lumen Optics"),
    ("title", "Lumen Optics (maker)"), ("title", "Lumen Optics (report)"), ("title", "Ann Lee (chemist)"),
    ("person", "Ann Lee"), ("topic", "colour centre"), ("topic", "color center"), ("organisation", "光澜公司"),
    ("organisation", "光澜 公司"), ("organisation", "光澜"), ("entity", "光澜"), ("place", "安塞市"), ("place", "安塞"),
    ("date", "2021-05"), ("date", "2021 05"), ("entity", "302 AI"), ("entity", "302ai"), ("person", "Egret"),
)  # fmt: skip


def put(store, name, edition, random):
    """Commit an edition of a document whose events carry random spellings, some said to be others."""
    keys = []
    for event in range(int(random.integers(1, 6))):
        for one in random.integers(0, len(SPELLINGS), 3):
            other = make_key(*SPELLINGS[random.integers(0, len(SPELLINGS))]) if random.random() < 0.15 else None
            key = make_key(*SPELLINGS[one])
            keys.append(EventKey(name, f"e{name}{event}", key, same_as=other.key_id if other else None))
    for table, rows in (("documents", [Document(name, "s", "", "Text.", "en", version=edition)]), ("keys", keys)):
        store.commit(StepSpec(table), {Pending(name, edition): StepResult(rows)})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_keys_are_aligned_after_changes_as_all_at_once(tmp_path, seed, monkeypatch):
    random, store = np.random.default_rng(seed), Store(tmp_path)
    for step in range(7):
        for name in random.choice(9, 2, replace=False).tolist():
            put(store, f"d{name}", f"{step}", random)
        if step % 3 == 2:
            store.remove([str(unit) for (unit,) in store.ledger.select("SELECT unit FROM by_document LIMIT 1")])
        made = make_links(store)
        with monkeypatch.context() as patch:
            patch.setattr(distinct_keys, "_stored", lambda _: None)
            whole = make_links(store)

        assert made["canonical"].num_rows or step < 3
        for name in LINK_TABLES:
            assert made[name].equals(whole[name]), name
        store.commit_wholes(made, f"{step}")


def test_only_keys_that_a_change_can_touch_are_compared(tmp_path, monkeypatch):
    store, compared = Store(tmp_path), []
    monkeypatch.setattr(
        distinct_keys, "align_keys", lambda keys, **given: compared.append(len(keys)) or align_keys(keys, **given)
    )

    def say(name, *values):
        keys = [EventKey(name, f"e{name}{n}", make_key("topic", value)) for n, value in enumerate(values)]
        for table, rows in (("documents", [Document(name, "s", "", "Text.", "en", version=name)]), ("keys", keys)):
            store.commit(StepSpec(table), {Pending(name, name): StepResult(rows)})
        made = make_links(store)
        store.commit_wholes(made, name)
        return made["canonical"].num_rows

    say("a", *(f"topic number {n} x" for n in range(60)))
    assert say("b", "topicnumber 7 x", "nothing like it") == 1
    assert compared == [60, 3]


def test_keys_are_all_aligned_again_by_rules_of_another_version(tmp_path, monkeypatch):
    store = Store(tmp_path)
    put(store, "d", "1", np.random.default_rng(0))
    store.commit_wholes(make_links(store), "1")
    assert distinct_keys._stored(store) is not None
    monkeypatch.setattr(distinct_keys, "ALIGNMENT_VERSION", "next")

    assert distinct_keys._stored(store) is None
