"""Communication hooks of torch's DistributedDataParallel, judged on real process groups (gloo) of one machine."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.conformance.calls import Died, TimedOut, Unanswered
from commbounds.verify.conformance.claim import Claim
from commbounds.verify.conformance.subject import AllReduce, Stateful, Subject

__all__ = ["torch_ddp_hook"]

Array = NDArray[Any]
_START_LIMIT = 120.0
"""Seconds for the processes of a group to import torch and find each other."""


def torch_ddp_hook(
    hook: Callable[[Any, Any], Any],
    make_state: Callable[[int], Any],
    claims: Sequence[Claim] = (),
    *,
    ranks: Sequence[int] = (1, 2, 3),
    stateful: bool = False,
    time_limit: float = 20.0,
    **options: Any,
) -> Subject:
    """A DDP communication hook as a subject.

    Every rank is a process with a model of one parameter of the input's shape, whose gradient is what the rank brings;
    what the hook makes of it is read from ``parameter.grad``. Models are kept, states are not.

    Parameters
    ----------
    hook : callable (state, bucket) -> Future
        As `DistributedDataParallel.register_comm_hook` takes it; importable from a module, as it is pickled.
    make_state : callable (seed) -> state
        Called on every rank, for every call or run; importable too. ``lambda seed: None`` is none: write a function.
    claims : sequence of Claim
        About an `AllReduce`, or about a `Stateful`.
    ranks : sequence of int
        Sizes of the process groups; a stateful subject uses the last.
    stateful : bool
        False: every call makes a new state, and brings one gradient a rank. True: a state lives through many
        steps; rank r of P brings ``(r + 1/2) 2/P x``, whose mean is x, and the answer is rank 0's.
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
    """
    import torch  # noqa: F401  said here, not by every process

    options = {"effort": 0.05, "name": str(getattr(hook, "__name__", "hook")), **options}
    groups = _Groups(hook, make_state, time_limit)
    common: dict[str, Any] = {"time_limit": float("inf"), "outside": groups, **options}
    if stateful:
        return Stateful(_Factory(groups, tuple(ranks)[-1]), claims, **common)
    return AllReduce(groups.run, claims, ranks=ranks, **common)


class _Groups:
    """Process groups by their size, started when needed, killed when something goes wrong."""

    def __init__(self, hook: Any, make_state: Any, time_limit: float) -> None:
        self._hook, self._make_state, self._limit = hook, make_state, time_limit
        self._groups: dict[int, _Group] = {}
        self.process = self  # what a Remote has

    def started(self) -> dict[str, Any]:
        """Nothing is told of the processes' generators."""
        return {}

    def resident_bytes(self) -> int:
        """Memory that all processes have in use."""
        return sum(group.resident_bytes() for group in self._groups.values())

    def ask(self, P: int, request: tuple[Any, ...], rows: Sequence[Any]) -> list[Array]:
        """Every rank's answer.

        Raises
        ------
        TimedOut, Died, Unanswered
            No answer in time; a process ended; the hook raised. The group is started anew for the next call.
        """
        group = self._groups.pop(P, None) or _Group(P, self._hook, self._make_state)
        try:
            answers = group.asked(request, rows, self._limit)
        except BaseException:
            group.stop()
            raise
        self._groups[P] = group
        return answers

    def run(self, stack: Array, seed: int) -> Array:
        """As of `AllReduce`: a new state, one gradient."""
        return np.stack(self.ask(len(stack), ("once", seed), list(stack)))

    def __del__(self) -> None:
        for group in self._groups.values():
            group.stop()


class _Factory:
    """States that live through many steps."""

    def __init__(self, groups: _Groups, P: int) -> None:
        self._groups, self._P = groups, P
        self.__name__ = "hook"

    def __call__(self, seed: int) -> Callable[[Array], Array]:
        groups, P = self._groups, self._P
        groups.ask(P, ("forget", seed), [None] * P)

        def step(x: Array) -> Array:
            shares = [(x * x.dtype.type((2 * rank + 1) / P)).astype(x.dtype) for rank in range(P)]
            return groups.ask(P, ("step", 0), shares)[0]

        return step


class _Group:
    """The processes of one group, and a pipe to each."""

    def __init__(self, P: int, hook: Any, make_state: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory()
        meeting = (Path(self._folder.name) / "meeting").as_uri()
        self._pipes: list[Connection] = []
        self._processes = []
        for rank in range(P):
            ours, theirs = context.Pipe()
            process = context.Process(target=_rank, args=(theirs, rank, P, meeting, hook, make_state), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        self._answers(_START_LIMIT)

    def asked(self, request: tuple[Any, ...], rows: Sequence[Any], limit: float) -> list[Array]:
        """Every rank's answer to a request about its row."""
        for pipe, row in zip(self._pipes, rows, strict=True):
            pipe.send((*request, row))
        return self._answers(limit)

    def _answers(self, limit: float) -> list[Array]:
        deadline = time.monotonic() + limit
        answers: dict[int, Any] = {}
        while len(answers) < len(self._pipes):
            waiting = {pipe: rank for rank, pipe in enumerate(self._pipes) if rank not in answers}
            ready = wait(list(waiting), max(0.0, deadline - time.monotonic()))
            if not ready:
                late = ", ".join(map(str, waiting.values()))
                raise TimedOut(f"no answer from rank {late} of {len(self._pipes)} within {limit:g} s")
            for pipe in ready:
                rank = waiting[pipe]  # type: ignore[index]
                try:
                    error, answers[rank] = pipe.recv()  # type: ignore[union-attr]
                except EOFError:
                    self._processes[rank].join(5.0)
                    raise Died(f"rank {rank} ended with status {self._processes[rank].exitcode}") from None
                if error:
                    raise Unanswered(f"rank {rank}: {error}")
        return [answers[rank] for rank in range(len(self._pipes))]

    def resident_bytes(self) -> int:
        """Memory that the processes have in use."""
        paths = [Path(f"/proc/{process.pid}/statm") for process in self._processes]
        page = os.sysconf("SC_PAGE_SIZE")
        return sum(int(path.read_text().split()[1]) * page for path in paths if path.exists())

    def stop(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            process.join()
            pipe.close()
        self._folder.cleanup()


def _rank(pipe: Any, rank: int, P: int, meeting: str, hook: Any, make_state: Any) -> None:
    """What a process does: for every request one backward pass through a model with the hook."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=P)
    pipe.send(("", None))
    models = _Models(hook)
    while True:
        try:
            request, seed, x = pipe.recv()
        except EOFError:
            return
        error, answer = "", None
        try:
            if request != "step":
                models.state = make_state(seed)
            if x is not None:
                answer = _backward(models[x], x)
        except Exception as raised:
            error = f"raised {type(raised).__name__}: {raised}"
        pipe.send((error, answer))


class _Models:
    """Distributed models of one parameter, by its shape and dtype, whose hook gets the state that is set.

    A model is used again and again: torch does not free one that had a hook.
    """

    def __init__(self, hook: Any) -> None:
        self.state: Any = None
        self._hook = hook
        self._models: dict[Any, Any] = {}

    def __getitem__(self, x: Array) -> Any:
        key = x.shape, x.dtype
        if key not in self._models:
            self._models[key] = self._made(x)
        return self._models[key]

    def _made(self, x: Array) -> Any:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        class Inner(torch.nn.Module):
            """Its output is the inner product of the parameter with the input, which is therefore the gradient."""

            def __init__(self) -> None:
                super().__init__()
                self.parameter = torch.nn.Parameter(torch.zeros(x.shape, dtype=torch.from_numpy(x).dtype))

            def forward(self, gradient: Any) -> Any:
                return (self.parameter * gradient).sum()

        def hook(models: _Models, bucket: Any) -> Any:
            return models._hook(models.state, bucket)

        hook.__annotations__ = {"bucket": torch.distributed.GradBucket}  # torch refuses other annotations, strings too
        model = DistributedDataParallel(Inner())
        model.register_comm_hook(self, hook)
        return model


def _backward(model: Any, x: Array) -> Array:
    """The gradient that the hook leaves on this rank, which brings `x`."""
    import torch

    model.zero_grad(set_to_none=True)
    model(torch.from_numpy(x)).backward()
    answer: Array = model.module.parameter.grad.detach().numpy().copy()
    return answer
