"""Where tasks may run, checked before anything is imported for them; and the process that others are forked from."""

import multiprocessing
import os
from importlib.util import find_spec
from typing import Any

EXECUTORS = ("process", "dask:ADDRESS", "dask:local", "mpi")
"""What `commbounds.verify.executors.executor` knows."""
PRELOADED = "commbounds.verify.preloaded"
"""Imported by every worker before its first task: with it comes what all tasks of `run` and `exhibit_all` need."""


_MOST = 64
"""Processes a processor: more of them only take memory."""


def processors() -> int:
    """Of this machine; 1 where that is not known."""
    return os.cpu_count() or 1


def check_executor(where: str, workers: int | None) -> None:
    """See that there can be such an executor.

    Raises
    ------
    ValueError
        `where` is none of `EXECUTORS`; `workers` below 1, above 64 a processor, or given where there are some already.
    ImportError
        An optional package is not installed; the message says which.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be an integer that is at least 1, got {workers}")
    if workers is not None and workers > _MOST * processors():
        raise ValueError(f"workers must be at most {_MOST * processors()}, {_MOST} a processor, got {workers}")
    kind, _, address = where.partition(":")
    if where != "process" and not (kind == "dask" and address) and where != "mpi":
        raise ValueError(f"executor must be one of {', '.join(EXECUTORS)}, got {where!r}")
    if workers is not None and where not in ("process", "dask:local"):
        raise ValueError(f"executor {where} has its workers already: their number cannot be given, got {workers}")
    if kind == "dask" and find_spec("distributed") is None:
        raise ImportError("executor dask needs the extra dask, pip install 'commbounds[dask]': no module distributed")
    if kind == "mpi" and find_spec("mpi4py") is None:
        raise ImportError(
            "executor mpi needs an MPI library and the extra mpi, pip install 'commbounds[mpi]': no module mpi4py"
        )


def worker_context() -> Any:
    """How processes are started; what they are forked from, where that can be had, imports while this process does."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        from multiprocessing import forkserver

        context.set_forkserver_preload([PRELOADED])
        forkserver.ensure_running()
    return context
