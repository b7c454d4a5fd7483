"""What is timed is the same job, the arithmetic of the rows is right, and results do not depend on threads."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from click.testing import CliRunner
from samples import first_of_each

from commbounds.cli import main
from commbounds.compressors import COMPRESSORS, TopK
from commbounds.verify import bench, peers, stopwatch
from commbounds.verify.stopwatch import Benchmark, BenchmarkRow, measured, timed

NEEDS_TWO = pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="there is one thread only")


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr(stopwatch, "_PAUSE", 0.0)


def clock(*seconds):
    """A stopwatch that shows these times in turn; the first is the warm-up's."""
    return iter(seconds).__next__


def test_the_ratio_is_the_median_of_the_rounds_and_the_best_peer_is_shown(no_pause):
    case = Benchmark(
        "job",
        "ms",
        1e3,
        clock(99.0, 1.0, 2.0, 1.0),
        {"slow": clock(99.0, 8.0, 8.0, 6.0), "quick": clock(99.0, 3.0, 4.0, 9.0)},
        {"": (2.0, 3.0), "slow": (7.0, 8.0)},
    )
    assert measured(case, 3) == [
        BenchmarkRow("job", "ms", 1000.0, "quick", 4000.0, 3.0, 2.0, 3.0),
        BenchmarkRow("job", "ms", 1000.0, "slow", 8000.0, 6.0, 7.0, 8.0),
    ]


def test_targets_of_the_best_peer_are_shown_once(no_pause):
    case = Benchmark(
        "job", "s", 1.0, clock(1.0, 1.0), {"only": clock(1.0, 5.0)}, {"only": (4.0, 6.0), "absent": (1.0, 1.0)}
    )
    assert [(row.peer, row.floor, row.standing) for row in measured(case, 1)] == [("only", 4.0, "floor")]


@pytest.mark.parametrize(("ratio", "standing"), [(1.9, "missed"), (2.0, "floor"), (2.9, "floor"), (3.0, "goal")])
def test_standings(ratio, standing):
    row = BenchmarkRow("job", "s", 1.0, "peer", 1.0, ratio, 2.0, 3.0)
    assert row.standing == standing
    assert replace(row, floor=None, goal=None).standing == ""


def test_the_order_of_the_contenders_turns(no_pause):
    order = []
    named = {name: timed(lambda name=name: order.append(name)) for name in "abc"}
    measured(Benchmark("job", "s", 1.0, named["a"], {"b": named["b"], "c": named["c"]}), 3)
    assert "".join(order) == "abc" + "abc" + "bca" + "cab"


@pytest.mark.parametrize("name", [*bench.adversarial(10), "normal"])
def test_peers_of_top_k_select_entries_of_the_same_magnitudes(name):
    n, k = 3000, 30
    x = bench.adversarial(n)[name]() if name != "normal" else np.random.default_rng(0).standard_normal(n, np.float32)
    expected = np.sort(np.abs(TopK(k).compress(x).values)).tolist()
    for work in (
        lambda: peers._argpartitioned(np.abs, x, k),
        lambda: peers._argpartitioned(peers._keys, x, k),
        lambda: peers._partitioned(x, k),
    ):
        indices, values = work()
        assert np.unique(indices).size == k
        assert values.tolist() == x[indices].tolist()
        assert np.sort(np.abs(values)).tolist() == expected


def test_peers_of_qsgd_round_to_neighbouring_levels():
    x = np.random.default_rng(0).standard_normal(1000, np.float32)
    step = np.linalg.norm(x) / 127
    decoded = {"numpy": peers._numpy_qsgd(x, 127, np.random.default_rng(1))}
    if torch := peers.torch_module():
        decoded["torch"] = peers._torch_qsgd(torch, torch.from_numpy(x), 127).numpy()
    for y in decoded.values():
        assert y.dtype == np.float32
        assert np.abs(y - x).max() < 1.001 * step
        assert np.abs(y / step - np.rint(y / step)).max() < 1e-3


SMALL = ("top-k", "randomised", "group-quantiser", "start-up", "property-tests")
"""Parts whose sizes can be chosen; the others have tests of their own."""


def test_small_parts_are_parts_with_many_cases():
    assert set(SMALL) < set(bench.PARTS)
    assert len(list(bench.cases(1000, SMALL))) >= 20


@pytest.mark.parametrize("part", first_of_each(SMALL, lambda _: "any part"))
def test_every_contender_of_every_case_runs(part):
    for case in bench.cases(1000, [part]):
        assert set(case.targets) - {"", "numpy", "torch", "torch.topk"} == set()
        for seconds in (case.ours, *case.peers.values()):
            assert seconds() > 0


@NEEDS_TWO
def test_results_are_the_same_bits_on_one_thread_and_on_two():
    before = numba.get_num_threads()
    assert bench.differing_compressors() == []
    assert numba.get_num_threads() == before


@NEEDS_TWO
def test_a_result_that_depends_on_threads_is_seen(monkeypatch):
    class Swayed(TopK):
        def compress(self, x, rng=None):
            return super().compress(x * np.float32(numba.get_num_threads()))

    monkeypatch.setattr(bench, "COMPRESSORS", {"RandK": COMPRESSORS["RandK"], "TopK": Swayed})
    assert bench.differing_compressors() == ["TopK"]


def test_the_command_prints_a_row_per_case(monkeypatch):
    rows = [
        BenchmarkRow("a job", "ms", 1.5, "a peer", 3.0, 2.0, 1.0, 3.0),
        BenchmarkRow("another", "ms", 1.0, "a peer", 0.5, 0.5),
    ]
    wanted = (5000, 3, ["top-k"])
    monkeypatch.setattr(bench, "run", lambda *arguments: rows if arguments == wanted else [])
    monkeypatch.setattr(bench, "differing_compressors", lambda: [])
    result = CliRunner().invoke(main, ["bench", "--quick", "--n", "5000", "top-k"])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert ["a", "job", "1.5", "3", "ms", "a", "peer", "2", "1", "3", "floor"] in lines
    assert ["another", "1", "0.5", "ms", "a", "peer", "0.5"] in lines
    assert "same bits on 1 and 2 threads: all compressors" in result.output


def test_unknown_parts_are_wrong_usage():
    result = CliRunner().invoke(main, ["bench", "bottom-k"])
    assert result.exit_code == 2
    assert "there are top-k" in result.output


def test_every_part_yields_cases():
    for part, make in bench.PARTS.items():
        assert next(iter(make(1000))).name, part
