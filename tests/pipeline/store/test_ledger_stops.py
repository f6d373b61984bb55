"""A signal may stop a query of the ledger anywhere; what is asked afterwards is answered."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from sag_pipeline.store.ledger import AMONG, Entry, Ledger


def test_a_stop_at_any_instruction_of_a_query_leaves_a_ledger_that_works(tmp_path: Path):
    ledger = Ledger(tmp_path)
    ledger.commit([Entry("d1", "chunks", "done", part="p", row_count=2)])
    stopped_at = 0
    while _is_stopped_at(ledger, stopped_at):
        assert ledger.select(f"SELECT unit FROM current {AMONG}", ["d1"]) == [("d1",)]
        stopped_at += 1

    assert stopped_at > 10


def _is_stopped_at(ledger: Ledger, instruction: int) -> bool:
    """Whether a query for more rows than are fetched at once was stopped before this instruction of `select`."""
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        nonlocal seen
        if frame.f_code is not Ledger.select.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen += 1
            if seen == instruction + 1:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    try:
        sys.settrace(trace)
        ledger.select("SELECT n FROM range(100_000) AS many(n)")
        sys.settrace(None)
    except KeyboardInterrupt:
        return True
    return False
