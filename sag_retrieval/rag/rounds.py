"""What holds for a record after every stage, also where a stage runs again; the one place that checks it.

1. `{stage}_docs` are the texts of `{stage}_results`, in their order.
2. `{stage}_time` is in seconds, finite and not negative; of a stage that ran again, the sum of its rounds.
3. No value is lost: what a field held is still there, or stands in the field `sag_steps` under `replaced`.
4. Once a stage has run again, `sag_steps` lists the stages in the order in which they ran.
"""

import math
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

from sag_retrieval.core.errors import RecordError, shown

STEPS: Final = "sag_steps"
"""Field with the stages in the order they ran, each `{"stage": name}`, with `replaced` where it wrote fields again."""

_KINDS: Final = ("results", "docs", "time")
_STAGES: Final = ("retrieval", "reranking", "refining")
_STAGE_OF: Final = {f"{stage}_{kind}": stage for stage in _STAGES for kind in _KINDS} | {
    "prompt": "prompt",
    "generated": "generation",
    "generation_time": "generation",
}


def write_fields(record: MutableMapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Write what a stage made; values that the fields held go to `sag_steps`, and times of rounds are added."""
    stage = next((_STAGE_OF[name] for name in fields if name in _STAGE_OF), "own")
    replaced = {name: record[name] for name in fields if name in record}
    steps = _steps(record) if STEPS in record else _written(record)
    for name in replaced:
        del record[name]  # so that the order of the fields is the order of writing
    record.update(fields)
    time = f"{stage}_time"
    if isinstance(replaced.get(time), int | float) and time in fields:
        record[time] = fields[time] + replaced[time]
    if fields and (replaced or STEPS in record):
        record[STEPS] = [*steps, {"stage": stage} | ({"replaced": replaced} if replaced else {})]


def reading_order(data: Mapping[str, Any], order: tuple[str, ...], stage: str = "") -> tuple[str, ...]:
    """Stages from whose documents a reader takes the first that has any.

    The given order, as long as each stage ran once. Where one ran again, or `stage` is about to, the last one written
    comes first, so that a stage reads what the one ahead of it wrote.
    """
    if STEPS in data:
        steps = _steps(data)
    elif data.get(f"{stage}_docs"):
        steps = _written(data)
    else:
        return order
    newest = [step["stage"] for step in reversed(steps) if step["stage"] in _STAGES]
    return tuple(dict.fromkeys([*newest, *order]))


def has_current_prompt(data: Mapping[str, Any]) -> bool:
    """Whether there is a prompt, and no stage has found other documents since it was written."""
    ran = [step["stage"] for step in _steps(data)] if STEPS in data else []
    last = next((stage for stage in reversed(ran) if stage in {"prompt", *_STAGES}), "prompt")
    return bool(data.get("prompt")) and last == "prompt"


def check_step(before: Mapping[str, Any], after: Mapping[str, Any], who: str) -> None:
    """Check the record that a stage left against the one it got.

    Raises:
        RecordError: If an invariant is broken; the message names the stage and each fault.

    """
    written = [name for name in after if name not in before or after[name] is not before[name]]
    stages = dict.fromkeys(_STAGE_OF[name] for name in written if name in _STAGE_OF)
    faults = [fault for stage in stages for fault in _faults(after, stage)]
    held = [step["replaced"] for step in (_steps(after) if STEPS in after else ()) if "replaced" in step]
    lost = [
        name
        for name, value in before.items()
        if name != STEPS and after.get(name) is not value and not any(kept.get(name) is value for kept in held)
    ]
    if lost:
        faults.append(f"{', '.join(map(repr, lost))} was overwritten; write fields of your own, or subclass Stage")
    if faults:
        raise RecordError(f"{who} broke the record: {'; '.join(faults)}")


def _faults(record: Mapping[str, Any], stage: str) -> list[str]:
    found = []
    results, docs, time = (record.get(f"{stage}_{kind}") for kind in _KINDS)
    if stage in _STAGES and (docs or results) and docs != _texts(results):
        found.append(f"`{stage}_docs` must be the texts of `{stage}_results`, got {shown(docs)}")
    if time is not None and not _is_seconds(time):
        found.append(f"`{stage}_time` must be seconds, 0 or more, got {shown(time)}")
    return found


def _texts(results: object) -> list[Any]:
    items = results if isinstance(results, list | tuple) else ()
    return [item.get("text") if isinstance(item, Mapping) else None for item in items]


def _is_seconds(time: object) -> bool:
    return isinstance(time, int | float) and not isinstance(time, bool) and math.isfinite(time) and time >= 0


def _written(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stages with a field in a record, in the order of the fields, which is that of writing."""
    last = {_STAGE_OF[name]: None for name in reversed(list(record)) if record[name] and name in _STAGE_OF}
    return [{"stage": stage} for stage in reversed(last)]


def _steps(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    steps = record[STEPS]
    if isinstance(steps, list | tuple) and all(isinstance(step, Mapping) and "stage" in step for step in steps):
        return [dict(step) for step in steps]
    raise RecordError(f"`{STEPS}` must be a list of objects with `stage`, as stages write it, got {shown(steps)}")
