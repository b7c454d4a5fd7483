"""Benchmarks run when asked for, ``pytest tests/benchmarks --benchmark-only``, and never assert on a clock."""

from pathlib import Path

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config, items):
    if config.getoption("benchmark_only", default=False):
        return
    timed = [item for item in items if _HERE in item.path.parents]
    items[:] = [item for item in items if _HERE not in item.path.parents]
    config.hook.pytest_deselected(items=timed)
