"""How many processes run tests, with how many threads; Hypothesis: its files, and its profiles (HYPOTHESIS_PROFILE)."""

import gc
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.database import DirectoryBasedExampleDatabase
from samples import sample

# Commands keep what they list, and how long things took: not where the user's are.
os.environ.setdefault("COMMBOUNDS_CACHE", str(Path(tempfile.gettempdir()) / "commbounds-tests"))
_FOLDER = Path(os.environ["COMMBOUNDS_CACHE"]) / "hypothesis"
set_hypothesis_home_dir(_FOLDER)
# There are as many processes as processors: threads of BLAS beside them wait for each other, busily.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")  # of the processes that are started from here
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(_FOLDER))  # for processes that tests start

# Examples run kernels that may have to be compiled first: their times say nothing.
_COMMON = {"deadline": None, "suppress_health_check": (HealthCheck.too_slow,)}
settings.register_profile(
    "dev", max_examples=50, database=DirectoryBasedExampleDatabase(_FOLDER / "examples"), **_COMMON
)
settings.register_profile("ci", max_examples=200, derandomize=True, database=None, **_COMMON)
settings.register_profile("few", settings.get_profile("ci"), max_examples=20)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_xdist_auto_num_workers(config):
    """What ``-n auto`` is: a process a processor that we may use; none for benchmarks, which want them alone."""
    if config.getoption("benchmark_only", default=False):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Tests and claims stay until the end: the collector of garbage need not look through them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 20)  # symbolic formulas are many objects, and little of them is garbage


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """What a file of tests leaves, compiled kernels and memoised formulas, stays until the end as well."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of large families a sample runs by default: marked before pytest looks for marks."""
    sample(items)
