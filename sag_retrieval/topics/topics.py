"""Topics: what a report shows. Events grouped by their words, by the sections of a long document, or by keys."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from typing import Final

import igraph
import leidenalg
import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, diags_array

from sag_retrieval.clusters.clustering import Pairs, build_communities, by_size, ids_of, members_of, strongest_ties
from sag_retrieval.clusters.events import EventTable, Flags, Floats
from sag_retrieval.clusters.groups import Communities, Community, Quality
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import cosines, nearest
from sag_retrieval.core.types import Rows, Rows64
from sag_retrieval.language.data import patterns, words_of_all
from sag_retrieval.language.words import STOP_WORDS, is_cjk, stem, tagged
from sag_retrieval.statements.form import is_prose
from sag_retrieval.topics.titler import is_phrase

_WORD = patterns("all")["term_word"]
_CONTRACTED = patterns("all")["apostrophe"]
_STARTS = patterns("all")["starts_statement"]
"""Before the first word of a sentence or line."""
_SHORTEST: Final = 3
"""Letters of a word outside Chinese and Japanese."""
_SHORTEST_CJK: Final = 2
_PARTS: Final = frozenset("navlijbsfzeg")
"""First letters of the parts of speech that say what a text is about: nouns, verbs, adjectives, set phrases."""
_NAMES: Final = frozenset(["nr", "ns", "nt"])
"""Parts of speech of people, places and organisations."""
_TOPIC: Final = "topic"
"""Type of the keys that name a subject, not a person, place or thing."""
_MOSTLY: Final = 0.5
_COMMON: Final = 0.15
"""A word in a larger share of the events of one language says nothing about any of them."""
_FEW: Final = 5
MANY_DOCUMENTS: Final = 6
"""With this number of documents a topic has to appear in several of them; with fewer, in several chunks."""
SPREAD: Final = 3
"""Documents, or chunks, that a word or topic has to appear in."""


@dataclass(frozen=True, slots=True)
class WordPlace:
    """A word of an event: its number (-1: it belongs to no topic), and its first character and end in the content."""

    word: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class TopicWords:
    """The words of all events that a topic can consist of."""

    counts: csr_array
    """Shape (events, words), 1 where the event says the word."""
    places: Sequence[Sequence[WordPlace]]
    """The words of each event in order."""
    idf: Floats
    """Shape (words,): `ln(events / events that say the word)`."""


def topic_words(events: EventTable) -> TopicWords:
    """Read the words of the events that are prose.

    A word counts if at least three documents say it (chunks, where there are fewer than six documents), if it is not
    part of a name in most places, and if at most 15 % of the events in each language say it.

    Source: docs/algorithm.md §reports.3.
    """
    texts = [
        _read(content, language) if is_prose(content) else []
        for content, language in zip(events.contents, _languages(events), strict=True)
    ]
    numbers: dict[str, int] = {}
    for found in texts:
        for each in found:
            numbers.setdefault(each.root, len(numbers))
    event = np.repeat(np.arange(len(texts), dtype=np.int64), [len(found) for found in texts])
    word = np.array([numbers[each.root] for found in texts for each in found], dtype=np.int64)
    named = _is_named(events, texts)
    chosen = _chosen(events, (event, word, named), len(numbers))
    row = np.full(len(numbers), -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    counts = _incidence(event[~named], row[word[~named]], (len(texts), len(chosen)))
    number = iter(np.where(named, -1, row[word]).tolist())
    return TopicWords(
        counts=counts,
        places=[[WordPlace(next(number), each.start, each.end) for each in found] for found in texts],
        idf=np.log(max(1, len(texts)) / np.maximum(1, counts.sum(axis=0))).astype(np.float64),
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it stands in a text; `is_capital` where a capital letter, or the dictionary, marks a name."""

    root: str
    start: int
    end: int
    is_capital: bool = False


def _read(text: str, language: str) -> list[_Word]:
    found: list[_Word] = []
    for match in _WORD.finditer(text):
        if is_cjk(match[0]):
            found.extend(_read_cjk(match[0], match.start(), language))
        else:
            form = match[0].casefold()
            if len(form) >= _SHORTEST and not _CONTRACTED.search(form) and not is_function_word(form):
                is_capital = _is_capital(match[0], text[: match.start()][-4:], language)
                found.append(_Word(stem(form), match.start(), match.end(), is_capital))
    return found


def _is_capital(word: str, before: str, language: str) -> bool:
    """Whether capital letters mark a name: inside a word, or at its start within a sentence where nouns have none."""
    inner = word[1:] != word[1:].lower() and word != word.upper()
    return inner or (word[0].isupper() and language != "de" and not _STARTS.search(before))


def _read_cjk(run: str, start: int, language: str) -> Iterator[_Word]:
    """Words of a run of Chinese characters by dictionary; a run in Japanese is one word."""
    for word, part in [(run, "n")] if language == "ja" else tagged(run):
        end = start + len(word)
        if len(word) >= _SHORTEST_CJK and part[:1] in _PARTS and not is_function_word(word):
            yield _Word(word, start, end, is_capital=part[:2] in _NAMES)
        start = end


def is_function_word(form: str) -> bool:
    """Whether a word is one of grammar or of the calendar, which say nothing of a subject."""
    return form in STOP_WORDS or form in words_of_all("FUNCTION_WORDS")


def _languages(events: EventTable) -> list[str]:
    return [events.documents.languages[row] for row in events.document.tolist()]


def _is_named(events: EventTable, texts: Sequence[Sequence[_Word]]) -> Flags:
    """Of each word of each event, whether it is a name there: by a key of the event, or by its capital letter."""
    roots: dict[int, frozenset[str]] = {}
    starts = np.searchsorted(events.links.event, np.arange(len(texts) + 1))
    flags: list[bool] = []
    for row, found in enumerate(texts):
        names: set[str] = set()
        for key in events.links.key[starts[row] : starts[row + 1]].tolist():
            if key not in roots:
                called = events.keys.names_of(key) if events.keys.types[key] != _TOPIC else ()
                roots[key] = frozenset(each.root for name in called for each in _read(name, ""))
            names |= roots[key]
        flags.extend(each.is_capital or each.root in names for each in found)
    return np.array(flags, dtype=np.bool_)


def _chosen(events: EventTable, read: tuple[Rows64, Rows64, Flags], count: int) -> Rows64:
    """Numbers of the words that can be part of a topic, in the order of their first occurrence."""
    event, word, named = read
    said = _incidence(event, word, (len(events), count))
    free = _incidence(event[~named], word[~named], (len(events), count))
    is_name = np.asarray(free.sum(axis=0)) < _MOSTLY * np.asarray(said.sum(axis=0))
    place = events.document if len(set(events.document.tolist())) >= MANY_DOCUMENTS else events.chunk
    spread = _incidence(place[event[~named]], word[~named], (int(place.max(initial=0)) + 1, count)).sum(axis=0)
    languages = _languages(events)
    is_common = np.zeros(count, np.bool_)
    for language in sorted(set(languages)):
        rows = np.flatnonzero(np.array(languages) == language)
        is_common |= np.asarray(said[rows].sum(axis=0)) > max(_FEW, _COMMON * len(rows))
    return np.flatnonzero(~is_name & ~is_common & (np.asarray(spread) >= SPREAD))


def _incidence(row: Rows | Rows64, column: Rows64, shape: tuple[int, int]) -> csr_array:
    """1 for each pair of a row and a column, however often it occurs; pairs with a column below 0 are left out."""
    kept = column >= 0
    matrix = csr_array(coo_array((np.ones(int(kept.sum())), (row[kept], column[kept])), shape=shape))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


_LEAST, _SHARE = 3, 0.05
"""Events of a topic that say a term, and their share: less is a corner of the topic."""
_OWN: Final = 0.25
"""Share of the events with a topic that say a term which has to be in this topic."""
_KEPT: Final = 10
_NO_NOUN = patterns("en")["no_noun"]
"""Ends of English words that are rarely the first or the last word of a noun phrase."""
_PLURAL = patterns("en")["plural"]
"""`ideas flow` is a clause: a modifier stands in the singular, or before a plural."""

_Phrase = tuple[int, ...]


def distinctive_terms(texts: Sequence[str], words: TopicWords, topic: Rows) -> list[list[str]]:
    """The phrases of two words, then the words, that distinguish each topic, best first; an event of topic -1 has none.

    What c of a topic's s events and d of all n events say scores `c · ln(c n / (s d))`. A phrase is two neighbouring
    words that can be a noun; it counts as often as its rarer word would. Source: docs/algorithm.md §reports.5.
    """
    count = int(topic.max(initial=-1)) + 1
    inside: list[Counter[_Phrase]] = [Counter() for _ in range(count)]
    everywhere: Counter[_Phrase] = Counter()
    forms: defaultdict[_Phrase, Counter[str]] = defaultdict(Counter)
    for row, number in enumerate(topic.tolist()):
        said = dict(_phrases(texts[row], words.places[row]))
        everywhere.update(said.keys())
        for phrase, form in said.items():
            forms[phrase][form] += 1
        if number >= 0:
            inside[number].update(said.keys())
    sizes, in_any = Counter(topic.tolist()), sum(inside, Counter[_Phrase]())
    found = []
    for number, counts in enumerate(inside):
        scored = {
            phrase: round(said * log(said * len(topic) / (sizes[number] * everywhere[phrase])), 9)
            for phrase, said in counts.items()
            if said >= max(_LEAST, _SHARE * sizes[number]) and said >= _OWN * in_any[phrase]
        }
        order = sorted(scored, key=lambda phrase: (len(phrase) == 1, -scored[phrase], phrase))
        commonest = (min(forms[each].items(), key=lambda said: (-said[1], said[0])) for each in order[:_KEPT])
        found.append([form for form, _ in commonest])
    return found


def _phrases(text: str, places: Sequence[WordPlace]) -> Iterator[tuple[_Phrase, str]]:
    """Words, and pairs of neighbouring words, that can be a noun or a noun phrase, with their form in the text."""
    before: WordPlace | None = None
    for place in places:
        if place.word >= 0:
            form = text[place.start : place.end].casefold()
            if _is_noun(form):
                yield (place.word,), form
                if before and text[before.end : place.start] in {"", " "}:
                    form = text[before.start : place.end].casefold()
                    if is_cjk(form) or _is_compound(form):
                        yield (before.word, place.word), form
        before = place if place.word >= 0 else None


def _is_noun(form: str) -> bool:
    """Whether a word can end a noun phrase: by its ending in English, by the dictionary in Chinese."""
    if not is_cjk(form):
        return _NO_NOUN.search(form) is None
    tags = tagged(form)
    return len(tags) > 1 or tags[0][1][:1] in {"n", "l", "j", "i"} or tags[0][1] in {"vn", "an"}


def _is_compound(form: str) -> bool:
    first, *_, last = form.split()
    return _NO_NOUN.search(first) is None and not (_PLURAL.search(first) and not _PLURAL.search(last))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a group of events is a topic. Chosen on the purity of topics in the first half of four judged piles."""

    neighbours: int = 8
    """Most similar events that each event is tied to."""
    alike: float = 0.1
    """Cosine from which two events are tied."""
    joins: float = 0.4
    """Cosine with the mean of a topic from which an event without one joins it."""
    least: int = 3
    """Events of a topic, and of a part of a long document: two are a pair, not a subject."""
    share: float = 0.01
    """Share of the grouped events that a topic has."""
    for_a_topic: int = 12
    """Events for each topic aimed at, where there are few."""
    grouped: int = 20_000
    """Events that make topics, spread evenly: Leiden takes seconds for them; the others join."""
    covered: float = 0.5
    """Share of the events below which topics give way to groups by keys: few events share few words, but names."""
    named: float = 0.5
    """Share of the topics that have a phrase among their terms, below which keys group the events: the words of a small
    pile, or of talk, distinguish little."""
    parts: tuple[int, int] = (3, 40)
    """Fewest and most parts by which a long document is shown."""
    part: float = 0.02
    """Share of the events that a part has."""
    in_parts: float = 0.6
    """Share of the events that parts hold together, for a document to be shown by them."""
    documents: int = 3
    """From this number of documents on topics go across documents."""


_LIMITS: Final = Limits()
_RESOLUTIONS: Final = tuple(round(2 ** (step / 2), 3) for step in range(-8, 8))
"""Tried from few topics to many, until their count is nearest to the aim or falls again."""


def build_topics(events: EventTable, options: ClusterOptions) -> Communities:
    """The topics of events as communities, without titles.

    One or two long documents are shown by their sections, in reading order. Otherwise events are grouped by the words
    that they share (`method="topics"`); where fewer than half of these groups have a phrase that distinguishes them, or
    they hold less than half of the events, by their keys. Every other method groups by keys, as the options say.

    Source: docs/algorithm.md §reports.3.
    """
    if options.method not in {"topics", "sections"}:
        return build_communities(events, options)
    events = events.cleaned()
    if parts := _by_sections(events):
        return parts
    found = _by_words(events, options)
    shown = [each for each in found if len(each.members) >= _LIMITS.least]
    named = sum(any(map(is_phrase, each.terms)) for each in shown)
    if named >= max(_LIMITS.least, _LIMITS.named * len(shown)) and found.quality[0].coverage >= _LIMITS.covered:
        return found
    return build_communities(events, replace(options, method="leiden", levels=1))


def _by_words(events: EventTable, options: ClusterOptions) -> Communities:
    """Groups of events of one language that say similar words; a topic goes over several documents."""
    words = topic_words(events)
    vectors = _normal(csr_array(words.counts.multiply(words.idf[None, :])))  # an event without words has an empty row
    used = np.flatnonzero(np.diff(vectors.indptr) > 0).astype(np.int32)
    rows = used[:: 1 + len(used) // _LIMITS.grouped]
    languages = np.array([events.documents.languages[row] for row in events.document.tolist()])
    places = events.document if len(set(events.document.tolist())) >= MANY_DOCUMENTS else events.chunk
    ties = _tied(vectors[rows], languages[rows], options.seed)
    found = _leiden(places[rows], ties, options)
    topic = np.full(len(events), -1, np.int32)
    topic[rows] = found
    topic, likeness = _joined(topic, vectors, languages)
    terms = distinctive_terms(events.contents, words, topic)
    return _communities(events, topic, likeness, terms, (rows[ties[0]], rows[ties[1]], ties[2]))


def _normal(matrix: csr_array) -> csr_array:
    """The same rows with length 1; empty ones stay."""
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return csr_array(diags_array(np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)) @ matrix)


def _tied(vectors: csr_array, languages: npt.NDArray[np.str_], seed: int) -> Pairs:
    """Pairs of rows with their cosine: each with the most similar ones in its language."""
    found = [np.zeros((2, 0), np.int32)]
    for language in np.unique(languages):
        rows = np.flatnonzero(languages == language).astype(np.int32)
        one, other = nearest(vectors[rows], _LIMITS.neighbours, seed)
        found.append(rows[np.unique(np.stack([np.minimum(one, other), np.maximum(one, other)]), axis=1)])
    left, right = np.concatenate(found, axis=1)
    strength = np.round(cosines(vectors, left, right), 6)
    kept = strength >= _LIMITS.alike
    return left[kept], right[kept], strength[kept]


def _leiden(places: Rows, ties: Pairs, options: ClusterOptions) -> Rows:
    """The topic of each row, -1 for none, at the resolution whose count of topics is nearest to the aim."""
    left, right, strength = ties
    best = np.full(len(places), -1, np.int32)
    if not len(strength):
        return best
    graph = igraph.Graph(n=len(places), edges=np.stack([left, right], axis=1).tolist())
    aim, least = max(1.0, min(options.topics, len(places) / _LIMITS.for_a_topic)), np.inf
    for resolution in _RESOLUTIONS:
        partition = leidenalg.find_partition(
            graph,
            leidenalg.RBConfigurationVertexPartition,
            weights=strength.tolist(),
            resolution_parameter=resolution,
            seed=options.seed,
            n_iterations=options.iterations,
        )
        found = _wide(np.asarray(partition.membership, dtype=np.int32), places)
        count = int(found.max(initial=-1)) + 1
        far = round(abs(float(np.log(max(count, 0.5) / aim))), 9)
        if far < least:
            best, least = found, far
        if count > aim:
            break
    return best


def _wide(group: Rows, places: Rows) -> Rows:
    """The groups that are large and spread enough, numbered by falling size; -1 for the rows of the others."""
    count = int(group.max(initial=-1)) + 1
    sizes = np.bincount(group, minlength=count)
    width = int(places.max(initial=0)) + 1
    spread = np.bincount(np.unique(group.astype(np.int64) * width + places) // width, minlength=count)
    kept = np.flatnonzero((sizes >= max(_LIMITS.least, _LIMITS.share * len(group))) & (spread >= SPREAD))
    number = np.full(count, -1, np.int32)
    number[kept[np.lexsort((kept, -sizes[kept]))]] = np.arange(len(kept), dtype=np.int32)
    return number[group]


def _joined(topic: Rows, vectors: csr_array, languages: npt.NDArray[np.str_]) -> tuple[Rows, Floats]:
    """The topic of every event, and its cosine with the mean of the topic's events (0 without one).

    An event without a topic joins the most similar one of its language, if it is similar enough.
    """
    count = int(topic.max(initial=-1)) + 1
    if not count:
        return topic, np.zeros(len(topic))
    has = np.flatnonzero(topic >= 0)
    means = _normal(csr_array((np.ones(len(has)), (topic[has], has)), shape=(count, len(topic))) @ vectors)
    likeness = np.round(np.asarray((vectors @ means.T).todense(), np.float64), 6)
    of_topic = languages[[int(has[topic[has] == number][0]) for number in range(count)]]
    likeness[languages[:, None] != of_topic[None, :]] = 0.0
    best = likeness.argmax(axis=1).astype(np.int32)
    joins = (topic < 0) & (likeness[np.arange(len(topic)), best] >= _LIMITS.joins)
    found = np.where(joins, best, topic).astype(np.int32)
    found[found >= 0] = by_size(found[found >= 0])
    order = np.zeros(count, np.int32)
    order[found[has]] = topic[has]
    return found, np.where(found >= 0, likeness[np.arange(len(topic)), order[found]], 0.0)


def _by_sections(events: EventTable) -> Communities | None:
    """The sections of one or two documents with enough events, in reading order; None where they are no topics."""
    if len(set(events.document.tolist())) >= _LIMITS.documents or not events.chunks.sections:
        return None
    titles: list[str] = []
    number: dict[tuple[int, str], int] = {}
    of_chunk = [-1] * len(events.chunks.sections)
    owners = events.chunks.document.tolist()
    for chunk, (document, title) in enumerate(zip(owners, events.chunks.sections, strict=True)):
        if any(map(str.isalpha, title)) and not title.startswith("["):  # `[Picture` is left of an image
            of_chunk[chunk] = number.setdefault((document, title), len(titles))
            titles += [title] if of_chunk[chunk] == len(titles) else []
        elif chunk and owners[chunk - 1] == document:
            of_chunk[chunk] = of_chunk[chunk - 1]
    part = np.array(of_chunk, np.int32)[events.chunk]
    sizes = np.bincount(part[part >= 0], minlength=len(titles))
    kept = np.flatnonzero(sizes >= max(_LIMITS.least, _LIMITS.part * len(events)))
    fewest, most = _LIMITS.parts
    if not fewest <= len(kept) <= most or sizes[kept].sum() < _LIMITS.in_parts * len(events):
        return None
    row = np.full(len(titles) + 1, -1, np.int32)
    row[kept] = np.arange(len(kept), dtype=np.int32)
    named = [titles[place].rsplit(" / ", 1)[-1] for place in kept.tolist()]
    found = _communities(events, row[part], _likeness(events, row[part]), (), _shared_keys(events, row[part]), named)
    return replace(found, is_ordered=True)


def _likeness(events: EventTable, part: Rows) -> Floats:
    """Similarity of each event to the mean of its part; 0 for an event without one."""
    found = np.zeros(len(part))
    for number in range(int(part.max(initial=-1)) + 1):
        rows = np.flatnonzero(part == number)
        vectors = events.vectors[rows]
        found[rows] = np.asarray(vectors @ np.asarray(vectors.mean(axis=0)).ravel(), dtype=np.float64)
    return np.asarray(np.round(np.maximum(found, 0.0), 9), np.float64)


def _shared_keys(events: EventTable, part: Rows) -> Pairs:
    """A tie between events of two parts for each key that occurs in both, by the first event of each that has it."""
    incidence = events.incidence(without=("title", "date"))
    first: dict[tuple[int, int], int] = {}
    rows, keys = incidence.nonzero()
    for row, key in zip(rows.tolist(), keys.tolist(), strict=True):
        if part[row] >= 0:
            first.setdefault((key, int(part[row])), row)
    by_key: dict[int, list[int]] = {}
    for (shared, _), held in sorted(first.items()):
        by_key.setdefault(shared, []).append(held)
    pairs = [pair for held_by in by_key.values() for pair in combinations(held_by, 2)]
    left, right = np.array(pairs, np.int32).reshape(-1, 2).T
    return left, right, np.ones(len(pairs))


def _communities(
    events: EventTable,
    topic: Rows,
    likeness: Floats,
    terms: Sequence[Sequence[str]],
    ties: Pairs,
    titles: Sequence[str] = (),
) -> Communities:
    """The topics as communities of one level; events without one are single ones behind them."""
    count = int(topic.max(initial=-1)) + 1
    number, alone = topic.copy(), np.flatnonzero(topic < 0)
    number[alone] = count + np.arange(len(alone), dtype=np.int32)
    best = np.zeros(count + 1)
    np.maximum.at(best, topic, likeness)
    central = np.divide(likeness, best[topic], out=np.ones(len(topic)), where=(best[topic] > 0) & (topic >= 0))
    members, weight = members_of(number, central), np.where(topic < 0, 0.0, likeness)
    ids = ids_of(events, members)
    made = tuple(
        Community(
            community_id=ids[place],
            parent_id=None,
            level=0,
            members=rows,
            centrality=central[rows],
            weight=float(weight[rows].sum()),
            conductance=0.0,
            title=titles[place] if place < len(titles) else "",
            terms=tuple(terms[place]) if place < len(terms) else (),
        )
        for place, rows in enumerate(members)
    )
    coverage = float((topic >= 0).mean()) if len(topic) else 0.0
    quality = Quality(
        level=0, communities=len(members), modularity=_modularity(topic, ties), coverage=coverage, conductance=0.0
    )
    left, right, strength = ties
    both = (topic[left] >= 0) & (topic[right] >= 0)
    return Communities(
        communities=made,
        quality=(quality,),
        ties=tuple(strongest_ties((left[both], right[both], strength[both]), topic, ids)),
        edge_count=len(strength),
        candidate_count=len(events),
    )


def _modularity(topic: Rows, ties: Pairs) -> float:
    left, right, strength = ties
    total = float(strength.sum())
    if not total:
        return 0.0
    inside = float(strength[(topic[left] == topic[right]) & (topic[left] >= 0)].sum())
    degree = np.bincount(topic[left] + 1, strength, int(topic.max(initial=-1)) + 2)
    degree += np.bincount(topic[right] + 1, strength, len(degree))
    return round(inside / total - float(((degree[1:] / (2 * total)) ** 2).sum()), 9)
