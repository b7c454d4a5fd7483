"""Benchmarks run when asked for, ``pytest tests/benchmarks --benchmark-only``, and never assert on a clock."""


def pytest_ignore_collect(collection_path, config):
    return None if config.getoption("benchmark_only", default=False) else True
