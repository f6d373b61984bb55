"""What cannot work is refused in one sentence, and no sentence holds a credential."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sag_retrieval import BucketError, SagError, SettingsError, open_release
from sag_retrieval.core.home_urls import checked_url
from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.mirror import Mirror, open_files, refuse_without_conditions
from tests.support import forked
from tests.support.bare_ingest import bare_ingest
from tests.support.buckets import KEY_ID, SECRET, Proxy, s3_proxy


@pytest.fixture
def proxy(at_s3: str, s3: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy before the server, which does what the test says; the environment names it."""
    with s3_proxy(s3) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.address)
        yield found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("s3://", r"home 's3://' names no bucket; write it like s3://bucket/prefix"),
        ("s3:///prefix", r"names no bucket"),
        ("ftp://bucket/prefix", r"starts with none of s3://, gs://"),
        ("s3://bucket/a/../b", r"an empty step, `\.` or `\.\.`"),
        (f"s3://{KEY_ID}:{SECRET}@bucket/prefix", r"holds a user, a password.*AWS_ACCESS_KEY_ID"),
        (f"s3://bucket/prefix?secret={SECRET}", r"holds a user, a password"),
        ("file://", r"names no bucket"),
    ],
)
def test_a_url_that_names_no_bucket_is_refused(given: str, said: str, home: Path):
    with pytest.raises(SettingsError, match=said) as refused:
        checked_url(given)
    with pytest.raises(SettingsError, match="SAG_HOME"):
        load_settings(home=given)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("given", ["s3://bucket/a", "s3://bucket/a/", "s3://bucket//a//"])
def test_every_spelling_of_a_url_is_one_home(given: str, cache: Path, home: Path):
    assert load_settings(home=given).home == load_settings(home="s3://bucket/a").home


def test_a_bucket_that_is_not_there_is_named(at_s3: str, cache: Path, home: Path):
    with pytest.raises(BucketError, match=r"there is no bucket 'no-such-bucket' \(s3://no-such-bucket/x\); create it"):
        open_release("s3://no-such-bucket/x")
    with pytest.raises(BucketError, match=r"there is no bucket 'no-such-bucket'"):
        open_files("s3://no-such-bucket/x").create("a", b"b")
    with pytest.raises(BucketError, match=r"there is no bucket 'no-such-bucket'"):
        open_files("s3://no-such-bucket/x").put("a", b"b")
    with pytest.raises(BucketError, match=r"there is no bucket 'no-such-bucket'"):
        list(open_files("s3://no-such-bucket/x").list())


def test_a_wrong_key_is_named_without_its_value(proxy: Proxy, at_s3: str, home: Path):
    proxy.answer_all(403, f"<Error><Code>InvalidAccessKeyId</Code><AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId></Error>")
    with pytest.raises(
        BucketError, match=r"the credentials are wrong \(InvalidAccessKeyId\); correct AWS_ACC"
    ) as found:
        open_release(at_s3)

    assert KEY_ID not in str(found.value)
    assert found.value.__cause__ is None


def test_credentials_that_may_only_read_are_enough_to_read(proxy: Proxy, at_s3: str, home: Path):
    files = open_files(at_s3)
    files.put("a", b"b")
    proxy.refuse("PUT", 403, "<Error><Code>AccessDenied</Code></Error>")

    found = files.get("a")
    assert found is not None
    assert found.read() == b"b"
    with pytest.raises(BucketError, match=r"cannot write .* the credentials do not allow it \(AccessDenied\)"):
        refuse_without_conditions(files)


def test_an_ingest_without_the_right_to_write_says_so(
    proxy: Proxy, at_s3: str, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SAG_HOME", at_s3)
    home.parent.joinpath("inbox").mkdir()
    proxy.refuse("PUT", 403, "<Error><Code>AccessDenied</Code></Error>")

    with pytest.raises(SagError, match=r"cannot write .* the credentials do not allow it"):
        bare_ingest(["inbox"])


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_server_that_ignores_conditions_is_refused(proxy: Proxy, at_s3: str, header: str):
    proxy.ignore(header)

    with pytest.raises(BucketError, match=r"does not keep the conditions of writes .*use a server that does"):
        refuse_without_conditions(open_files(at_s3))
    assert list(open_files(at_s3).list()) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["503", "cut", "slow"])
def test_a_fault_that_passes_is_not_seen(
    proxy: Proxy, at_s3: str, tmp_path: Path, home: Path, fault: str, monkeypatch: pytest.MonkeyPatch
):
    body = bytes(range(256)) * 4_000
    monkeypatch.setenv("SAG_BUCKET_SECONDS", "8" if fault == "slow" else "300")  # half of it for each request
    open_files.cache_clear()
    open_files(at_s3).put("files/x", body)
    proxy.fail_times(2, fault)
    place = tmp_path / "x"
    Mirror(tmp_path / "mirror", at_s3).fetch("files/x", place)

    assert place.read_bytes() == body
    assert proxy.failed == 2


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["503", "cut", "slow"])
def test_a_fault_that_stays_ends_in_a_sentence(
    proxy: Proxy, at_s3: str, tmp_path: Path, home: Path, fault: str, monkeypatch: pytest.MonkeyPatch
):
    open_files(at_s3).put("files/x", bytes(1_000_000))
    monkeypatch.setenv("SAG_BUCKET_SECONDS", "1")
    open_files.cache_clear()
    proxy.fail_times(10_000, fault)
    place = tmp_path / "x"
    with pytest.raises(BucketError, match=r"cannot read files/x in .*also when asked again.*run the command again"):
        Mirror(tmp_path / "mirror", at_s3).fetch("files/x", place)

    assert not place.exists()
    assert list(tmp_path.glob(".x.*")) == []


@pytest.mark.slow
def test_credentials_appear_nowhere(at_s3: str, cache: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SAG_HOME", at_s3)
    monkeypatch.setenv("SAG_DEBUG", "1")
    (home.parent / "inbox").mkdir()
    (home.parent / "inbox" / "a.txt").write_text("Acme Corporation was founded by Mara Voss in Oslo.")
    (home.parent / "dagster").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(home.parent / "dagster"))
    said = ""
    for command in (["ingest", "inbox"], ["status", "--json"], ["settings", "--json"], ["releases"], ["verify"]):
        done = forked.sag(*command)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    files = open_files(at_s3)
    stored = {each.key: found.read() for each in files.list() if (found := files.get(each.key))}
    local = {path: path.read_bytes() for path in home.parent.rglob("*") if path.is_file()}

    assert len(stored) > 10
    assert any("dagster" in str(path) for path in local)
    for secret in (SECRET, KEY_ID):
        assert secret not in said
        assert [key for key, body in (stored | local).items() if secret.encode() in body] == []


def test_the_package_for_buckets_is_named_where_it_lacks(cache: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "sag_retrieval.remote.object_files", raising=False)
    open_files.cache_clear()
    with pytest.raises(SettingsError, match=r'needs obstore: pip install "sag\[object-store\]"'):
        open_release("s3://bucket/x")
