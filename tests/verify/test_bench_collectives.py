"""All-reduces that are timed are the same job, and peers that are not installed are left out."""

import importlib.util
import shutil

import numpy as np
import pytest

from commbounds.verify.experiments.dense import bench
from commbounds.verify.stopwatch import BenchmarkRow, measured

pytestmark = pytest.mark.kernels


def test_every_contender_ends_with_the_sum_on_every_rank():
    stack = np.random.default_rng(0).integers(-9, 10, (5, 12)).astype(np.float32)
    everywhere = np.tile(stack.sum(axis=0), (5, 1))
    assert (bench._sum_and_copies(stack) == everywhere).all()
    for algorithm, ours in bench._ALLREDUCES.values():
        assert (ours(stack)[0] == everywhere).all()
        assert (bench.allreduced(stack, algorithm)[0] == everywhere).all()


def test_cases_have_a_name_of_their_own_and_targets_for_their_peers(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    listed = list(bench.cases(64, 64))
    assert len(listed) == 6
    for case in listed:
        assert case.ours() > 0
        assert all(peer() > 0 for peer in case.peers.values())
        assert set(case.targets) <= set(case.peers)


def test_processes_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "mpi4py" or None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert list(bench._process_cases(8)) == []
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(bench, "_mpi", lambda _mpirun, _n, _P: 1.0)
    listed = list(bench._process_cases(8))
    assert [set(case.peers) for case in listed] == [{"MPI"}] * 2
    assert all(isinstance(row, BenchmarkRow) and row.floor == 2.0 for case in listed for row in measured(case, 1))


@pytest.mark.long
@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpirun") is None, reason="needs mpi4py and mpirun"
)
def test_mpi_tells_its_seconds():
    assert 0 < bench._mpi("mpirun", 1000, 2) < 60


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_gloo_tells_its_seconds():
    assert 0 < bench._gloo(1000, 2) < 60


def test_a_process_that_fails_is_an_error(monkeypatch):
    monkeypatch.setattr(bench, "_GLOO_RANK", "import sys; sys.exit('no such thing')")
    with pytest.raises(RuntimeError, match="gloo ended with 1: no such thing"):
        bench._gloo(1, 2)
