"""Lance is opened without the client of its servers, which is there as soon as somebody asks for it."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

CODE = """
import json, sys
from pathlib import Path
from sag_retrieval.release.vectors import open_database
names = list(open_database(Path(sys.argv[1])).table_names())
before = "lance_namespace_urllib3_client.api" in sys.modules
import lance_namespace_urllib3_client
made = lance_namespace_urllib3_client.TableApi.__name__
print(json.dumps([names, before, made, "lance_namespace_urllib3_client.api" in sys.modules]))
"""


def test_lance_is_opened_without_the_client_of_its_servers(tmp_path):
    ran = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=True)

    assert json.loads(ran.stdout) == [[], False, "TableApi", True]
