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
    room = (2 * np.array(measured.x) + 16) * np.finfo(float).eps
    assert (np.abs(np.array(measured.y) - law.y) <= room * law.y).all()
    assert all(found > old for found, old in zip(measured.y[1:], power.y[1:], strict=True))
    lines = {line.label: np.array(line.y) for line in decay.lines}
    assert (lines["1 local step"] <= lines["bound for one local step"] * (1 + 1e-9)).all()
    # gamma lambda is 2^-20, and 64 averages take away 10 times as much a step at most: so much below the bound
    assert (lines["1 local step"] >= lines["bound for one local step"] * (1 - 640 * 2.0**-20)).all()
    assert lines["1 local step"][-1] > 8 > 4.5 > lines["4 local steps"][-1] > 2 > lines["16 local steps"][-1] > 1
