"""`executor`: where tasks run: processes of this machine, workers of a Dask cluster, or the ranks of an ``mpirun``."""

import asyncio
import gc
import importlib
import logging
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import connection
from queue import Empty, LifoQueue
from typing import Any

from commbounds._workers import PRELOADED, check_executor, processors, worker_context
from commbounds.verify.compilation import listening

_ATTEMPTS = 3
_ANSWERS = 20.0
"""Seconds in which a cluster must answer."""


class TaskLost(BrokenExecutor):
    """The process of a task died every time that the task was tried; the message names the task."""


def lost_its_worker(error: BaseException) -> bool:
    """Whether an error of a future says that its task, and no other, ended every worker it was given to."""
    distributed = sys.modules.get("distributed")
    return isinstance(error, TaskLost if distributed is None else (TaskLost, distributed.KilledWorker))


class Processes(Executor):
    """Processes of this machine that outlast the death of one of them.

    Every process has one task at a time, so that one that dies takes no other task with it. Its task is tried again in
    a new process; one whose process has died three times ends with `TaskLost`.

    Parameters
    ----------
    workers : int or None
        Most processes at a time, at least 1; a processor each by default. One is started when there is a task for it;
        what they are forked from, where that can be had, is started at once.
    """

    def __init__(self, workers: int | None = None) -> None:
        count = processors() if workers is None else workers
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"workers must be an integer that is at least 1, got {workers!r}")
        self._context = worker_context()
        self.workers = count
        # of every process, how many kernels it compiles at the moment
        self._compiling: dict[ProcessPoolExecutor, Any] = {}
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="commbounds-process")
        # what was used last is used first: few tasks start few processes
        self._idle: LifoQueue[ProcessPoolExecutor] = LifoQueue()
        self._closed = self._killed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._tried, fn, args, kwargs)

    def _tried(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The task's result, or its exception, from the first process that lives to tell."""
        for _ in range(_ATTEMPTS):
            try:
                process = self._idle.get_nowait()
            except Empty:
                process = self._started()
            try:
                future = process.submit(fn, *args, **kwargs)
                if self._killed:  # before there was a process to kill
                    _kill(process)
                result = future.result()
            except BrokenProcessPool:
                self._end(process)
                if self._killed:
                    raise
                continue
            except BaseException:
                self._rest(process)
                raise
            self._rest(process)
            return result
        name, *positional = (getattr(value, "__qualname__", repr(value)) for value in (fn, *args))
        given = ", ".join([*positional, *(f"{key}={value!r}" for key, value in kwargs.items())])
        raise TaskLost(f"{name}({given}) was tried {_ATTEMPTS} times, and every time the process that ran it died")

    def _started(self) -> ProcessPoolExecutor:
        compiling = self._context.RawValue("i", 0)
        process = ProcessPoolExecutor(1, mp_context=self._context, initializer=_begin, initargs=(compiling,))
        self._compiling[process] = compiling
        return process

    def _end(self, process: ProcessPoolExecutor) -> None:
        self._compiling.pop(process, None)
        process.shutdown()

    def compiling(self) -> bool:
        """Whether some process compiles a kernel."""
        return any(count.value for count in list(self._compiling.values()))

    def _rest(self, process: ProcessPoolExecutor) -> None:
        self._idle.put(process)
        if self._closed:
            self._end_idle()

    def _end_idle(self) -> None:
        while True:
            try:
                self._end(self._idle.get_nowait())
            except Empty:
                return

    def kill(self) -> None:
        """End the processes at once, in the middle of their tasks, which fail."""
        self._killed = True
        for process in list(self._compiling):
            _kill(process)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed = True
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        self._end_idle()


@contextmanager
def executor(where: str = "process", workers: int | None = None) -> Iterator[Executor | None]:
    """An executor for `run`, `exhibit_all` and `run_trials`; None where tasks had better run in this process.

    Parameters
    ----------
    where : str
        ``process``: processes of this machine. ``dask:ADDRESS``: the workers of the Dask scheduler at this address, as
        in ``dask:tcp://127.0.0.1:8786``, which import commbounds. ``dask:local``: a Dask cluster of processes on this
        machine. ``mpi``: the ranks of the ``mpirun`` that started this program, of which the first carries on and the
        others serve it: for them this does not return, but ends the program with `SystemExit` when the first is done.
    workers : int or None
        Processes, for ``process`` and ``dask:local``; a processor each by default. One process is this one.

    Raises
    ------
    ValueError
        `where` is none of these; `workers` below 1, or given where there are workers already.
    ImportError
        An optional package is not installed; the message says which.
    ConnectionError
        No scheduler at the address, or no workers that import commbounds, within 20 seconds; no ranks beside this one.
    """
    check_executor(where, workers)
    kind, _, address = where.partition(":")
    with ExitStack() as stack:
        if where == "mpi":
            yield stack.enter_context(_mpi())
        elif kind == "dask":
            yield stack.enter_context(_dask(address, workers or processors()))
        elif (workers or processors()) == 1:
            yield None
        else:
            processes = Processes(workers)
            stack.callback(processes.shutdown, cancel_futures=True)
            try:
                yield processes
            except BaseException:
                processes.kill()  # nobody waits for what they do
                raise


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()


def _begin(compiling: Any) -> None:
    """What a process does before its first task: see to its end, and let its parent know when it compiles."""
    end_with_parent()
    collect_seldom()

    def tell(going: int) -> None:
        compiling.value = going

    listening(tell)


def collect_seldom() -> None:
    """For the rest of this process: collect no garbage among what is there now, and elsewhere more rarely.

    The book and its studies are hundreds of thousands of objects that stay; looking through them again and again takes
    a twentieth of a run.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def end_with_parent() -> None:
    """See to it that this process ends when the one that it works for does, even if that was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("only a process that another one has started can end with it")

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="commbounds-parent", daemon=True).start()


@contextmanager
def _dask(address: str, workers: int) -> Iterator[Executor]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError(f"executor dask needs the extra dask, pip install 'commbounds[dask]': {error}") from error
    with ExitStack() as stack, _quiet_dask():
        if address == "local":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="commbounds-dask-"))
            # without an address Dask would open its port 8787 to all the world
            local = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "local_directory": folder}
            cluster = LocalCluster(workers, **local)
            stack.callback(_close, cluster)
            address = cluster.scheduler_address
        try:
            asyncio.run(asyncio.wait_for(_greeted(address), _ANSWERS))
            client = Client(address, timeout=_ANSWERS, set_as_default=False)
            stack.callback(_close, client)
            client.wait_for_workers(1, timeout=_ANSWERS)
        except (OSError, ValueError, TimeoutError) as error:
            said = str(error) or f"no answer within {_ANSWERS:g} seconds"
            raise ConnectionError(f"no Dask scheduler with workers answers at {address!r}: {said}") from error
        try:
            client.run(_ready)
        except Exception as error:
            raise ConnectionError(f"the workers of {address!r} cannot run commbounds: {error}") from error
        yield _DaskWorkers(client)


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """While it is open, Dask logs nothing: what is lost for good is an error here, and the rest it tries again.

    After such an error it logs nothing any more: what it was at ends later, and would say so.
    """
    # many of its modules' loggers have levels of their own
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]
    loggers = [logging.getLogger(name) for name in (*names, "tornado.application", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def _close(what: Any) -> None:
    """Close a client or a cluster; what it has computed is as good where that fails, as when it restarts a worker."""
    try:
        what.close()
    except Exception as error:
        logging.getLogger(__name__).warning("%s was not closed: %s: %s", what, type(error).__name__, error)


class _DaskWorkers(Executor):
    """The workers of a cluster. Dask tries a task again whose worker died, four times in all.

    Dask's own executor keeps every result on the worker that made it for as long as its future is kept, so that a
    worker that dies takes with it all that it has ever done, and all is made again. Here a result is asked for as soon
    as it is there, and then let go of.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        # two tasks with the same arguments are two tasks, also for others who use the cluster
        asked = self._client.submit(partial(fn, *args, **kwargs), pure=False)

        def settle(done: Any) -> None:
            error, result = None, None
            try:
                result = done.result()
            except BaseException as raised:
                error = raised
            done.release()
            if isinstance(error, CancelledError):
                future.cancel()
            if not future.set_running_or_notify_cancel():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        future.add_done_callback(lambda future: asked.cancel() if future.cancelled() and not asked.done() else None)
        asked.add_done_callback(settle)
        return future


async def _greeted(address: str) -> None:
    """Nothing, or an OSError: a client itself would wait for ever for what takes its call and says nothing."""
    from distributed import Security, rpc

    async with rpc(address, connection_args=Security().get_connection_args("client")) as other:
        kind = (await other.identity())["type"]
    if kind != "Scheduler":
        raise ConnectionError(f"it is a {kind}")


def _ready() -> None:
    """What a worker of a cluster is asked first: whether it has commbounds, and not to warn of its own threads."""
    import warnings

    from hypothesis.errors import HypothesisDeprecationWarning

    # a worker's threads use `random` while Hypothesis draws, from a generator of its own
    message = "Do not use the `random` module inside strategies"
    warnings.filterwarnings("ignore", message, HypothesisDeprecationWarning)
    importlib.import_module(PRELOADED)


@contextmanager
def _mpi() -> Iterator[Executor]:
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except (ImportError, RuntimeError) as error:  # RuntimeError: the wheel of mpi4py finds no MPI library
        raise ImportError(
            f"executor mpi needs an MPI library and the extra mpi, pip install 'commbounds[mpi]': {error}"
        ) from error
    if MPI.COMM_WORLD.size == 1:
        raise ConnectionError("executor mpi needs ranks beside the first: mpirun -n 2, or more, before the command")
    world: Any = MPICommExecutor(MPI.COMM_WORLD, root=0)
    with world as ranks:
        if ranks is not None:
            yield ranks
            return
    raise SystemExit(0)
