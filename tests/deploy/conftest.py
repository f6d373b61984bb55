"""What the tests of a deployment share."""

from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a real PostgreSQL.

    Its folder is not below pytest's: PostgreSQL does not run as root, and pytest closes its folders to other users.
    """
    pgserver = pytest.importorskip("pgserver", reason="pgserver, a PostgreSQL from PyPI, is not installed")
    with TemporaryDirectory(prefix="sag-postgresql-") as folder:
        server = pgserver.get_server(f"{folder}/data", cleanup_mode="delete")
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg2://")
        server.cleanup()
