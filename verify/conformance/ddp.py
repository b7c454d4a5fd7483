"""Communication hooks of torch's DistributedDataParallel, judged on real process groups (gloo) of one machine."""

from __future__ import annotations

import functools
import itertools
import pickle
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.calls import Died
from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.ddp_group import Group
from commbounds.verify.conformance.subject import AllReduce, AllReduceResult, Stateful, Subject, checked_limit


def torch_ddp_hook(
    hook: Callable[[Any, Any], Any],
    make_state: Callable[[int], Any],
    claims: Sequence[SubjectClaim] = (),
    *,
    ranks: Sequence[int] = (1, 2, 3),
    stateful: bool = False,
    residual: Callable[[Any], Any] | None = None,
    time_limit: float = 20.0,
    **options: Any,
) -> Subject:
    """A DDP communication hook as a subject.

    Every rank is a process with a model of one parameter of the input's shape, whose gradient is what the rank brings;
    what the hook makes of it is read from ``parameter.grad``. Models are kept, states are not.

    Parameters
    ----------
    hook : callable (state, bucket) -> Future
        As `DistributedDataParallel.register_comm_hook` takes it; importable from a module or file, as other processes
        have to find it.
    make_state : callable (seed) -> state
        Called on every rank, for every call or run; importable too: a function, no lambda.
    claims : sequence of SubjectClaim
        About an `AllReduce`, or about a `Stateful`.
    ranks : sequence of int
        Sizes of the process groups; a stateful subject uses the last.
    stateful : bool
        False: every call makes a new state, and brings one gradient a rank. True: a state lives through many
        steps, the answer is rank 0's. Of two ranks or more the first brings 2 x, the second 0, others x: the mean is x,
        and nothing of that rounds. A rank on its own brings x.
    residual : callable (state) -> array, number or None
        What the rank holds back behind a step, of the size of the gradient or one number for all entries; importable.
        None where it cannot be told. A stateful subject shows the mean over the ranks.
    time_limit : float
        Seconds that a call may take before the processes are killed.
    **options
        As of the kind; ``effort`` is 0.05 unless given.

    Returns
    -------
    AllReduce or Stateful

    Raises
    ------
    ModuleNotFoundError
        torch is not installed: ``pip install 'commbounds[torch]'``.
    ValueError
        A callable cannot be imported by other processes; `ranks` or `time_limit` is not positive.

    Notes
    -----
    The processes come from multiprocessing's fork server where there is one, which imports torch once; so a script
    that judges hooks of its own needs ``if __name__ == "__main__":`` around what it does. An answer in which some ranks
    raised and others did not, or none came in time, ends the processes; the next call starts new ones.
    """
    import torch  # noqa: F401  said here, not by every process

    ranks = tuple(ranks)
    if not ranks or any(isinstance(P, bool) or not isinstance(P, int) or P < 1 for P in ranks):
        raise ValueError(f"ranks must hold positive integers, got {ranks!r}")
    time_limit = checked_limit(time_limit)
    options = {"effort": 0.05, "name": str(getattr(hook, "__name__", "hook")), **options}
    groups = _Groups(_packed(hook, make_state, residual), time_limit)
    common: dict[str, Any] = {"time_limit": float("inf"), "outside": groups, **options}
    if stateful:
        return Stateful(_Factory(groups, ranks[-1], residual is not None), claims, **common)
    return AllReduce(groups.run, claims, ranks=ranks, **common)


def _packed(*functions: Any) -> tuple[bytes, dict[str, str]]:
    """Pickled functions, and the files of the modules that no import would find."""
    for name, function in zip(("hook", "make_state", "residual"), functions, strict=True):
        try:
            pickle.dumps(function)
        except Exception as error:
            raise ValueError(f"{name} must be importable by other processes, got {function!r}: {error}") from error
    files = {}
    for function in itertools.chain.from_iterable(map(_inside, functions)):
        name = str(getattr(function, "__module__", None) or "")
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and "." not in name and name != "__main__":
            files[name] = str(path)
    return pickle.dumps(functions), files


def _inside(function: Any) -> Iterator[Any]:
    """The function, and those that it calls with arguments filled in."""
    yield function
    if isinstance(function, functools.partial):
        for part in (function.func, *function.args, *function.keywords.values()):
            yield from _inside(part)


class _Groups:
    """Process groups by their size, started when needed, killed when something goes wrong."""

    def __init__(self, code: tuple[bytes, dict[str, str]], time_limit: float) -> None:
        self._code, self._limit = code, time_limit
        self._groups: dict[int, Group] = {}
        self._numbers = itertools.count()
        self._done: dict[int, list[int]] = {}
        weakref.finalize(self, _stopped, self._groups)

    def stop(self) -> None:
        """End all processes; the next call starts new ones."""
        _stopped(self._groups)

    @property
    def process(self) -> _Groups:
        """What a Remote has: whom to ask about memory."""
        return self

    def started(self) -> dict[str, Any]:
        """Nothing is told of the processes' generators."""
        return {}

    def resident_bytes(self) -> int:
        """Memory that all processes have in use."""
        return sum(group.resident_bytes() for group in self._groups.values())

    def ask(self, P: int, request: tuple[Any, ...], rows: Sequence[Any], of: Group | None = None) -> list[Any]:
        """Every rank's answer: its gradient, and its residual or None.

        Raises
        ------
        TimedOut, Died, Unanswered
            No answer in time; a process ended, or the group `of` is gone; the hook raised.
        """
        if of is not None and self._groups.get(P) is not of:
            raise Died("the processes that knew the state are gone")
        group = self._groups.pop(P, None) or Group(P, self._code)
        try:
            answers = group.asked((*request, self._done.pop(P, [])), rows, self._limit)
        finally:
            if group.alive:
                self._groups[P] = group
        return answers

    def begun(self, P: int, seed: int) -> tuple[int, Group]:
        """The number of a new state, and the group that knows it."""
        number = next(self._numbers)
        self.ask(P, ("begin", number, seed), [None] * P)
        return number, self._groups[P]

    def done(self, P: int, number: int) -> None:
        """A state is not needed any more: said with the next request."""
        self._done.setdefault(P, []).append(number)

    def run(self, stack: Array, seed: int) -> AllReduceResult:
        """As of `AllReduce`: a new state, one gradient."""
        number = next(self._numbers)
        answers = self.ask(len(stack), ("once", number, seed), list(stack))
        shown = [held for _, held in answers if held is not None]
        residual = np.stack(shown) if len(shown) == len(stack) else None
        return AllReduceResult(np.stack([gradient for gradient, _ in answers]), residual=residual)


def _stopped(groups: dict[int, Group]) -> None:
    while groups:
        groups.popitem()[1].stop()


class _Factory:
    """States that live through many steps."""

    def __init__(self, groups: _Groups, P: int, shows: bool) -> None:
        self._groups, self._P, self._shows = groups, P, shows

    def __call__(self, seed: int) -> _HookStep:
        return (_Showing if self._shows else _HookStep)(self._groups, self._P, seed)


class _HookStep:
    """A state on every rank, which sees one gradient after the other."""

    def __init__(self, groups: _Groups, P: int, seed: int) -> None:
        self._groups, self._P = groups, P
        self._number, self._group = groups.begun(P, seed)
        self._held: list[Any] = []
        weakref.finalize(self, groups.done, P, self._number)

    def __call__(self, x: Array) -> Array:
        factors = (2, 0, *[1] * (self._P - 2)) if self._P > 1 else (1,)
        rows = [x * x.dtype.type(factor) for factor in factors]
        answers = self._groups.ask(self._P, ("step", self._number, 0), rows, self._group)
        self._held = [held for _, held in answers]
        answer: Array = answers[0][0]
        return answer


class _Showing(_HookStep):
    """One whose residual can be told."""

    @property
    def residual(self) -> Array | None:
        """The mean over the ranks, in float64; None where a rank does not tell."""
        if not self._held or any(held is None for held in self._held):
            return None
        mean: Array = np.stack([held.astype(np.float64) for held in self._held]).mean(axis=0)
        return mean
