"""Every module imported, and the library called, where what POSIX systems alone have is missing; prints what it did."""

import importlib
import multiprocessing
import os
import pkgutil
import signal
import sys

# libraries have ways of their own to do without
import click.testing
import hypothesis
import matplotlib.pyplot
import numba.core.caching
import numpy as np
import rich.console
import scipy.stats
import sympy

MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "multiprocessing.forkserver")
OF_OS = "fork forkpty geteuid getuid getegid getgid getpgid getsid killpg setsid waitid O_NOFOLLOW O_NONBLOCK WNOHANG"
OF_SIGNAL = "SIGALRM SIGKILL SIGSTOP SIGHUP SIGCHLD setitimer ITIMER_REAL ITIMER_PROF pthread_sigmask"
ELSEWHERE = ("mpi4py", "torch", "distributed", "sklearn", "hivemind")
"""What extras bring: modules that need it are not imported."""


def bereave():
    """Take away what the system has."""
    for name in MODULES:
        sys.modules[name] = None
    for owner, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names.split():
            delattr(owner, name)
    multiprocessing.get_all_start_methods = lambda: ["spawn"]


def imported():
    """How many modules of the package were."""
    import commbounds

    count = 0
    for found in pkgutil.walk_packages(commbounds.__path__, "commbounds."):
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name.partition(".")[0] not in ELSEWHERE:
                raise
        count += 1
    return count


def used():
    """What the library answers."""
    from commbounds.cli import main
    from commbounds.collectives import ring_allreduce
    from commbounds.compressors import QSGD, TopK
    from commbounds.testing import assert_allreduce_close
    from commbounds.theory import claims
    from commbounds.verify import conformance as cf
    from commbounds.verify import confront

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    total, traffic = ring_allreduce(x)
    assert_allreduce_close(total, x, schedule="ring")
    yield f"sent {traffic.sent.tolist()}"
    yield f"compressed {TopK(1)(x[0]).tolist()}"
    yield f"drawn {QSGD(4)(x[1], np.random.default_rng(0)).shape}"
    yield f"claims {len(claims('sparsifiers.topk.*'))}"
    yield f"found {confront('sparsifiers.topk.wire', drawn=False).verdict}"
    report = cf.check(cf.Codec(lambda x, seed: x / 2, [cf.Contraction(alpha=1)]), only=["Contraction"])
    yield f"checked {report.counts}"
    result = click.testing.CliRunner().invoke(main, ["claims"])
    yield f"command {result.exit_code} {'POSIX' in result.output}"


if __name__ == "__main__":
    assert all((hypothesis, matplotlib.pyplot, numba.core.caching, rich.console, scipy.stats, sympy))
    bereave()
    print("imported", imported())
    for line in used():
        print(line)
