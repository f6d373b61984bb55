"""Progress of long steps as Dagster shows it: a line of the run's log every ten seconds, and figures of the asset."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import dagster as dg

from sag_pipeline.progress import listener, listening, measured

SECONDS: Final = 10.0
"""Between two lines of the log while a step is under way."""
_OBSERVED: Final = 3
"""Every third line is also an observation of the asset, which its page shows and plots."""


class Beat:
    """Tells the log of a run at a steady pace how far a step is, from a thread of its own.

    A thread, because what takes long (a model, a sort, a clustering) reports nothing meanwhile.
    """

    def __init__(self, context: dg.AssetExecutionContext, gauges: dict[str, Any], seconds: float) -> None:
        """Hold the context of the step, and the figures that it adds to while it runs."""
        self._context, self._gauges, self._seconds = context, gauges, seconds
        self._outer = listener()
        self._started = time.monotonic()
        self._at = ("", 0, 0, "")
        self._first: tuple[str, int, float] = ("", 0, self._started)
        self._told = 0
        self._ended = threading.Event()

    def __call__(self, step: str, done: int, total: int, item: str = "") -> None:
        """Take what a step reports (see `ProgressListener`)."""
        if step != self._first[0]:
            self._first = (step, done, time.monotonic())
        self._at = (step, done, total, item)
        self._outer(step, done, total, item)

    def run(self) -> None:
        """Tell the log until the step has ended."""
        while not self._ended.wait(self._seconds):
            figures = self.figures()
            self._context.log.info("%s", self.line(figures))
            if self._told % _OBSERVED == 0:
                seen = dg.AssetObservation(
                    self._context.asset_key, metadata={**figures, "dagster_run": self._context.run.run_id}
                )
                self._context.instance.report_runless_asset_event(seen)
            self._told += 1

    def end(self) -> None:
        """Stop."""
        self._ended.set()

    def figures(self) -> dict[str, float | int | str]:
        """What is done, how fast, and what it has cost so far."""
        step, done, total, item = self._at
        _, before, since = self._first
        seconds = time.monotonic() - since
        return {
            "step": step or self._context.asset_key.path[-1],
            "done": done,
            "total": total,
            "per_second": round((done - before) / seconds, 2) if seconds > 0 else 0.0,
            "seconds": round(time.monotonic() - self._started, 1),
            **({"item": item} if item else {}),
            **{name: read() for name, read in self._gauges.items()},
        }

    def line(self, figures: dict[str, float | int | str]) -> str:
        """The same as a line of the log."""
        whole = f"{figures['done']:,} of {figures['total']:,}" if figures["total"] else f"{figures['seconds']:,} s"
        shown = ("per_second", "item", *self._gauges)
        rest = (f"{name.replace('_', ' ')} {figures[name]}" for name in shown if figures.get(name))
        return ", ".join([f"{figures['step']}: {whole}", *rest])


@contextmanager
def beating(context: dg.AssetExecutionContext, seconds: float = SECONDS) -> Iterator[None]:
    """Tell the log of the run how far the work within this context is."""
    with measured() as gauges:
        beat = Beat(context, gauges, seconds)
        thread = threading.Thread(target=beat.run, name="sag-beat", daemon=True)
        thread.start()
        try:
            with listening(beat):
                yield
        finally:
            beat.end()
            thread.join()
