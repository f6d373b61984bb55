"""What the server that forks the processes of `killed` loads; it ends without the clean-up of C libraries."""

import atexit
import os

import tests.pipeline.publish.histories  # noqa: F401  loaded once for all processes

atexit.register(os._exit, 0)
