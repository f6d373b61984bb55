"""What the server that forks the processes of `killed` loads; it ends without the clean-up of C libraries."""

import atexit
import gc
import os

import tests.pipeline.publish.histories  # noqa: F401  loaded once for all processes
from tests.support.forked import load_lance

load_lance()
gc.freeze()
atexit.register(os._exit, 0)
