"""Programs under ``mpirun``, where there is one."""

import importlib.util
import os
import shutil
import subprocess

import pytest

NEEDS_MPI = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None, reason="needs mpi4py and mpirun"
)
SETTINGS = {
    # as root, as containers are; more processes than processors, in the words of Open MPI 4 and 5
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "NUMBA_CACHE_DIR": "",  # beside the modules, where this process has its kernels: they are not compiled anew
    "NO_COLOR": "1",
}


def mpirun(processes, *command, seconds):
    """The finished run; one that hangs is ended by ``mpirun`` after `seconds`, with a nonzero status."""
    environment = {**SETTINGS, **os.environ, "MPIEXEC_TIMEOUT": str(seconds)}
    return subprocess.run(
        ["mpirun", "-n", str(processes), *map(str, command)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
