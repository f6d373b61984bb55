"""The atomic search on one page: expand the query to keys, hop on, rank the chunks."""

from sag_retrieval.release.arrays import Index
from sag_retrieval.search.expand import expand, propagate
from sag_retrieval.search.method import Method, Query, Ranking, Stopwatch, parse_query
from sag_retrieval.search.options import SearchOptions
from sag_retrieval.search.rank import key_trust, rank
from sag_retrieval.search.sag import SearchState, make_ranking


def search_method(options: SearchOptions) -> Method:
    """Graph search with these options, as a method."""

    def method(index: Index, query: Query) -> Ranking:
        return search(index, query, options)

    return method


def search(index: Index, query: Query, options: SearchOptions) -> Ranking:
    """The chunks that answer a query: query → (key ↔ event) → chunk.

    Raises:
        QueryError: If the query is empty.

    Source:
        docs/algorithm.md §search.

    """
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = parse_query(index, query)
    with stopwatch("expand"):
        expansion = expand(index, reading, options)
    with stopwatch("hop"):
        hops = propagate(index, reading, expansion.keys, options)
    trust = key_trust(expansion.seeds, options.key_trust)
    with stopwatch("rank"):
        scores = rank(index, reading, hops[-1], trust, options)
    return make_ranking(SearchState(index, reading, expansion, hops, scores), stopwatch.seconds)
