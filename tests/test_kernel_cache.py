"""Compiled kernels are code: taken only from where no one else writes, and only as they were kept."""

import importlib.util
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest
from click.testing import CliRunner
from numba.core.dispatcher import Dispatcher

from commbounds import _kernel_cache, folders
from commbounds._kernel_cache import KernelCache
from commbounds.cli import main
from commbounds.verify.experiments import EXPERIMENTS

SOURCE = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


def test_every_kernel_of_the_package_has_this_cache():
    assert list(EXPERIMENTS)  # all columns are imported, and their kernels defined
    kernels = [
        value
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "commbounds"
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and str(value.__module__).startswith("commbounds")
    ]
    assert len(kernels) > 50
    assert {type(kernel._cache) for kernel in kernels} == {KernelCache}


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """What defines the kernel anew, as another process would, whose cache is in ``tmp_path / cache``."""
    path = tmp_path / "source" / "toy.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    # Numba reads its settings again when it compiles, where a test before changed the environment
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_kernel_cache, "_told", set())

    def define():
        _kernel_cache._trusted.cache_clear()
        spec = importlib.util.spec_from_file_location("commbounds.toy", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    yield define
    _kernel_cache._trusted.cache_clear()


def files(tmp_path, ending):
    (folder,) = (tmp_path / "cache").iterdir()
    return sorted(folder.glob(f"*.{ending}"))


def from_cache(kernel):
    return sum(kernel.stats.cache_hits.values()) == 1


def kept(kernel):
    assert kernel()(3) == 6
    again = kernel()
    assert again(3) == 6
    assert from_cache(again)


class Planted:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def damages(mark):
    """Ways to damage a file, the last three of them by hand."""
    return {
        "empty": lambda held: b"",
        "cut": lambda held: held[: len(held) // 2],
        "zeros": lambda held: bytes(len(held)),
        "no newline": lambda held: held.replace(b"\n", b"", 1),
        "a bit in the middle": lambda held: (
            held[: len(held) // 2] + bytes([held[len(held) // 2] ^ 1]) + held[len(held) // 2 + 1 :]
        ),
        "a bit at the end": lambda held: held[:-1] + bytes([held[-1] ^ 1]),
        "more": lambda held: held + b"x",
        "a pickle": lambda held: pickle.dumps(Planted(mark)),
        "a pickle behind the head": lambda held: held.partition(b"\n")[0] + b"\n" + pickle.dumps(Planted(mark)),
        "nested": lambda held: b"(" * 20_000,
    }


@pytest.mark.parametrize("ending", ["index", "kernel"])
@pytest.mark.parametrize("damage", damages(None))
def test_a_damaged_file_is_dropped_and_the_kernel_compiled_again(damage, ending, kernel, tmp_path):
    kept(kernel)
    (path,) = files(tmp_path, ending)
    mark = tmp_path / "ran"
    path.write_bytes(damages(mark)[damage](path.read_bytes()))
    again = kernel()
    with pytest.warns(RuntimeWarning, match="damaged files among the compiled kernels are removed") as told:
        assert again(3) == 6
    assert len(told) == 1
    assert not from_cache(again)
    assert not mark.exists()
    kept(kernel)


def test_kernels_of_another_version_are_compiled_again_without_a_word(kernel, tmp_path):
    kept(kernel)
    for path in (*files(tmp_path, "index"), *files(tmp_path, "kernel")):
        path.write_bytes(path.read_bytes().replace(b"numba ", b"numba 0.", 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not from_cache(kernel())
        kept(kernel)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
@pytest.mark.parametrize("above", [False, True])
def test_nothing_is_taken_from_a_folder_that_others_may_write(above, mode, kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_of_one_user", lambda group: False)
    kept(kernel)
    (folder,) = (tmp_path / "cache").iterdir()
    (folder.parent if above else folder).chmod(mode)
    again = kernel()
    if above and mode == 0o1777:  # as /tmp is: what is ours in it nobody else can replace
        assert again(3) == 6
        assert from_cache(again)
        return
    with pytest.warns(RuntimeWarning, match="neither taken from the cache nor kept in it: others may write to"):
        assert again(3) == 6
    assert not from_cache(again)


def test_nothing_is_taken_from_a_folder_of_somebody_else(kernel, tmp_path, monkeypatch):
    kept(kernel)
    real = Path.stat
    monkeypatch.setattr(
        Path,
        "stat",
        lambda path, **o: (
            os.stat_result((*real(path, **o)[:4], 4321, *real(path, **o)[5:]))
            if path.name == "cache"
            else real(path, **o)
        ),
    )
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert kernel()(3) == 6


def test_a_file_that_others_may_write_is_dropped(kernel, tmp_path):
    kept(kernel)
    files(tmp_path, "kernel")[0].chmod(0o666)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert kernel()(3) == 6
    kept(kernel)


def test_what_we_make_can_be_taken_whatever_the_umask(kernel):
    before = os.umask(0)
    try:
        os.mkdir(numba.config.CACHE_DIR, 0o700)
        kept(kernel)
    finally:
        os.umask(before)


def test_a_full_disk_costs_the_cache_and_no_more(kernel, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    made = kernel()
    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match=r"compiled kernels are not kept: .*No space left"):
        assert made(3) == 6


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "COMMBOUNDS_CACHE"])
def test_commands_refuse_a_cache_that_others_may_write(variable, tmp_path, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "HYPOTHESIS_STORAGE_DIRECTORY", "COMMBOUNDS_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "good"))
    folder = tmp_path / "bad"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv(variable, str(folder))
    result = CliRunner().invoke(main, ["claims"])
    assert result.exit_code == 2
    assert f"others may write to {folder}: compiled kernels" in " ".join(result.stderr.split())


@pytest.mark.wide
def test_a_planted_kernel_is_not_run_by_anyone(tmp_path):
    """The whole way: a cache as Numba fills it, then a pickle in the place of all its files."""
    program = "import numpy as np; from commbounds.compressors import TopK; print(TopK(1)(np.ones(3)))"
    cache, mark = tmp_path / "cache", tmp_path / "ran"

    def run():
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        )

    assert run().returncode == 0
    planted = [path for path in cache.rglob("*") if path.is_file()]
    assert planted
    for path in planted:
        (path.with_suffix(".nbi")).write_bytes(pickle.dumps(Planted(mark)))
        path.write_bytes(pickle.dumps(Planted(mark)))
    healed = run()
    assert healed.returncode == 0
    assert healed.stderr.count("RuntimeWarning: damaged files") == 1
    cache.chmod(0o777)
    refused = run()
    assert refused.returncode == 0
    assert f"others may write to {cache}" in refused.stderr
    assert not mark.exists()
