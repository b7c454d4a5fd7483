"""The figures of the column lowcomm hold what their titles say."""

import numpy as np
import pytest

from commbounds.verify.experiments.lowcomm.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


def lines(name):
    return [{line.label: line for line in panel.lines} for panel in EXHIBITS[name]("quick", 0).panels]


def test_outer_steps_begin_with_a_third_more_and_come_to_seven():
    moves, radii = lines("lowcomm.outer")
    assert moves["Nesterov"].y[0] == pytest.approx(1.33, rel=1e-15)
    assert 6.5 < moves["Nesterov"].y[-1] < 7
    # a move is a difference of anchors below 200: thirty roundings of them
    assert np.abs(np.subtract(moves["Nesterov"].y, moves["Nesterov, law"].y)).max() <= 30 * 200 * np.finfo(float).eps
    assert moves["Polyak"].y[1:] == pytest.approx(moves["Nesterov"].y[:-1], rel=1e-12)
    assert max(radii["momentum 0.9"].y) > 1 > max(radii["momentum 0.9"].y[:90])


def test_what_decays_is_starved_below_its_threshold():
    real, pair = lines("lowcomm.starved")
    assert real["beta = 1"].y[-1] > real["beta = 0.95"].y[-1] > real["beta = 0.8"].y[-1]
    for beta in (0.95, 0.8):
        line = pair[f"beta = {beta:g}"]
        for d, share in zip(line.x, line.y, strict=True):
            assert np.isnan(share) or d > 1 - beta
    assert not np.isnan(pair["beta = 1"].y).any()


def test_bits_of_sets():
    bits, errors = lines("lowcomm.coding")
    assert bits["as a set"].y[6] == 600 / 64
    assert set(bits["one by one"].y) == {14}
    assert all(line.y[2] < 0.3 for line in errors.values())
