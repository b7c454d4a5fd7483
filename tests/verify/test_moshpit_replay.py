"""The replay of the averaging experiment: cells that take no time, and the flaw that it reproduces."""

from functools import partial

import numpy as np
import pytest

from commbounds.verify.experiments.moshpit import replay as published

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize(("name", "rate"), [("All-Reduce", "0.001"), ("Random groups", "0.005"), ("SGP", "0")])
def test_cells_of_512_peers_come_out_to_the_printed_digit(name, rate):
    expected = published.PUBLISHED[512, rate].split("|")[list(published.METHODS).index(name)]
    assert published._shown(published._cell(published.METHODS[name], 512, float(rate))) == expected


@pytest.mark.parametrize("N", [5, 9, 64])
def test_the_published_weights_are_those_of_a_roll_without_axis(N):
    for t in range(1, 5):
        hop = t % int(np.floor(np.log2(N - 1)))
        expected = sum(np.roll(np.eye(N), shift) for shift in (0, 2**hop, 2 ** (hop + 1)))
        rows, columns = published.sgp_edges(N, t, True)
        found = np.zeros((N, N))
        np.add.at(found, (rows, columns), 1.0)
        assert np.array_equal(found, expected)
        right = np.zeros((N, N))
        np.add.at(right, published.sgp_edges(N, t, False), 1.0)
        assert np.array_equal(right.sum(axis=0), np.full(N, 3.0))
        assert not np.array_equal(found, right)


def test_the_flaw_moves_the_mean_and_push_sum_does_not():
    moved = {}
    for name, method in {
        "flawed": partial(published._sgp, True),
        "intended": partial(published._sgp, False),
        "push-sum": published._PushSum("two-peer"),
    }.items():
        moved[name] = abs(published.history(method, 64, 0.0, 1)[1])
    assert moved["flawed"] > 1e-4
    # fifty iterations of three operations on numbers below four, half an ulp each
    assert max(moved["intended"], moved["push-sum"]) < 50 * 3 * 4 * np.finfo(float).eps


def test_a_layout_has_different_cells():
    cells = published.layout(60, 8, 2, np.random.default_rng(0))
    assert cells.shape == (60, 2)
    assert len({tuple(cell) for cell in cells.tolist()}) == 60


def test_a_wrong_method_does_not_agree(monkeypatch):
    short = {key: published.PUBLISHED[key] for key in [(512, "0")]}
    monkeypatch.setattr(published, "PUBLISHED", short)
    monkeypatch.setattr(published, "METHODS", {"All-Reduce": published._all_reduce})
    assert published._determined().agrees
    monkeypatch.setattr(published, "METHODS", {"All-Reduce": published._ring})
    table = published._determined()
    assert not table.agrees
    assert "ours 50.0 (50.0)" in table.rows[0][2]
