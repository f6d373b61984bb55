"""A report of a release: everything from documents to the page, nothing replaced."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

pytest.importorskip("dagster", reason="needs the extra pipeline")

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.events import event_table
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from tests.support.opened_release import opened_release

pytestmark = pytest.mark.slow

FILES = {
    "bridge.md": "# The bridge\n\nThe Anselm Bridge was closed on 3 May 2021. Mara Voss inspected the Anselm Bridge. "
    "The Anselm Bridge cost 4 million dollars in 2019.\n",
    "flood.md": "# The flood\n\nThe River Ouse flooded Port Ansel on 7 June 2021. Mara Voss closed the harbour of "
    "Port Ansel. Port Ansel was dry again on 20 June 2021.\n",
    "大桥.md": "# 安塞大桥\n\n安塞大桥于2021年5月3日停止通行。沃斯检查了安塞大桥的钢缆。安塞大桥在2022年重新开放。\n",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    yield from opened_release(tmp_path_factory, FILES)


def test_the_table_holds_the_events_of_the_release_with_spans_in_their_chunks(release):
    events = event_table(release.index)

    assert len(events) == release.manifest.counts["events"] > 0
    for row in range(len(events)):
        start, end = events.spans[row].tolist()
        assert 0 <= start < end
        document = events.documents.document_ids[int(events.document[row])]
        assert events.chunks.texts[int(events.chunk[row])][start:end] in FILES[document]
    assert events.vectors.shape[0] == len(events)
    assert set(events.documents.languages) == {"zh", "en"}


def test_a_restriction_leaves_its_events_with_their_own_chunks_documents_and_keys(release):
    everything = event_table(release.index)
    allowed = np.array([each == 0 for each in everything.document.tolist()])

    events = event_table(release.index, allowed)

    assert len(events) == int(allowed.sum())
    assert len(events.documents.document_ids) == 1
    assert set(events.links.key.tolist()) == set(range(len(events.keys.values)))
    assert set(events.keys.values) <= set(everything.keys.values)


def test_nothing_allowed_is_an_empty_table(release):
    events = event_table(release.index, np.zeros(release.index.arrays.event_count, dtype=bool))

    assert len(events) == 0
    assert build_communities(events).communities == ()


def test_a_report_of_a_release_cites_each_event_in_its_passage(release, tmp_path: Path):
    events = event_table(release.index)

    report = write_report(events, build_communities(events), ReportOptions(release=release.release_id), tmp_path)

    rows = pq.read_table(report.tables["report_events"]).to_pylist()
    assert {row["event_id"] for row in rows} == set(events.event_ids)
    assert not any(row["is_approximate"] for row in rows)
    assert release.release_id in report.page.read_text(encoding="utf-8")
