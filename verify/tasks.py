"""`work_off`: calls of known or estimated cost, dealt to an executor in an order that keeps all workers busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import dataclass
from typing import Any

from commbounds.verify.executors import lost_its_worker


@dataclass(frozen=True)
class Task:
    """A call that may be made in another process, and what becomes of its result in this one.

    Parameters
    ----------
    names : tuple of str
        What it makes, which its cost is shared by.
    call : callable
        Picklable, as its arguments.
    arguments : tuple
        Of the call.
    keep : callable (result)
        Called in this process with what the call returned.
    lost : callable (exception) -> sequence of Task
        Called in place of `keep` where the call ended every worker that it was given to: what is done instead.
    cost : float
        Seconds that it takes, about.
    early : bool
        Whether it takes hardly any time even where kernels have to be compiled, so that something is seen soon.
    """

    names: tuple[str, ...]
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    keep: Callable[[Any], None]
    lost: Callable[[Exception], Sequence[Task]]
    cost: float
    early: bool = False


def in_turn(tasks: Iterable[Task]) -> list[Task]:
    """The tasks in the order in which they are dealt out.

    First an early one, or the cheapest, so that something is seen soon; then by cost, the dearest first, so that no
    long one is left when there is nothing else to do. Those of equal cost stay in their order.
    """
    pending = list(tasks)
    first = min(pending, key=lambda task: (not task.early, task.cost), default=None)
    return sorted(pending, key=lambda task: (task is not first, -task.cost))


def work_off(tasks: Sequence[Task], executor: Executor | None, costs: MutableMapping[str, float] | None = None) -> None:
    """Make all calls, in this order, and keep every result as it comes.

    Parameters
    ----------
    tasks : sequence of Task
        See `in_turn`.
    executor : concurrent.futures.Executor or None
        Makes the calls; None makes them here, one after another.
    costs : mutable mapping or None
        Seconds that every name took are written here, those of a call in equal shares.

    Raises
    ------
    Exception
        What a call, or `keep` or `lost` of its task, raises; then the others are cancelled.
    """
    if executor is None:
        for task in tasks:
            result, seconds = timed(task.call, *task.arguments)
            task.keep(result)
            _note(costs, task, seconds)
        return
    futures = {executor.submit(timed, task.call, *task.arguments): task for task in tasks}
    try:
        while futures:
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                task = futures.pop(future)
                try:
                    result, seconds = future.result()
                except Exception as error:
                    if not lost_its_worker(error):
                        raise
                    futures |= {
                        executor.submit(timed, other.call, *other.arguments): other for other in task.lost(error)
                    }
                    continue
                task.keep(result)
                _note(costs, task, seconds)
    finally:
        for future in futures:
            future.cancel()


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the call returns, and the seconds that it takes; a worker that takes the time needs no one to watch it."""
    begun = time.monotonic()
    result = call(*arguments)
    return result, time.monotonic() - begun


def _note(costs: MutableMapping[str, float] | None, task: Task, seconds: float) -> None:
    if costs is not None:
        costs.update(dict.fromkeys(task.names, seconds / len(task.names)))


def cost_of(names: Iterable[str], costs: Mapping[str, float] | None, otherwise: float) -> float:
    """What names cost together: as was noted, or `otherwise` for each of which nothing was."""
    return sum((costs or {}).get(name, otherwise) for name in names)
