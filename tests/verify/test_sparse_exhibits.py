"""What the figures of the column sparse say in their titles is in their data."""

import numba
import pytest

from commbounds.verify.exhibition import make_exhibit

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="long vectors need compiled kernels"),
]


@pytest.fixture(scope="module")
def words():
    """Panel -> label -> line."""
    return {panel.title: {line.label: line.y for line in panel.lines} for panel in make_exhibit("sparse.words").panels}


def test_spardl_and_gtopk_move_the_same_for_every_input(words):
    for method in ("SparDL", "gTopk", "TopkA", "dense"):
        assert len({tuple(lines[method]) for lines in words.values()}) == 1


def test_hot_layers_break_what_is_printed(words):
    hot = words["Different hot layers on every rank"]
    assert hot["TopkDSA"][-1] > hot["TopkDSA's upper end, as printed"][-1]
    assert hot["Ok-Topk"][-1] > hot["Ok-Topk's 6k(P - 1)/P"][-1]
    assert hot["SparDL"][-1] < hot["Ok-Topk's 6k(P - 1)/P"][-1]


def test_gaussiank_errs_both_ways():
    panels = {
        panel.title: {line.label: line for line in panel.lines} for panel in make_exhibit("sparse.gaussiank").panels
    }
    one = panels["One threshold"]
    assert one["Laplace"].y[0] > 5
    assert one["spike"].y[-1] < 0.1
    for label, line in one.items():
        assert len(line.x) == len(line.y), label
    lowered = panels["Lowered by 1.012 up to 50 times"]
    assert lowered["Laplace"].y[0] > 5  # what is only lowered stays too low
    assert panels["Changed by 1.02 up to 20 times, up or down"]["Laplace"].y[0] < 2
