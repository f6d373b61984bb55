"""A plan worked off: every step as soon as what it needs is known, steps without a need side by side."""

from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from sag_retrieval.ask.plan import Plan, SubQuestion
from sag_retrieval.ask.session import Session
from sag_retrieval.ask.steps import StepOutcome, answer_step


def execute_plan(session: Session, plan: Plan, known: Mapping[str, StepOutcome]) -> dict[str, StepOutcome]:
    """Outcomes of the plan's steps in its order.

    Raises:
        FilterError: If the caller's restriction was refused.

    """
    done = dict(known)
    waiting = list(plan.steps)
    running: dict[Future[StepOutcome], SubQuestion] = {}
    with ThreadPoolExecutor(max_workers=session.options.at_once, thread_name_prefix="sag-step") as pool:
        while waiting or running:
            ready = [step for step in waiting if all(need in done for need in step.needs)]
            waiting = [step for step in waiting if step not in ready]
            running |= {pool.submit(answer_step, session, step, dict(done)): step for step in ready}
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                done[running.pop(future).node_id] = future.result()
    return {step.node_id: done[step.node_id] for step in plan.steps}
