"""`Group`: the processes of one gloo process group, each with models whose gradients go through a hook."""

import importlib.util
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.conformance.calls import Died, TimedOut, Unanswered
from commbounds.verify.conformance.memory import resident_bytes
from commbounds.verify.conformance.tensors import array_of, tensor_of

_START_LIMIT = 120.0
"""Seconds for the processes of a group to import torch and find each other."""
STARTED: set[int] = set()
"""Numbers of the processes of all groups."""
_GRACE = 1.0
"""Seconds that other ranks have once one has raised or died; those that wait for it in a collective never answer."""


class Group:
    """The processes of one group, and a pipe to each.

    Parameters
    ----------
    P : int
        How many.
    code : (bytes, dict of str to str)
        The pickled hook, maker of states and teller of residuals; files by name of modules that no import would find.

    Raises
    ------
    TimedOut, Died, Unanswered
        They did not start.
    """

    def __init__(self, P: int, code: tuple[bytes, dict[str, str]]) -> None:
        context = _context()
        self.alive = True
        self._folder = Path(tempfile.mkdtemp())
        meeting = (self._folder / "meeting").as_uri()
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        try:
            for rank in range(P):
                ours, theirs = context.Pipe()
                self._pipes.append(ours)
                process = context.Process(target=_rank, args=(theirs, rank, P, meeting, code), daemon=True)
                process.start()
                STARTED.add(process.pid or 0)
                theirs.close()
                self._processes.append(process)
            self._answers(_START_LIMIT)
        except BaseException:
            self.stop()
            raise

    def asked(self, request: tuple[Any, ...], rows: Sequence[Any], limit: float) -> list[Any]:
        """Every rank's answer to a request about its row.

        Raises
        ------
        TimedOut, Died, Unanswered
            No answer in time; a process ended, or had to be ended as others of its group raised; every rank raised.
            Only then does the group live on, as all are in the same state.
        """
        try:
            for rank, (pipe, row) in enumerate(zip(self._pipes, rows, strict=True)):
                try:
                    pipe.send((*request, row))
                except (BrokenPipeError, ConnectionResetError):
                    raise Died(self._end(rank)) from None
            return self._answers(limit)
        except _AllRaised:
            raise
        except BaseException:
            self.stop()
            raise

    def _answers(self, limit: float) -> list[Any]:
        deadline = time.monotonic() + limit
        answers: dict[int, Any] = {}
        errors: dict[int, str] = {}
        ends: dict[int, str] = {}
        while len(answers) < len(self._pipes):
            waiting = {pipe: rank for rank, pipe in enumerate(self._pipes) if rank not in answers}
            ready = wait(list(waiting), max(0.0, deadline - time.monotonic()))
            if not ready:
                break
            for pipe in ready:
                rank = waiting[pipe]  # type: ignore[index]
                try:
                    error, answers[rank] = pipe.recv()  # type: ignore[union-attr,call-arg]
                    if error:
                        errors[rank] = f"rank {rank} {error}"
                except (EOFError, ConnectionResetError):
                    answers[rank] = None
                    ends[rank] = self._end(rank)
            if errors or ends:
                deadline = min(deadline, time.monotonic() + _GRACE)
        if ends:  # what others raise then is that they miss this one
            raise Died(ends[min(ends)])
        if errors:  # the others wait for ever in a collective: this costs the processes, as a death does
            raise (_AllRaised if len(errors) == len(self._pipes) else Died)(errors[min(errors)])
        late = [str(rank) for rank in range(len(self._pipes)) if rank not in answers]
        if late:
            raise TimedOut(f"no answer from rank {', '.join(late)} of {len(self._pipes)} within {limit:g} s")
        return [answers[rank] for rank in range(len(self._pipes))]

    def _end(self, rank: int) -> str:
        self._processes[rank].join(5.0)
        code = self._processes[rank].exitcode
        how = f"was killed by {signal.Signals(-code).name}" if (code or 0) < 0 else f"ended with status {code}"
        return f"the process of rank {rank} {how}"

    def resident_bytes(self) -> int:
        """Memory that the processes have in use."""
        return sum(resident_bytes(process.pid) for process in self._processes)

    def stop(self) -> None:
        """End the processes."""
        self.alive = False
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
            process.close()
        for pipe in self._pipes:
            pipe.close()
        self._processes, self._pipes = [], []
        shutil.rmtree(self._folder, ignore_errors=True)


class _AllRaised(Unanswered):
    """Every rank raised."""


def _context() -> Any:
    """How processes are started: by a server that has imported torch, where the system has such servers."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # of no effect where the caller runs one already: then every process imports torch
    context.set_forkserver_preload(["torch.distributed", "torch.nn.parallel", __name__])
    return context


def _rank(pipe: Any, rank: int, P: int, meeting: str, code: tuple[bytes, dict[str, str]]) -> None:
    """What a process does: for every request one backward pass through a model with the hook."""
    threading.Thread(target=_orphaned, daemon=True).start()
    import torch
    from torch import distributed
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    torch.set_num_threads(1)
    error = ""
    try:
        hook, make_state, residual = _unpacked(*code)
        distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=P)
        _Models(allreduce_hook).backward(None, np.ones(1))  # what the first model costs is not the hook's time
    except Exception as raised:
        error = _described(raised)
    pipe.send((error, None))
    if error:
        return
    ranks = _Models(hook)
    states: dict[int, Any] = {}
    while True:
        try:
            request, number, seed, done, x = pipe.recv()
        except EOFError:
            return
        error, answer = "", None
        for old in done:
            states.pop(old, None)
        try:
            if request != "step":
                states[number] = make_state(seed)
            if x is not None:
                gradient = ranks.backward(states[number], x)
                answer = gradient, _held(residual, states[number], x)
        except Exception as raised:
            error, answer = _described(raised), None
        if request == "once":
            states.pop(number, None)
        pipe.send((error, answer))


def _described(raised: Exception) -> str:
    """The exception on one line; torch appends tracebacks, whose addresses differ from run to run."""
    return f"raised {type(raised).__name__}: {str(raised).strip().partition(chr(10))[0][:300]}"


def _orphaned() -> None:
    """End this process with the one that asks it, even if the hook hangs."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _unpacked(pickled: bytes, files: dict[str, str]) -> Any:
    """The functions, from modules that are looked for in `files` first."""
    for name, path in files.items():
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            if spec is None or spec.loader is None:
                continue
            sys.path.insert(0, str(Path(path).parent))
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
    return pickle.loads(pickled)


def _held(residual: Any, state: Any, x: Array) -> Array | None:
    """What the rank says that it holds back."""
    held = None if residual is None else residual(state)
    if held is None:
        return None
    plain = np.asarray(array_of(held))
    if plain.ndim and plain.size != x.size:
        raise ValueError(f"the residual has {plain.size} entries, the gradient {x.size}")
    return (np.broadcast_to(plain, x.shape) if plain.ndim == 0 else plain.reshape(x.shape)).copy()


class _Models:
    """Distributed models of one parameter, by its shape and dtype, whose hook gets the state that is set.

    A model is used again and again: torch does not free one that had a hook.
    """

    def __init__(self, hook: Any) -> None:
        self.state: Any = None
        self._hook = hook
        self._models: dict[Any, Any] = {}

    def backward(self, state: Any, x: Array) -> Array:
        """The gradient that the hook leaves on this rank, which brings `x`."""
        key, self.state = (x.shape, x.dtype.str, x.dtype.name), state
        model = self._models.pop(key, None) or self._made(x)
        model.zero_grad(set_to_none=True)
        model(tensor_of(x)).backward()
        answer: Array = array_of(model.module.parameter.grad).copy()
        self._models[key] = model  # one whose hook raised does not go on
        self.state = None
        return answer

    def _made(self, x: Array) -> Any:
        import torch
        from torch.nn.parallel import DistributedDataParallel

        class Inner(torch.nn.Module):  # type: ignore[misc]
            """Its output is the inner product of the parameter with the input, which is therefore the gradient."""

            def __init__(self) -> None:
                super().__init__()
                self.parameter = torch.nn.Parameter(torch.zeros(x.shape, dtype=tensor_of(x).dtype))

            def forward(self, gradient: Any) -> Any:
                return (self.parameter * gradient).sum()

        def hook(models: _Models, bucket: Any) -> Any:
            return models._hook(models.state, bucket)

        hook.__annotations__ = {"bucket": torch.distributed.GradBucket}  # torch refuses other annotations, strings too
        model = DistributedDataParallel(Inner())
        model.register_comm_hook(self, hook)
        return model
