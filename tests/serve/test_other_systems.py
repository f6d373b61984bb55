"""What a system without `fcntl` and `resource` can do: open a release and search it."""

import os
import subprocess
import sys

from sag_retrieval.core.durable import take_lock

CODE = """
import sys
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
import sag_retrieval
with sag_retrieval.open_release() as release:
    hit = release.search("Who built the buoy?", where={"language": "en"}, sql="document_id LIKE 'notes/%'")[0]
    print(hit.document_id, release.ask("Who built the Heron buoy?").is_found)
    print(release.sql("SELECT count(*) AS n FROM documents").rows)
    try:
        release.sql("SELECT * FROM read_csv('/etc/passwd')")
    except sag_retrieval.FilterError:
        print("refused")
"""


def test_a_release_is_opened_and_searched_without_them(served_home):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | {"SAG_HOME": str(served_home)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["notes/heron.md True", "[{'n': 3}]", "refused"]


def test_one_holds_a_file_or_several_share_it(tmp_path):
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("ab") as one, (tmp_path / "lock").open("ab") as other:
        assert take_lock(one.fileno(), is_shared=True)
        assert take_lock(other.fileno(), is_shared=True)
        assert not take_lock(one.fileno())
        other.close()
        assert take_lock(one.fileno())
        with (tmp_path / "lock").open("ab") as third:
            assert not take_lock(third.fileno(), is_shared=True)
