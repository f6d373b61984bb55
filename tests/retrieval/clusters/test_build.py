"""Communities: planted topics are found, the same twice, with stable ids."""

import random

import igraph
import numpy as np
import pytest

from sag_retrieval.clusters.clustering import build_communities, measure, partition
from sag_retrieval.clusters.events import EventLinks
from sag_retrieval.clusters.groups import Communities
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import weigh_edges
from sag_retrieval.clusters.storage import communities_tables, read_communities
from sag_retrieval.core.errors import SettingsError
from tests.support.planted import planted, table


def groups_of(communities: Communities, size: int, level: int = 0) -> np.ndarray:
    group = np.full(size, -1)
    for number, each in enumerate(communities.at(level)):
        group[each.members] = number
    return group


@pytest.mark.parametrize("size", [1_000, 10_000])
@pytest.mark.parametrize("method", ["leiden", "leiden-modularity"])
def test_planted_topics_are_found_at_every_size(size, method):
    from sklearn.metrics import adjusted_rand_score  # takes a second, of each worker

    events, topic = planted(size, seed=7)

    communities = build_communities(events, ClusterOptions(method=method))

    assert adjusted_rand_score(topic, groups_of(communities, size)) >= 0.95


def test_the_way_of_the_seed_is_there_as_the_exact_mode():
    from sklearn.metrics import adjusted_rand_score  # takes a second, of each worker

    events, topic = planted(300, noise=0.0, seed=2)

    communities = build_communities(events, ClusterOptions(method="louvain", pairs="all"))

    assert adjusted_rand_score(topic, groups_of(communities, 300)) >= 0.9


def test_every_event_is_in_one_community_of_every_level_and_levels_nest():
    events, _ = planted(2_000, seed=3)

    communities = build_communities(events, ClusterOptions(levels=3))

    by_id = {each.community_id: each for each in communities}
    assert communities.levels == 3
    for level in range(3):
        rows = np.concatenate([each.members for each in communities.at(level)])
        assert sorted(rows.tolist()) == list(range(2_000))
    for each in communities:
        assert (each.parent_id is None) == (each.level == 2)
        if each.parent_id:
            assert set(each.members.tolist()) <= set(by_id[each.parent_id].members.tolist())


def test_the_most_typical_event_comes_first():
    events, _ = planted(500, seed=3)

    for each in build_communities(events):
        assert each.centrality[0] == 1.0
        assert np.all(np.diff(each.centrality) <= 0)


def test_ids_depend_on_members_alone():
    events, _ = planted(400, seed=5)
    backwards = table(
        400,
        EventLinks(event=399 - events.links.event, key=events.links.key),
        len(events.keys.values),
        events.vectors[::-1],
    )
    object.__setattr__(backwards, "event_ids", events.event_ids[::-1])

    one, other = build_communities(events), build_communities(backwards)

    assert {each.community_id for each in one.at(0)} == {each.community_id for each in other.at(0)}


def test_the_random_numbers_of_others_are_left_alone():
    events, _ = planted(300)
    random.seed(1)
    before = random.getstate()

    build_communities(events)

    assert random.getstate() == before


def test_quality_figures_agree_with_igraph():
    events, _ = planted(400, seed=8)
    edges = weigh_edges(events, ClusterOptions())
    group = partition(edges, ClusterOptions())

    quality, inner, conductance = measure(edges, group, 0)

    graph = igraph.Graph(n=edges.node_count, edges=list(zip(edges.left.tolist(), edges.right.tolist(), strict=True)))
    assert quality.modularity == pytest.approx(graph.modularity(group.tolist(), weights=edges.strength.tolist()))
    assert quality.coverage == pytest.approx(inner.sum() / edges.strength.sum())
    assert np.all((conductance >= 0) & (conductance <= 1))


def test_grouping_by_a_key_type_puts_each_event_with_its_most_common_key():
    links = EventLinks(event=np.array([0, 1, 2, 2, 3], np.int32), key=np.array([0, 0, 0, 1, 1], np.int32))
    events = table(5, links, 2, np.eye(5, dtype=np.float32))

    communities = build_communities(events, ClusterOptions(method="key-type", key_types=("topic",), levels=1))

    assert [sorted(each.members.tolist()) for each in communities] == [[0, 1, 2], [3], [4]]


def test_grouping_by_a_key_type_needs_exactly_one_type():
    with pytest.raises(SettingsError, match="one key type"):
        ClusterOptions(method="key-type")


@pytest.mark.parametrize("size", [0, 1, 2])
def test_none_one_or_two_events_are_no_trouble(size):
    links = EventLinks(event=np.zeros(0, np.int32), key=np.zeros(0, np.int32))

    communities = build_communities(table(size, links, 0, np.eye(size, 3, dtype=np.float32)))

    assert len(communities.at(0)) == size


def test_finer_resolutions_give_more_communities():
    events, _ = planted(600, seed=2)
    edges = weigh_edges(events, ClusterOptions())

    counts = [int(partition(edges, ClusterOptions(resolution=each)).max()) + 1 for each in (0.001, 0.01, 0.2)]

    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_tables_bring_the_communities_back():
    events, _ = planted(300, seed=6)
    communities = build_communities(events)

    tables = communities_tables(communities, events.event_ids)
    back = read_communities(tables, events.event_ids)

    assert [each.community_id for each in back] == [each.community_id for each in communities]
    assert all(np.array_equal(a.members, b.members) for a, b in zip(back, communities, strict=True))
    assert all(np.allclose(a.centrality, b.centrality) for a, b in zip(back, communities, strict=True))
    assert back.quality == communities.quality
    assert back.ties == communities.ties
