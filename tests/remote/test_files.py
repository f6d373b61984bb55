"""Files of a bucket keep their promises on a folder, in memory and on an S3 server alike."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sag_retrieval import BucketError
from sag_retrieval.remote.mirror import Files, open_files, refuse_without_conditions, write_conditional

KEYS = st.sampled_from(["HEAD", "a/one", "a/two", "a/b/three", "ab/four"])
BODIES = st.binary(min_size=1, max_size=64)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, BODIES),
        st.tuples(st.just("create"), KEYS, BODIES),
        st.tuples(st.just("swap"), KEYS, BODIES),
        st.tuples(st.just("swap_an_old_one"), KEYS, BODIES),
        st.tuples(st.just("delete"), KEYS, st.just(b"")),
    ),
    max_size=8,
)


def read(files: Files, key: str) -> bytes | None:
    found = files.get(key)
    return None if found is None else found.read()


class Model:
    """What a bucket should hold: the bytes of each key, its tag, and a tag it had before."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.known: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.old: dict[str, str] = {}

    def put(self, key: str, body: bytes) -> None:
        self.files.put(key, body)
        self._note(key, body)

    def create(self, key: str, body: bytes) -> None:
        done = self.files.create(key, body)
        assert (done is None) == (key in self.known)
        if done is not None:
            self._note(key, body)

    def swap(self, key: str, body: bytes) -> None:
        done = self.files.swap(key, body, self.tags.get(key, '"none"'))
        assert (done is None) == (key not in self.known)
        if done is not None:
            self._note(key, body)

    def swap_an_old_one(self, key: str, body: bytes) -> None:
        if key in self.old:
            assert self.files.swap(key, body, self.old[key]) is None

    def delete(self, key: str, _: bytes) -> None:
        self.files.delete([key, "not/there"])
        self.known.pop(key, None)
        if key in self.tags:
            self.old[key] = self.tags.pop(key)

    def _note(self, key: str, body: bytes) -> None:
        if key in self.tags:
            self.old[key] = self.tags[key]
        found = self.files.get(key)
        assert found is not None
        assert found.read() == body
        self.known[key], self.tags[key] = body, found.tag


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_files_behave_like_a_dictionary_with_tags(url: str, steps: list[tuple[str, str, bytes]]):
    files = open_files(url)
    files.delete([each.key for each in files.list()])
    model = Model(files)
    for number, (doing, key, body) in enumerate(steps):
        getattr(model, doing)(key, body + number.to_bytes(2))  # a tag may be made of the bytes alone

    assert {key: read(files, key) for key in model.known} == model.known
    assert {each.key: each.tag for each in files.list()} == model.tags
    assert [each.size for each in files.list()] == [len(body) for _, body in sorted(model.known.items())]
    assert [each.key for each in files.list("a/")] == sorted(key for key in model.known if key.startswith("a/"))


def test_a_tag_of_a_write_is_the_tag_that_is_read(url: str):
    files = open_files(url)
    created = files.create("HEAD", b"one")
    assert created is not None
    swapped = files.swap("HEAD", b"two", created)
    found = files.get("HEAD")

    assert found is not None
    assert found.tag == swapped != created


def test_of_many_writers_each_swap_replaces_what_it_was_built_on(url: str):
    files = open_files(url)
    files.create("count", b"0 start")

    def increment(writer: int) -> None:
        done = 0
        while done < 10:
            found = files.get("count")
            assert found is not None
            number = int(found.read().split()[0]) + 1
            done += write_conditional(files, "count", f"{number} {writer}".encode(), found.tag) is not None

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(increment, range(4)))

    assert (read(files, "count") or b"").split()[0] == b"40"


def test_of_many_creators_one_wins(url: str):
    files = open_files(url)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: files.create("only", f"{n}".encode()), range(8)))

    assert sum(each is not None for each in done) == 1


def test_a_write_whose_reply_was_lost_counts(url: str):
    files = open_files(url)
    files.create("HEAD", b"mine")  # the server wrote, and the client asks again

    assert write_conditional(files, "HEAD", b"mine", None) is not None
    assert write_conditional(files, "HEAD", b"another", None) is None


def test_a_file_of_this_machine_is_sent_and_read_in_pieces(url: str, tmp_path: Path):
    body = bytes(range(256)) * 40_000
    (tmp_path / "large").write_bytes(body)
    files = open_files(url)
    files.put("large", tmp_path / "large")
    found = files.get("large")

    assert found is not None
    assert found.read() == body


def test_a_large_file_is_read_by_ranges_of_one_version(at_s3: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sag_retrieval.remote.object_files.WHOLE", 100_000)
    body = bytes(range(251)) * 4_000
    files = open_files(at_s3)
    files.put("large", body)
    found, replaced = files.get("large"), files.get("large")
    assert found is not None
    assert replaced is not None
    assert found.read() == body

    next(replaced.chunks)
    files.put("large", body[::-1])
    with pytest.raises(BucketError, match="was replaced while it was read"):
        replaced.read()


def test_a_server_that_keeps_conditions_passes_the_probe(url: str):
    files = open_files(url)
    refuse_without_conditions(files)

    assert list(files.list()) == []


@pytest.mark.parametrize("make", [lambda f: f.get("x"), lambda f: f.swap("x", b"1", '"y"')])
def test_what_is_not_there_is_none(url: str, make: Callable[[Files], object]):
    assert make(open_files(url)) is None


def test_of_a_file_with_a_known_tag_no_bytes_are_sent(url: str):
    files = open_files(url)
    tag = files.create("a", b"first")
    assert tag is not None
    same, missing = files.get("a", tag), files.get("b", tag)
    files.put("a", b"second")
    other = files.get("a", tag)

    assert (same is not None and (same.tag, same.read())) == (tag, b"")
    assert missing is None
    assert other is not None
    assert other.read() == b"second"
