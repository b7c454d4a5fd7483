"""Figures of the column orthogonal: what is measured keeps what is proved."""

import pytest

from commbounds.verify.experiments.orthogonal.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


@pytest.mark.wide
def test_polar_express_ends_where_it_is_proved_to_and_muon_stays():
    iterations, norms = EXHIBITS["orthogonal.norms"]("quick", 0).panels
    lines = {line.label: line for line in iterations.lines}
    express, proved = lines["Polar Express"], lines["proved for Polar Express"]
    for steps, bound in zip(proved.x, proved.y, strict=True):
        assert 0.9 * bound < express.y[express.x.index(steps)] <= bound
    assert all(abs(y - 0.318) < 0.01 for y in lines["Muon"].y[6:])
    assert lines["Newton-Schulz, cubic"].y[12] > 0.8 > 1e-3 > lines["Newton-Schulz, cubic"].y[20]
    shares = {line.label: line.y for line in norms.lines}
    assert max(shares["orthogonal signs, spectral"]) > 4
    assert max(shares["orthogonal signs, nuclear"]) < 1 < shares["gradient, iid, early, nuclear"][0]
