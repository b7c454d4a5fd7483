"""Figures and timings of error feedback: what they draw, and that both contenders compute the same."""

import numpy as np
import pytest

from commbounds.verify.experiments.feedback.bench import by_numpy, cases, ours
from commbounds.verify.experiments.feedback.exhibits import EXHIBITS

pytestmark = pytest.mark.kernels


@pytest.mark.long
def test_every_pair_of_compressor_and_feedback_is_drawn():
    exhibit = EXHIBITS["feedback.convergence"]("quick", 0)
    assert len(exhibit.panels) == 3 * 4
    for panel in exhibit.panels:
        bound = [line for line in panel.lines if line.role == "bound"]
        assert len(bound) == panel.title.endswith("; EF21")
        for line in bound:
            measured = next(other for other in panel.lines if other.label == "Top-K")
            assert all(m <= b for m, b in zip(measured.y, line.y, strict=True))
        if panel.title == "three workers; none":
            ends = {line.label: line.y[-1] / line.y[0] for line in panel.lines}
            assert ends["Top-K"] > 2
            assert ends["Rand-K"] < 1
        if not panel.title.endswith("; none"):
            assert np.isnan(next(line for line in panel.lines if line.label == "Rand-K scaled up").y[-1])


@pytest.mark.long
def test_floors_fall_with_arc_and_stop_with_biased_top_k():
    panel = EXHIBITS["feedback.floors"]("quick", 0).panels[0]
    arc, topk = (next(line for line in panel.lines if line.label.startswith(name)) for name in ("ARC", "Top-K"))
    assert arc.y[-1] < topk.y[-1] / 2


def test_worst_functions_come_near_to_what_is_proved():
    panels = EXHIBITS["feedback.shares"]("quick", 0).panels
    assert len(panels) == 6
    for panel in panels:
        for most, come_to in zip(panel.lines[::2], panel.lines[1::2], strict=True):
            assert all(0.97 * m < c <= m for m, c in zip(most.y, come_to.y, strict=True)), panel.title


def test_what_is_timed_computes_the_same():
    gradients = np.random.default_rng(1).standard_normal((3, 8, 500), np.float32)
    theirs, mine = (work(np.zeros(500, np.float32), gradients, 5, 20) for work in (by_numpy, ours))
    # twenty steps of sums over eight workers, in another order
    assert mine == pytest.approx(theirs, abs=float(20 * 16 * np.finfo(np.float32).eps * np.abs(theirs).max()))


def test_cases_run():
    for case in cases(n=1000, steps=3, m=16):
        assert case.ours() > 0
        assert all(peer() > 0 for peer in case.peers.values())
