"""Figures of the column variance_reduced: what is measured keeps what is claimed."""

import numpy as np
import pytest

from commbounds.verify.experiments.variance_reduced.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


@pytest.mark.wide
def test_momenta_and_decays_of_zeroone():
    momentum, decay = EXHIBITS["variance_reduced.zeroone"]("quick", 0).panels
    measured, law, power = momentum.lines
    # H steps that round a product of positive numbers and a sum, an average of two, and a power and a quotient beside
    allowance = (2 * np.array(measured.x) + 16) * np.finfo(float).eps
    assert (np.abs(np.array(measured.y) - law.y) <= allowance * law.y).all()
    assert all(found > old for found, old in zip(measured.y[1:], power.y[1:], strict=True))
    lines = {line.label: np.array(line.y) for line in decay.lines}
    assert (lines["1 local step"] <= lines["bound for one local step"] * (1 + 1e-9)).all()
    # gamma lambda is 2^-20, and 64 averages take away 10 times as much a step at most: so much below the bound
    assert (lines["1 local step"] >= lines["bound for one local step"] * (1 - 640 * 2.0**-20)).all()
    assert lines["1 local step"][-1] > 8 > 4.5 > lines["4 local steps"][-1] > 2 > lines["16 local steps"][-1] > 1


def test_layers_of_lamb_fused_and_at_one_scale():
    fused, scaled, sparse, flat = EXHIBITS["variance_reduced.lamb"]("quick", 0).panels
    entries, padded = {"weights 1": 2048, "biases 1": 32, "weights 2": 320, "biases 2": 10}, 2416
    for before, after in list(zip(fused.lines, scaled.lines, strict=True))[:4]:
        assert before.label == after.label
        rho, part = 1 / np.array(before.x), 2410 / padded  # two laws of one flatness, which is not in the figure
        flatness = (1 + rho**2 - before.y) / (2 * rho), (1 + part - np.array(after.y)) / (2 * part**0.5)
        # sums of up to so many squares, on either side of two quotients
        assert (np.abs(flatness[0] - flatness[1]) <= 64 * entries[before.label] * np.finfo(float).eps / rho).all()
    assert max(fused.lines[0].y) > 1 > max(scaled.lines[0].y)
    lines = {line.label: np.array(line.y) for line in sparse.lines}
    # roots of sums of eight squares, products and differences, and sums of eight squares again, on either side
    assert lines["(34, 0, 0, 0), (7, 7, 7, 7)"] == pytest.approx(1156 / 1092, rel=64 * np.finfo(float).eps)
    assert 1 < lines["beside 4 entries of 7"].max() < lines["beside 12 entries of 7"].max()
    assert 1.3 < lines["beside 252 entries of 7"].max() < lines["at most"][0]
    assert all(lines[f"beside {flat} entries of 7"][place] < 1 for flat in (4, 12, 252) for place in (0, -1))
    recorded, family, most, _ = flat.lines
    assert max(recorded.y) < 1 < min(family.y)
    assert (np.array(family.y) < 2 / (1 + np.array(family.x))).all()
    # a sum and a quotient on either side
    assert most.y == pytest.approx((2 / (1 + np.array(most.x))).tolist(), rel=4 * np.finfo(float).eps)
